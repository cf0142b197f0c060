"""Refuses connections to addresses outside loopback, in every Python process that has this folder on its path.

A test whose inventory has an address of a real network would else dial whoever has that address where the test runs.
What was refused is written to the file that TALOSMITH_DIALED names, so that a test fails also where the code under
test takes the refusal for a node that does not answer.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from typing import Any

_FILE = "TALOSMITH_DIALED"
_NOWHERE = "255.255.255.255"  # no TCP connection to it leaves a machine: its kernel refuses


def outside(address: Any) -> bool:
    """Whether it is an address of the Internet's families that is not this machine's own."""
    if not isinstance(address, tuple):
        return False  # the path of a Unix socket
    try:
        host = ipaddress.ip_address(str(address[0]).partition("%")[0])
    except ValueError:
        return address[0] not in ("", "localhost")
    mapped = getattr(host, "ipv4_mapped", None)
    return not ((mapped or host).is_loopback or host.is_unspecified or str(host) == _NOWHERE)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.sendto") and os.environ.get(_FILE) and outside(arguments[1]):
        with open(os.environ[_FILE], "a", encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs every start
            file.write(f"{arguments[1][0]}\n")
        raise PermissionError(f"a test may not dial {arguments[1][0]}: it is outside loopback")


sys.addaudithook(_refuse)
