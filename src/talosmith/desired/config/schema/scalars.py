"""The single values of machine configs: how each kind is read, what counts as empty, how a patch changes it.

A reader takes the text of a YAML scalar and whether it stood unquoted; it gives the value as Talos writes it, or a
`ValueError` whose text goes on after the field's name. The text never repeats the value, which may be a secret.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from talosmith import govalues
from talosmith.desired.config.schema.gourl import parse_url
from talosmith.yaml.go_words import resolve

Merge = Literal[
    "set",  # the patch's value wins unless it is empty
    "always",  # it wins even when empty
    "erase",  # likewise, and a patch without it removes the old value
    "url",  # part by part
    "size",  # a share of the disk does not replace a number of bytes
    "frozen",  # Talos cannot merge the struct that holds it
    "refuse",  # Talos cannot merge it into an older value
]


@dataclass(frozen=True, slots=True, eq=False)
class Scalar:
    name: str
    read: Callable[[str, bool], Any]
    zero: Any = ""
    merge: Merge = "set"
    pointer: bool = False
    comparable: bool = True  # whether `$patch: delete` can pick a list item by it
    octal: bool = False  # written in octal


REDACTED = "******"  # stands for a key that was hidden; not base64

_YES = frozenset({"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"})
_NO = frozenset({"n", "N", "no", "No", "NO", "off", "Off", "OFF"})


def _text(text: str, plain: bool) -> str:
    return text


def _manifest(text: str, plain: bool) -> str:
    return text.lstrip("\t\n\v\f\r")


def _bool(text: str, plain: bool) -> bool:
    value = resolve(text) if plain else text
    if isinstance(value, bool):
        return value
    if value in _YES or value in _NO:
        return value in _YES
    raise ValueError("is neither true nor false")


def _number(low: int, high: int) -> Callable[[str, bool], int]:
    def read(text: str, plain: bool) -> int:
        value = resolve(text) if plain else text
        if isinstance(value, bool) or not isinstance(value, int | float) or value % 1:
            raise ValueError("is not a whole number")
        if not low <= value <= high:
            raise ValueError(f"is not between {low} and {high}")
        return int(value)

    return read


def _duration(text: str, plain: bool) -> str:
    value = resolve(text) if plain else text
    if value == 0 and isinstance(value, int):
        return "0s"
    if not isinstance(value, str):
        raise ValueError("is not a duration like 30s or 2m0s")
    return govalues.format_duration(govalues.parse_duration(value))


def _url(text: str, plain: bool) -> str:
    return str(parse_url(text))


def _network(read: Callable[[str], str]) -> Callable[[str, bool], str]:
    return lambda text, plain: read(text) if text else ""


def _hardware_address(text: str, plain: bool) -> str:
    digits = text.replace(":", "")
    if not re.fullmatch("(?:[0-9A-Fa-f]{2})*", digits):
        raise ValueError("is not a hardware address like 02:00:5e:10:00:01")
    return ":".join(re.findall("..", digits.lower()))


def _size(text: str, plain: bool) -> str:
    if text:
        govalues.parse_size(text.removeprefix("-"))
    return text


def _size_or_share(text: str, plain: bool) -> str:
    if "%" not in text:
        return _size(text, plain)
    try:
        share = float(text.removeprefix("-")[:-1]) if text.endswith("%") else -1
    except ValueError:
        share = -1
    if not 0 <= share <= 100:
        raise ValueError("is neither a size like 10GiB nor a share like 80%")
    return text


def _disk_size(text: str, plain: bool) -> str | int:
    size = govalues.parse_size(text)
    if size % 1000 == 0 and govalues.parse_size(govalues.format_size(size)) == size:
        return govalues.format_size(size) if size else 0
    return size


def _size_condition(text: str, plain: bool) -> str:
    condition = text.strip()
    govalues.parse_size(re.sub("^(>=|<=|>|<|==)", "", condition).strip())
    return condition


def _key(text: str, plain: bool) -> str:
    return text if text == REDACTED else _base64(text, plain)


def _base64(text: str, plain: bool) -> str:
    try:
        return base64.b64encode(base64.b64decode(text.replace("\n", ""), validate=True)).decode()
    except (binascii.Error, ValueError):
        raise ValueError("is not base64") from None


def _ports(text: str, plain: bool) -> int | str:
    value = resolve(text) if plain else text
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 65536 and int(value) == value:
        return int(value)
    low, dash, high = text.partition("-")
    bounds = [part for part in (low, high) if re.fullmatch("[0-9]+", part) and int(part) < 65536]
    if not dash or len(bounds) != 2:
        raise ValueError("is neither a port nor a range of ports like 1000-2000")
    first, last = map(int, bounds)
    return first if first == last else f"{first}-{last}"


def _one_of(*names: str) -> Callable[[str, bool], str]:
    """The first name is the empty value. Case does not matter."""

    def read(text: str, plain: bool) -> str:
        for name in names:
            if name.lower() == text.lower():
                return name
        raise ValueError(f"is none of {', '.join(names)}")

    return read


def _fail_over_mac(text: str, plain: bool) -> str:
    names = ENUMS["fail-over-mac"]
    if re.fullmatch("[-+]?[0-9]+", text) and 0 <= int(text) <= 2:
        return names[int(text)]
    return _one_of(*names)(text or "none", plain)


ENUMS: dict[str, tuple[str, ...]] = {
    "auto-hostname": ("off", "talos-addr", "stable"),
    "bond-mode": (
        "balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb",
    ),
    "hash-policy": ("layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4"),
    "arp-validate": ("none", "active", "backup", "all", "filter", "filter-active", "filter-backup"),
    "arp-targets": ("any", "all"),
    "lacp-rate": ("slow", "fast"),
    "ad-select": ("stable", "bandwidth", "count"),
    "lacp-active": ("off", "on"),
    "reselect": ("always", "better", "failure"),
    "vlan-mode": ("802.1q", "802.1ad"),
    "client-id": ("none", "mac", "duid"),
    "default-action": ("accept", "block"),
    "rule-action": ("unspec", "unicast", "blackhole", "unreachable", "prohibit"),
    "table": ("unspec", *(str(number) for number in range(1, 253)), "default", "main", "local"),
    "wake": ("phy", "unicast", "multicast", "broadcast", "magic", "magicsecure", "filter"),
    "volume-type": ("partition", "disk", "tmpfs", "directory", "symlink", "overlay", "external"),
    "filesystem": ("none", "xfs", "vfat", "ext4", "iso9660", "swapi", "virtiofs", "btrfs"),
    "encryption": ("none", "luks2"),
    "fail-over-mac": ("none", "active", "follow"),
    "dns-protocol": ("Do53", "DoT", "DoH"),
    "lvm-type": ("linear", "raid1", "raid0", "raid10"),
    "raid-level": ("raid1",),
    "raid-metadata": ("1.0", "1.2"),
}  # fmt: skip

_NUMBERS = {
    "int": (-(1 << 63), (1 << 63) - 1), "i32": (-(1 << 31), (1 << 31) - 1), "uint": (0, (1 << 64) - 1),
    "u8": (0, 255), "u16": (0, 65535), "u32": (0, (1 << 32) - 1),
}  # fmt: skip

SCALARS: dict[str, Scalar] = {
    scalar.name: scalar
    for scalar in (
        Scalar("s", _text),
        Scalar("manifest", _manifest),
        Scalar("b", _bool, False, "always", pointer=True, comparable=False),
        Scalar("bool", _bool, False, "always", comparable=False),
        *(Scalar(name, _number(*bounds), 0, comparable=False) for name, bounds in _NUMBERS.items()),
        Scalar("mode", _number(*_NUMBERS["u32"]), 0, octal=True),
        Scalar("duration", _duration, "0s"),
        Scalar("url", _url, "", "url"),
        Scalar("address", _network(govalues.address)),
        Scalar("prefix", _network(govalues.prefix)),
        Scalar("plain-prefix", _network(govalues.prefix), "", "frozen"),
        Scalar("address-port", _network(govalues.address_port)),
        Scalar("mac", _hardware_address, "", "always"),
        Scalar("cel", _text, "", "erase"),
        Scalar("size", _size, "", "erase", comparable=False),
        Scalar("size-or-share", _size_or_share, "", "size", comparable=False),
        Scalar("disk-size", _disk_size, 0, comparable=False),
        Scalar("size-condition", _size_condition, "", "refuse", comparable=False),
        Scalar("base64", _base64, "", "always", comparable=False),
        Scalar("key", _key, "", "always", comparable=False),
        Scalar("ports", _ports, 0, comparable=False),
        Scalar("protocol", _one_of("icmp", "tcp", "udp", "icmpv6"), "Protocol(0)"),
        *(Scalar(name, _one_of(*names), names[0]) for name, names in ENUMS.items()),
        Scalar("fail-over-mac", _fail_over_mac, "none"),
    )
}
