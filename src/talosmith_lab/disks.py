"""Which disk Talos is installed on."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from talosmith_lab.machine import Disk

_SIZE = re.compile(r"\s*(<=|>=|==|<|>)?\s*([0-9.]+)\s*([KMGTP]?)(i?)B?\s*", re.IGNORECASE)
_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "==": operator.eq}


def find_install_disk(disks: Sequence[Disk], install: Mapping[str, Any]) -> Disk | None:
    """By device path or by selector, as `machine.install` says; the first that matches."""
    selector = install.get("diskSelector")
    if selector:
        return next((disk for disk in disks if matches(disk, selector)), None)
    return next((disk for disk in disks if disk.device == install.get("disk")), None)


def matches(disk: Disk, selector: Mapping[str, Any]) -> bool:
    known = {
        "name": disk.device,
        "model": disk.model,
        "serial": disk.serial,
        "type": "ssd",
        "modalias": disk.transport,
    }
    for key, wanted in selector.items():
        if key == "size":
            if not _size_fits(disk.size, str(wanted)):
                return False
        elif not fnmatchcase(known.get(key, ""), str(wanted)):
            return False
    return True


def _size_fits(size: int, wanted: str) -> bool:
    found = _SIZE.fullmatch(wanted)
    if found is None:
        return False
    step = 1024 if found[4] else 1000
    bytes_wanted = float(found[2]) * step ** ("KMGTP".index(found[3].upper()) + 1 if found[3] else 0)
    return bool(_COMPARE[found[1] or "=="](size, bytes_wanted))
