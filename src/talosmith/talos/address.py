"""Where a node's API answers: a host and a port, from the ways people write them."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Self

from talosmith.errors import UsageError

DEFAULT_PORT = 50000


@dataclass(frozen=True, slots=True)
class Address:
    """`host` is a name or an IP address, IPv6 without brackets."""

    host: str
    port: int = DEFAULT_PORT

    @classmethod
    def parse(cls, text: str, default_port: int = DEFAULT_PORT) -> Self:
        """From `10.5.0.2`, `10.5.0.2:50000`, `fd00::2`, `[fd00::2]:50000` or `cp-1.example.org`."""
        if _is_ip(text):
            return cls(text, default_port)
        if text.startswith("["):
            host, bracket, rest = text[1:].partition("]")
            colon, port = rest[:1], rest[1:]
            if not bracket or not _is_ip(host) or (rest and colon != ":"):
                raise _unreadable(text)
        else:
            host, colon, port = text.partition(":")
        if not host or any(letter.isspace() or letter in "/@" for letter in host):
            raise _unreadable(text)
        if not colon:
            return cls(host, default_port)
        if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise _unreadable(text)
        return cls(host, int(port))

    @property
    def is_ip(self) -> bool:
        return _is_ip(self.host)

    def __str__(self) -> str:
        """The host alone where the port is the usual one."""
        if self.port == DEFAULT_PORT:
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _unreadable(text: str) -> UsageError:
    return UsageError(
        f"{text!r} is not the address of a node",
        hint="Write an IP address or a name, with a port if it is not 50000: 10.5.0.2, [fd00::2]:50000.",
    )
