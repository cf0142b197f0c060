"""`disk` of a node: the size of the first disk, or the install disk.

Parsed once, so that no later reader guesses. Text that looks like a size or a device and is neither is an error:
taken for a serial number it would select a disk that no machine has.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from talosmith.model.values import parse_size, wrong


@dataclass(frozen=True, slots=True)
class DiskSize:
    """The machine gets a first disk of this size."""

    mib: int

    def __str__(self) -> str:
        return f"{self.mib / 1024:g}G"


@dataclass(frozen=True, slots=True)
class DiskDevice:
    """The disk that the node finds at this path."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True, slots=True)
class DiskSerial:
    """The disk with this serial number."""

    serial: str

    def __str__(self) -> str:
        return self.serial


_DEVICE = re.compile(r"/dev/[A-Za-z0-9/._:+-]{1,200}\Z")
_SERIAL = re.compile(r"(?=.*[0-9])[A-Za-z0-9][A-Za-z0-9._:-]{3,99}\Z")
_LONGEST_SERIAL = 200  # in the explicit form; NVMe and SCSI have shorter ones
_LONGEST_QUOTE = 80

# Patterns for what is no disk are compiled when one is met: most inventories have none.
# `20Gx`, `20 GByte`, `1,5T`, `400`: a few digits, and no more than a word that may be a unit.
_LIKE_A_SIZE = (
    r"[-+~<>=]{0,2}\s*(\d{1,6})(?:[.,](\d{1,3}))?\s*(?:([KMGT])(?:[A-Za-z]{0,5}|[A-Za-z0-9]{0,3})[\s.]*)?\Z"
)
_SIZE_WITHIN = r"\s*(\d{1,6})(?:[.,](\d{1,3}))?\s*([KMGT])[A-Za-z]{0,5}\s"  # `40G or more`
# `sda`, `dev/sda`, `/sda`, `nvme0`, `by-id/…`: a path below /dev without its beginning.
_LIKE_A_DEVICE = (
    r"[\\/]*(?:dev[\\/]+)?"
    r"((?:[shv]d|xvd)[a-z]{1,3}\d{0,3}|(?:nvme|mmcblk|md|dm-|loop|nbd|sr|zd|pmem)\d{1,4}(?:[np]\d{1,4}){0,2})\s*\Z"
)
_LIKE_A_LINK = r"/*(?:dev/+)?(?:disk/+)?(by-[a-z]+/+[A-Za-z0-9/._:+-]{1,150})\Z"
_LIKE_AN_ID = r"(?:ata|nvme|scsi|wwn|usb|virtio|mmc)-[A-Za-z0-9._:+-]{1,150}\Z"
_TYPES = ("ssd", "hdd", "nvme", "sd")


def _disk(value: Any) -> DiskSize | DiskDevice | DiskSerial:
    if isinstance(value, dict):
        return _explicit(value)
    if not isinstance(value, str):
        small = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 100_000
        ways = "write a size (40G), a device (/dev/sda), or a serial number in quotes"
        raise wrong(f"`{value}` is neither a size nor a disk", fix=f"did you mean {value}G?" if small else ways)
    size = parse_size(value)
    if size is not None:
        if size < 1:
            raise wrong(f"`{value}` is less than 1 MiB", fix="for example 40G")
        return DiskSize(size)
    likely = f"`disk_selector: {{type: {value.lower()}}}`" if value.lower() in _TYPES else _likely_size(value)
    fix = f"did you mean {likely}?" if likely else ""
    return _chosen(value, "is neither a size (40G), a device (/dev/sda) nor a disk's serial number", fix)


def _volume_disk(value: Any) -> DiskDevice | DiskSerial | str:
    if isinstance(value, dict):
        return _explicit(value)
    if not isinstance(value, str):
        raise wrong(f"`{value}` is not text", fix="put a serial number in quotes")
    is_size = parse_size(value) is not None or bool(_likely_size(value))
    if value.strip() and not is_size and re.search(r"[^A-Za-z0-9._:/\\-]", value):
        return value  # the CEL expression is checked where Talos' variables are known
    fix = "a volume's size is `min_size` and `max_size`" if is_size else ""
    return _chosen(value, "is neither a device (/dev/sdb), a disk's serial number nor a CEL expression", fix)


def _chosen(text: str, complaint: str, fix: str) -> DiskDevice | DiskSerial:
    """The disk that the text selects: a device, or a serial number that is not ambiguous."""
    if not text.strip():
        raise wrong("this is empty", fix="a device (/dev/sda) or a serial number")
    if _DEVICE.match(text):
        return DiskDevice(text)
    likely = _likely_device(text)
    if likely:
        fix = f"did you mean {likely}?"
    serial = _SERIAL.match(text)
    if serial and not fix:
        return DiskSerial(text)
    why = f"an ambiguous serial number is written {_as_explicit(text)}" if serial and fix else ""
    if not fix:
        fix = f"write a serial number of this form as {_as_explicit(text)}"
        fix = "devices are below /dev/, for example /dev/sda" if text.startswith("/") else fix
    raise wrong(f"`{_cut(text)}` {complaint}", why=why, fix=fix)


def _explicit(value: dict[Any, Any]) -> DiskSerial:
    if set(value) != {"serial"}:
        raise wrong("expected a mapping with the one key `serial`", fix=f"for example {_as_explicit('20G4')}")
    serial = value["serial"]
    if not isinstance(serial, str):
        raise wrong("a serial number is text", fix="put it in quotes")
    if not serial.strip() or not serial.isprintable() or len(serial) > _LONGEST_SERIAL:
        raise wrong(f"`{_cut(serial)}` is not a serial number", why="1 to 200 printable characters")
    return DiskSerial(serial)


def _likely_device(text: str) -> str:
    """The device that is meant by text that is almost one; empty if it is not like one."""
    device = re.match(_LIKE_A_DEVICE, text, re.I)
    if device:
        name = device[1].lower()
        return f"/dev/{name}n1" if re.fullmatch(r"nvme\d+", name) else f"/dev/{name}"
    link = re.match(_LIKE_A_LINK, text)
    if link:
        return f"/dev/disk/{link[1]}"
    if re.match(_LIKE_AN_ID, text):
        return f"/dev/disk/by-id/{text}"
    return _as_explicit(text[7:].strip()) if text.lower().startswith(("serial:", "serial=")) else ""


def _likely_size(text: str) -> str:
    found = re.match(_LIKE_A_SIZE, text, re.I) or re.match(_SIZE_WITHIN, text, re.I)
    if found is None:
        return ""
    part = f".{found[2]}" if found[2] else ""
    return f"{int(found[1])}{part}{(found[3] or 'G').upper()}"


def _as_explicit(serial: str) -> str:
    return f"`{{serial: {json.dumps(_cut(serial), ensure_ascii=False)}}}`"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…"


def parse_disk(text: str) -> DiskSize | DiskDevice | DiskSerial | None:
    """What the text means as `disk` of a node; None if that is an error."""
    try:
        return _disk(text)
    except PydanticCustomError:
        return None


def as_written(serial: str) -> str | dict[str, str]:
    """A serial number as written in an inventory: plain, or in the explicit form where plain text is ambiguous."""
    return serial if parse_disk(serial) == DiskSerial(serial) else {"serial": serial}


def _schema(description: str, *examples: Any) -> WithJsonSchema:
    serial = {"type": "string", "minLength": 1, "maxLength": _LONGEST_SERIAL}
    explicit = {
        "type": "object",
        "properties": {"serial": serial},
        "required": ["serial"],
        "additionalProperties": False,
    }
    return WithJsonSchema(
        {"anyOf": [{"type": "string", "examples": list(examples)}, explicit], "description": description}
    )


Disk = Annotated[
    DiskSize | DiskDevice | DiskSerial,
    BeforeValidator(_disk),
    _schema("size (40G), device (/dev/sda) or the disk's serial number", "40G", "/dev/sda", "S4EWNX0R1"),
]
VolumeDisk = Annotated[
    DiskDevice | DiskSerial | str,
    BeforeValidator(_volume_disk),
    _schema("device (/dev/sdb), serial number, or a CEL expression", "/dev/sdb", "S4EWNX0R1"),
]
