"""Who is who on the local network: the kernel's table of addresses and the MAC addresses they answer with.

It is asked through netlink, as `ip neighbour` does, which need not be installed. A machine is in the table only if
something was sent to it lately; `call_out` sees to that.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Network, IPv6Network, ip_address

_NETLINK_ROUTE, _GET, _NEW, _DONE, _ERROR = 0, 30, 28, 3, 2
_REQUEST_DUMP = 0x301
_DESTINATION, _LINK_ADDRESS = 1, 2  # attributes
_KNOWN = 0x02 | 0x04 | 0x08 | 0x10 | 0x80  # reachable, stale, delay, probe, permanent; else nothing has answered
_HEADER, _NEIGHBOUR, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BxxxiHBB"), struct.Struct("=HH")

LARGEST = 1024  # addresses that are called out to: a /22
_AT_ONCE, _PAUSE = 64, 0.02  # the kernel waits for so many answers only
_DISCARD = 9


def neighbours() -> dict[str, str]:
    """MAC address by address; empty where there is no such table."""
    if not hasattr(socket, "AF_NETLINK"):
        return {}
    found: dict[str, str] = {}
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_ROUTE) as kernel:
            kernel.settimeout(5.0)
            body = _NEIGHBOUR.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
            kernel.sendall(_HEADER.pack(_HEADER.size + len(body), _GET, _REQUEST_DUMP, 1, 0) + body)
            while True:
                for kind, message in _messages(kernel.recv(1 << 17)):
                    if kind in (_DONE, _ERROR):
                        return found
                    if kind == _NEW:
                        found.update(_entry(message))
    except OSError:  # a sandbox without netlink
        return found


def at(mac: str, table: dict[str, str]) -> list[str]:
    """Where a network card answers, IPv4 first; addresses that only hold on one link are of no use."""
    found = [address for address, owner in table.items() if owner == mac.lower()]
    usable = [address for address in found if not ip_address(address).is_link_local]
    return sorted(usable, key=lambda address: (":" in address, ip_address(address).packed))


async def call_out(network: IPv4Network | IPv6Network) -> None:
    """Send an empty datagram to every address, so that the kernel asks who has it."""
    if network.version != 4 or network.num_addresses > LARGEST:
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        for number, host in enumerate(network.hosts()):
            with suppress(OSError):  # no route, or the kernel has enough to wait for
                sender.sendto(b"", (str(host), _DISCARD))
            if number % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(_PAUSE)


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    while len(data) >= _HEADER.size:
        length, kind, *_ = _HEADER.unpack_from(data)
        if not _HEADER.size <= length <= len(data):
            return
        yield kind, data[_HEADER.size : length]
        data = data[_aligned(length) :]


def _entry(message: bytes) -> Iterator[tuple[str, str]]:
    family, _, state, _, _ = _NEIGHBOUR.unpack_from(message)
    if family not in (socket.AF_INET, socket.AF_INET6) or not state & _KNOWN:
        return
    attributes, data = {}, message[_NEIGHBOUR.size :]
    while len(data) >= _ATTRIBUTE.size:
        length, kind = _ATTRIBUTE.unpack_from(data)
        if length < _ATTRIBUTE.size:
            return
        attributes[kind] = data[_ATTRIBUTE.size : length]
        data = data[_aligned(length) :]
    link = attributes.get(_LINK_ADDRESS, b"")
    if _DESTINATION in attributes and len(link) == 6 and any(link):
        yield str(ip_address(attributes[_DESTINATION])), ":".join(f"{byte:02x}" for byte in link)


def _aligned(length: int) -> int:
    return (length + 3) & ~3
