"""Loopback addresses. A test takes some of its own: other tests, or another run of them, may be under way."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager

_API_PORT = 50000
_FIRST_MACHINES = (10, 11)  # an inventory gives out addresses from .10 on, a lab from .11
_ours: list[socket.socket] = []  # what this process has taken is its own until it ends
_chance = random.SystemRandom()  # within a test of random examples, `random` is the same in every process


def free_network() -> str:
    """Two hundred and fifty-six addresses where nobody answers, and that no other test takes before we use them."""
    while True:
        network = f"127.{_chance.randrange(100, 250)}.{_chance.randrange(240)}"
        mark = socket.socket(type=socket.SOCK_DGRAM)
        try:
            mark.bind((f"{network}.1", _API_PORT))
            for host in _FIRST_MACHINES:
                with socket.socket() as probe:
                    probe.bind((f"{network}.{host}", _API_PORT))
        except OSError:
            mark.close()
        else:
            _ours.append(mark)
            return f"{network}.0/24"


@contextmanager
def unused_port(host: str = "127.0.0.1") -> Iterator[int]:
    """Where nobody listens, and nobody else begins to: the port is taken, and a server of our own may share it."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, 0))
        yield int(taken.getsockname()[1])
