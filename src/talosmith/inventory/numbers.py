"""The number a node has, and what follows from it: its address and MAC; where the provider counts, its VMID, too.

The number is the one its name ends in, so it depends on nothing but the name: adding, removing or reordering nodes
never renumbers another. A name without a number gets a MAC and a VMID from a hash of it, and needs its address given.
"""

from __future__ import annotations

import hashlib
import re
from typing import Literal

from talosmith.model.cluster import Role
from talosmith.model.values import IpAddress, IpNetwork

LARGEST = 65_535
_AT_END = re.compile(r"(\d{1,5})\Z")
_ROLE_BYTE: dict[Role, int] = {"controlplane": 0xC1, "worker": 0xC2}
_HASHED_ROLE_BYTE: dict[Role, int] = {"controlplane": 0xD1, "worker": 0xD2}


def number_of(name: str) -> int | None:
    found = _AT_END.search(name)
    number = int(found[1]) if found else 0
    return number if 0 < number <= LARGEST else None


def mac_of(name: str, role: Role, mac_index: int) -> str:
    """`52:54:00:c1:<index>:<number>`; from 256 on the number goes on in the third byte."""
    number = number_of(name)
    if number is None:
        hashed = hashlib.sha256(name.encode()).digest()
        return f"52:54:{hashed[0]:02x}:{_HASHED_ROLE_BYTE[role]:02x}:{mac_index:02x}:{hashed[1]:02x}"
    return f"52:54:{number >> 8:02x}:{_ROLE_BYTE[role]:02x}:{mac_index:02x}:{number & 0xFF:02x}"


def address_at(network: IpNetwork, offset: int) -> IpAddress | None:
    return network[offset] if 0 <= offset < network.num_addresses else None


def how_numbered(name: str) -> Literal["number in the name", "hash of the name"]:
    return "hash of the name" if number_of(name) is None else "number in the name"
