"""The disk to install on: how v1alpha1 names it, as the expression that an UnattendedInstallConfig holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from talosmith import govalues

_LINKS = "/dev/disk/"
_SIZE = re.compile(r"(>=|<=|>|<|==)?\s*(.*)")
_BY_PATTERN = ("uuid", "wwid", "model", "serial", "modalias")
_BY_TYPE = {
    "nvme": 'disk.transport == "nvme"',
    "sd": 'disk.transport == "mmc"',
    "hdd": "disk.rotational",
    "ssd": "!disk.rotational",
}
_NEVER = ("!disk.readonly", "!disk.cdrom")


class NoExpression(ValueError):
    """Talos 1.14 has no expression for this selector; the text says why."""


def match_expression(install: Mapping[str, Any]) -> str:
    """The expression for `machine.install`; for a selector that Talos refuses, text that equals no expression."""
    selector = install.get("diskSelector")
    if selector is not None:
        try:
            return selector_expression(selector)
        except NoExpression as problem:
            return f"({problem})"
    disk = install.get("disk") or ""
    return disk_expression(disk) if disk else ""


def disk_expression(path: str) -> str:
    """v1alpha1 follows symbolic links such as /dev/disk/by-id/…; `disk.dev_path` is never one."""
    if path.startswith(_LINKS):
        return f"{json.dumps(path)} in disk.symlinks"
    return f"disk.dev_path == {json.dumps(path)}"


def selector_expression(selector: Mapping[str, Any]) -> str:
    """What Talos makes of `machine.install.diskSelector`. Raises `NoExpression`."""
    parts: list[str] = []
    if selector.get("size"):
        parts.append(_size(str(selector["size"])))
    if selector.get("name"):
        raise NoExpression("a disk cannot be selected by name")
    parts += [_glob(str(selector[key]), key) for key in _BY_PATTERN if selector.get(key)]
    parts.append('disk.transport != ""')
    kind = selector.get("type") or ""
    if kind and kind not in _BY_TYPE:
        raise NoExpression(f"there is no disk type {kind!r}")
    if kind:
        parts.append(_BY_TYPE[kind])
    if selector.get("busPath"):
        parts.append(_glob(str(selector["busPath"]), "bus_path"))
    return " && ".join([*parts, *_NEVER])


def _size(condition: str) -> str:
    matched = _SIZE.fullmatch(condition.strip())
    operator, size = matched.groups() if matched else ("", condition)
    try:
        return f"disk.size {operator or '=='} {govalues.parse_size(size.strip())}u"
    except ValueError as problem:
        raise NoExpression(f"the size {problem}") from None


def _glob(pattern: str, field: str) -> str:
    return f"glob({json.dumps(pattern)}, disk.{field})"
