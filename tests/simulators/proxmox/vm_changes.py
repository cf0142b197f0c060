"""Changes of single options in the config of a VM.

A running VM takes some options at once, has disks and network interfaces plugged, and keeps the rest pending until
the next stop or start.
"""

from __future__ import annotations

import re
from typing import Any

from .disks import free
from .errors import failed
from .model import VM, Volume
from .property_strings import split
from .tasks import Body, Task
from .vm_config import Drive, boot_order, boot_text, drive, nic, nic_text
from .vm_create import make_drive
from .vm_options import index_of, is_drive
from .world import Proxmox

_AT_ONCE = {
    "lock",
    "name",
    "onboot",
    "shares",
    "startup",
    "description",
    "protection",
    "vmstatestorage",
    "tags",
    "hookscript",
}


def tidy_tags(text: str) -> str:
    return ";".join(sorted({tag.lower() for tag in re.split(r"[;,\s]", text) if tag}))


def set_option(vm: VM, name: str, value: Any, at_once: bool = False) -> None:
    vm.pending_delete = [other for other in vm.pending_delete if other != name]
    if vm.status == "stopped" or at_once or name in _AT_ONCE:
        vm.pending.pop(name, None)
        vm.config[name] = value
    elif vm.config.get(name) == value:
        vm.pending.pop(name, None)
    else:
        vm.pending[name] = value


def _hotplug(vm: VM, what: str) -> bool:
    kinds = str(vm.config.get("hotplug", "network,disk,usb"))
    return kinds == "1" or what in kinds.split(",")


def new_drive(world: Proxmox, task: Task, vm: VM, one: Drive, made: list[Volume]) -> Body:
    old = vm.config.get(one.option)
    same = old is not None and drive(one.option, str(old)).file == one.file
    if same:
        one.properties.setdefault("size", split(str(old), "file").get("size", ""))
        one.properties = {name: value for name, value in one.properties.items() if value}
        return
    yield from make_drive(world, task, vm, one, made)


def set_drive(world: Proxmox, vm: VM, one: Drive) -> None:
    old = drive(one.option, str(vm.config[one.option])) if one.option in vm.config else None
    kind = (index_of(one.option) or (one.option, 0))[0]
    if old and not old.is_cdrom and old.file != one.file:
        _keep_unused(vm, old)
    plugged = kind in ("scsi", "virtio") and _hotplug(vm, "disk")
    at_once = bool(old and old.is_cdrom and one.is_cdrom) or plugged
    set_option(vm, one.option, str(one), at_once)
    order = boot_order(vm.config | vm.pending)
    if order and one.is_cdrom and one.option not in order:
        set_option(vm, "boot", boot_text([*order, one.option]))


def _keep_unused(vm: VM, old: Drive) -> None:
    number = 0
    while f"unused{number}" in vm.config:
        number += 1
    vm.config[f"unused{number}"] = old.file


def set_nic(world: Proxmox, vm: VM, name: str, text: str, errors: dict[str, str]) -> None:
    parts = nic(text)
    value = nic_text(parts if "macaddr" in parts else parts | {"macaddr": world.mac()})
    bridge = parts.get("bridge", "")
    if vm.status == "running" and bridge and bridge not in world.nodes[vm.node].bridges:
        script = "/usr/libexec/qemu-server/pve-bridge-hotplug"
        errors[name] = (
            f"hotplug problem - VM {vm.vmid} qmp command 'netdev_add' failed - "
            f"network script {script} failed with status 512\n"
        )
        set_option(vm, name, value)  # stays pending in spite of the error
    else:
        set_option(vm, name, value, _hotplug(vm, "network"))


def delete_option(world: Proxmox, vm: VM, name: str, force: bool) -> None:
    vm.pending.pop(name, None)
    if name not in vm.config:
        return
    kind = (index_of(name) or (name, 0))[0]
    if kind == "unused" or (is_drive(name) and not drive(name, str(vm.config[name])).is_cdrom):
        _delete_disk(world, vm, name, force)
    elif vm.status == "stopped" or name in _AT_ONCE or (kind == "net" and _hotplug(vm, "network")):
        del vm.config[name]
    elif name not in vm.pending_delete:
        vm.pending_delete.append(name)
    order = boot_order(vm.config | vm.pending)
    if name in order:
        set_option(vm, "boot", boot_text([other for other in order if other != name]))


def _delete_disk(world: Proxmox, vm: VM, name: str, force: bool) -> None:
    if vm.config.get("protection"):
        raise failed(f"can't remove drive '{name}' - protection mode enabled")
    if vm.status == "running" and name[:4] in ("ide0", "ide1", "ide2", "ide3", "sata", "efid", "tpms"):
        vm.pending_delete.append(name)
        return
    one = drive(name, str(vm.config.pop(name)))
    volume = world.volumes.find(one.file, vm.node)
    if not name.startswith("unused") and not force:
        _keep_unused(vm, one)
    elif volume:
        free(world, volume)
