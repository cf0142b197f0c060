"""Loopback networks for labs. A test takes one of its own: other tests, or another run of them, may be under way."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

_API_PORT = 50000
_FIRST_MACHINES = (10, 11)  # an inventory gives out addresses from .10 on, a lab from .11


def free_network() -> str:
    """Two hundred and fifty-six addresses where nobody answers."""
    while True:
        network = f"127.{random.randrange(100, 250)}.{random.randrange(240)}"  # noqa: S311
        with suppress(OSError):
            for host in _FIRST_MACHINES:
                with socket.socket() as probe:
                    probe.bind((f"{network}.{host}", _API_PORT))
            return f"{network}.0/24"
