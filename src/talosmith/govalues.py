"""Numbers, durations, sizes and network addresses, read and written as Go's library does it."""

from __future__ import annotations

import ipaddress
import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")

_MULTIPLES = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgtpe", 1):
    _MULTIPLES |= {f"{_letter}ib": 1024**_power, f"{_letter}i": 1024**_power}
    _MULTIPLES |= {f"{_letter}b": 1000**_power, _letter: 1000**_power}
_SI = ("B", "kB", "MB", "GB", "TB", "PB", "EB")
_SIZE = re.compile(r"([0-9.,]*)(.*)", re.DOTALL)


def parse_duration(text: str) -> int:
    """Nanoseconds."""
    sign, rest = (-1 if text[:1] == "-" else 1), text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    total, end = Fraction(0), 0
    for part in _DURATION_PART.finditer(rest):
        if part.start() != end:
            break
        total += Fraction(part[1].rstrip(".") if part[1][0] != "." else f"0{part[1]}") * _UNITS[part[2]]
        end = part.end()
    if not rest or end != len(rest):
        raise ValueError("is not a duration like 30s or 2m0s")
    if total >= 1 << 63:
        raise ValueError("is too long a duration")
    return sign * int(total)


def format_float(value: float) -> str:
    """A finite number in the fewest digits that say it, with an exponent from a million on and below 0.0001."""
    shortest = Decimal(repr(value)).normalize()
    power = shortest.adjusted()
    if not value or -4 <= power < 6:
        return format(shortest, "f")
    mantissa = format(shortest.scaleb(-power), "f")
    return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def format_duration(nanoseconds: int) -> str:
    sign, left = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if left < 10**9:
        for unit, size in (("ms", 10**6), ("µs", 10**3), ("ns", 1)):
            if left >= size:
                return f"{sign}{_decimal(left, size)}{unit}"
        return "0s"
    minutes, rest = divmod(left, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, 10**9)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{text}"
    return f"{sign}{minutes}m{text}" if minutes else sign + text


def _decimal(value: int, size: int) -> str:
    whole, rest = divmod(value, size)
    digits = str(rest).rjust(len(str(size)) - 1, "0").rstrip("0") if rest else ""
    return f"{whole}.{digits}" if digits else str(whole)


def parse_size(text: str) -> int:
    """Bytes, from a number with or without a unit: 100, 10 GB, 1.5GiB."""
    number, unit = _SIZE.fullmatch(text).groups()  # type: ignore[union-attr]
    try:
        value = float(number.replace(",", "")) * _MULTIPLES[unit.strip().lower()]
    except (ValueError, KeyError):
        raise ValueError("is not a size like 10GiB or 500MB") from None
    if value >= 1 << 64:
        raise ValueError("is too big a size")
    return int(value)


def format_size(size: int) -> str:
    """The shortest name of a size, in powers of a thousand."""
    if size < 10:
        return f"{size} B"
    power = math.floor(math.log(size) / math.log(1000))
    value = math.floor(size / math.pow(1000, power) * 10 + 0.5) / 10
    return f"{value:.1f} {_SI[power]}" if value < 10 else f"{value:.0f} {_SI[power]}"


@lru_cache(maxsize=4096)
def address(text: str) -> str:
    """An IP address in its one true form."""
    try:
        parsed = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError("is not an IP address") from None
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        zone = f"%{parsed.scope_id}" if parsed.scope_id else ""
        return f"::ffff:{parsed.ipv4_mapped}{zone}"
    return str(parsed)


@lru_cache(maxsize=4096)
def prefix(text: str) -> str:
    """An address with the length of its network; bits beyond that length stay."""
    host, slash, bits = text.rpartition("/")
    widest = 128 if ":" in host else 32
    if not slash or "%" in host or not re.fullmatch("0|[1-9][0-9]{0,2}", bits) or int(bits) > widest:
        raise ValueError("is not an address with its prefix length, like 192.0.2.10/24")
    return f"{address(host)}/{bits}"


def address_or_prefix(text: str) -> str:
    return prefix(text) if "/" in text else address(text)


def address_port(text: str) -> str:
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not colon or bracketed != (":" in host) or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError("is not an address with its port, like 192.0.2.1:51820")
    plain = address(host[1:-1] if bracketed else host)
    return f"[{plain}]:{int(port)}" if ":" in plain else f"{plain}:{int(port)}"


def split_host_port(text: str) -> tuple[str, str]:
    """Go's idea of `host:port`: the port may be empty, a host with colons needs brackets."""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if bracket and rest.startswith(":") and ":" not in rest[1:] and not set("[]") & set(host + rest):
            return host, rest[1:]
    elif text.count(":") == 1 and not set("[]") & set(text):
        host, _, port = text.partition(":")
        return host, port
    raise ValueError("is not a host with its port, like host:1234")
