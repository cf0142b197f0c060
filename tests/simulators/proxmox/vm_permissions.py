"""The privileges for options of a VM, for storages and for bridges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .errors import denied, failed, invalid, invalid_all
from .model import Storage
from .routing import Call
from .vm_config import Drive, drive, nic
from .vm_options import index_of, is_drive, is_nic

NEW_DISK = re.compile(r"(?:([^/:\s]+):)?(\d+(?:\.\d+)?)")
_CPU = {"cpu", "cores", "sockets", "vcpus", "cpulimit", "cpuunits", "numa", "affinity"}
_MEMORY = {"memory", "balloon", "shares", "hugepages", "keephugepages"}
_HARDWARE = {"acpi", "hotplug", "kvm", "machine", "scsihw", "smbios1", "tablet", "vga", "watchdog", "audio0", "rng0"}
_DISK = {"boot", "bootdisk", "vmstatestorage"}
_CLOUD_INIT = {"cicustom", "cipassword", "citype", "ciuser", "ciupgrade", "nameserver", "searchdomain", "sshkeys"}
_ROOT_ONLY = {"args", "hookscript", "lock"}


def check_options(call: Call, vmid: int, options: Iterable[str], values: Mapping[str, Any]) -> None:
    """Drives are left to `check_drives`."""
    for option in options:
        if is_drive(option):
            continue
        if option in _ROOT_ONLY and not call.who.is_root:
            raise failed(f"only root can set '{option}' config")
        if option == "startup":
            call.require("/", "Sys.Modify")
            continue
        _require(call, vmid, _privilege(call, option, values))


def _require(call: Call, vmid: int, privilege: str) -> None:
    pool = call.get("pool")
    if not (pool and call.may(f"/pool/{pool}", privilege)):
        call.require(f"/vms/{vmid}", privilege)


def _privilege(call: Call, option: str, values: Mapping[str, Any]) -> str:
    kind = (index_of(option) or (option, 0))[0]
    if option in _CPU or (kind == "numa" and option != "numa"):
        return "VM.Config.CPU"
    if option in _MEMORY:
        return "VM.Config.Memory"
    if option in _DISK or kind == "unused":
        return "VM.Config.Disk"
    if option in _CLOUD_INIT:
        return "VM.Config.Cloudinit"
    if kind in ("net", "ipconfig"):
        return "VM.Config.Network"
    if kind in ("serial", "parallel", "usb", "hostpci"):
        real = str(values.get(option, "socket")) not in ("socket", "spice")
        if real and not call.who.is_root:
            raise failed(f"only root can set '{option}' config for real devices")
        return "VM.Config.HWType"
    return "VM.Config.HWType" if option in _HARDWARE else "VM.Config.Options"


def check_drives(call: Call, vmid: int, values: Mapping[str, Any]) -> None:
    """That the volumes may be used or made where the drives say."""
    for option in sorted(values):
        if is_drive(option):
            one = drive(option, str(values[option]))
            check_syntax(one)
            _check_volume(call, one)
            _require(call, vmid, "VM.Config.CDROM" if one.is_cdrom else "VM.Config.Disk")


def check_syntax(one: Drive) -> None:
    new = NEW_DISK.fullmatch(one.file)
    if "import-from" in one.properties and not (new and float(new[2]) == 0 and new[1]):
        text = "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>"
        raise invalid_all({one.option: text})
    if ":iso/" in one.file and not one.is_cdrom:
        raise invalid_all({one.option: "explicit 'media=cdrom' is required for iso images"})


def _check_volume(call: Call, one: Drive) -> None:
    if one.file in ("none", "cdrom") or one.file.endswith(":cloudinit"):
        return
    if one.file.startswith("/"):
        _refuse_path()
    new = NEW_DISK.fullmatch(one.file)
    if new:
        check_space(call, new[1] or "local")
        if "import-from" in one.properties:
            _check_source(call, one, one.properties["import-from"])
        return
    if ":" not in one.file:
        raise invalid_all({one.option: f"unable to parse volume ID '{one.file}'"})
    _check_existing(call, one.file)


def check_space(call: Call, name: str) -> Storage:
    call.require(f"/storage/{name}", "Datastore.AllocateSpace")
    storage = call.storage(name)
    if "images" not in storage.content:
        raise invalid(storage=f"storage '{name}' does not support vm images")
    return storage


def _check_source(call: Call, one: Drive, source: str) -> None:
    if source.startswith("/"):
        _refuse_path()
    _check_existing(call, source)
    name = source.partition(":")[2]
    if not (name.startswith("import/") or re.match(r"\d+/|vm-|base-", name)):
        raise invalid_all(
            {one.option: f"{source} has wrong type '{name.partition('/')[0]}' - needs to be 'images' or 'import'"}
        )


def _check_existing(call: Call, volid: str) -> None:
    name = volid.partition(":")[0]
    path = f"/storage/{name}"
    if not call.may(path, "Datastore.Allocate"):
        call.require(path, "Datastore.AllocateSpace", "Datastore.Audit")
    storage = call.world.storages.get(name)
    if storage is None:
        raise failed(f"storage '{name}' does not exist")
    call.storage(name)


def _refuse_path() -> None:
    raise failed("Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.")


def check_bridges(call: Call, values: Mapping[str, Any]) -> None:
    known = call.node.bridges
    for option in sorted(values):
        if is_nic(option):
            parts = nic(str(values[option]))
            bridge = parts.get("bridge")
            if bridge:
                zone = known[bridge].zone if bridge in known else "localnetwork"
                path = f"/sdn/zones/{zone}/{bridge}"
                if "tag" in parts and call.may(f"{path}/{parts['tag']}", "SDN.Use"):
                    continue
                call.require(path, "SDN.Use")


def check_pool(call: Call) -> None:
    pool = call.get("pool")
    if pool is not None and pool not in call.world.pools:
        refusal = denied()
        refusal.message = f"Permission check failed (pool '{pool}' does not exist)"
        raise refusal
