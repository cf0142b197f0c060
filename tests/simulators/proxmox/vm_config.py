"""The config of a VM: drives, network interfaces, and the text of the file, from which the digest is made."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .model import VM
from .property_strings import join, split
from .vm_formats import NIC_MODELS
from .vm_options import is_drive

Config = Mapping[str, Any]


@dataclass
class Drive:
    """`file` is a volume id, `none`, `cdrom`, or for a new disk STORAGE:GIB."""

    option: str
    file: str
    properties: dict[str, str] = field(default_factory=dict)

    @property
    def is_cdrom(self) -> bool:
        return self.properties.get("media") == "cdrom"

    @property
    def storage(self) -> str:
        return self.file.partition(":")[0] if ":" in self.file else ""

    def __str__(self) -> str:
        return join({"file": self.file} | self.properties, "file")


def drive(option: str, text: str) -> Drive:
    parts = split(text, "file")
    return Drive(option, parts.pop("file", ""), parts)


def drives(config: Config) -> list[Drive]:
    """Sorted by name, the order of Proxmox VE."""
    return [drive(option, str(config[option])) for option in sorted(config) if is_drive(option)]


def nic(text: str) -> dict[str, str]:
    """With `model` and, if there is one, `macaddr`."""
    parts = split(text, "model")
    for model in NIC_MODELS:
        if model in parts:
            parts |= {"model": model, "macaddr": parts.pop(model)}
    return parts


def nic_text(parts: Mapping[str, str]) -> str:
    rest = {name: value for name, value in parts.items() if name not in ("model", "macaddr")}
    return join({"first": f"{parts['model']}={parts['macaddr']}"} | rest, "first")


def file_text(vm: VM) -> str:
    text = _section(vm.config)
    if vm.pending or vm.pending_delete:
        deleted = {"delete": ",".join(vm.pending_delete)} if vm.pending_delete else {}
        text += "\n[PENDING]\n" + _section(vm.pending | deleted)
    return text


def _section(config: Config) -> str:
    comment = "".join(f"#{line}\n" for line in str(config.get("description", "")).splitlines())
    return comment + "".join(f"{name}: {config[name]}\n" for name in sorted(config) if name != "description")


def digest(vm: VM) -> str:
    return hashlib.sha1(file_text(vm).encode(), usedforsecurity=False).hexdigest()


def shown(vm: VM, current: bool = False) -> dict[str, Any]:
    """The config in an answer: with pending changes, or with `current` the options of the running VM."""
    config = dict(vm.config)
    if not current:
        config |= vm.pending
        for option in vm.pending_delete:
            config.pop(option, None)
    return config | {"digest": digest(vm)}


def pending_rows(vm: VM) -> list[dict[str, Any]]:
    rows = []
    for option in sorted({*vm.config, *vm.pending}):
        row: dict[str, Any] = {"key": option}
        if option in vm.config:
            row["value"] = vm.config[option]
        if option in vm.pending:
            row["pending"] = vm.pending[option]
        if option in vm.pending_delete:
            row["delete"] = 1
        rows.append(row)
    return [*rows, {"key": "digest", "value": digest(vm)}]


def boot_order(config: Config) -> list[str]:
    text = str(config.get("boot", ""))
    return [name for name in text.removeprefix("order=").split(";") if name] if text.startswith("order=") else []


def boot_text(order: list[str]) -> str:
    """A blank without devices, as stored by Proxmox VE."""
    return "order=" + ";".join(order) if order else " "


def default_boot(config: Config) -> str:
    """The first disk, the first CD-ROM, the first network interface."""
    found = [one for one in drives(config) if one.option not in ("efidisk0", "tpmstate0")]
    disks = [one.option for one in found if not one.is_cdrom]
    cds = [one.option for one in found if one.is_cdrom]
    nics = sorted(option for option in config if option.startswith("net"))
    return boot_text(disks[:1] + cds[:1] + nics[:1])
