"""The options of a VM: names and the values that Proxmox VE takes. Facts of the API."""

from __future__ import annotations

import re
from collections.abc import Collection

from .property_strings import properties
from .schema import Param, boolean, choice, dns_name, formatted, integer, number, string
from .vm_formats import BUSES, check_tags, check_urlencoded, cpu_param, drive_table, nic_param

_INDEXED = BUSES | {"net": 32, "serial": 4, "parallel": 3, "usb": 14, "hostpci": 16, "unused": 256, "ipconfig": 32}
_INDEXED |= {"numa": 8, "virtiofs": 10}
_OS_TYPES = [
    "other",
    "wxp",
    "w2k",
    "w2k3",
    "w2k8",
    "wvista",
    "win7",
    "win8",
    "win10",
    "win11",
    "l24",
    "l26",
    "solaris",
]
_SCSI_CONTROLLERS = ["lsi", "lsi53c810", "virtio-scsi-pci", "virtio-scsi-single", "megasas", "pvscsi"]
_DISPLAYS = [
    "cirrus",
    "qxl",
    "qxl2",
    "qxl3",
    "qxl4",
    "none",
    "serial0",
    "serial1",
    "serial2",
    "serial3",
    "std",
    "virtio",
    "virtio-gl",
    "vmware",
]
_LOCKS = [
    "backup",
    "clone",
    "create",
    "migrate",
    "rollback",
    "snapshot",
    "snapshot-delete",
    "suspending",
    "suspended",
]


def index_of(option: str) -> tuple[str, int] | None:
    """("scsi", 0) for scsi0, where there is such an option."""
    match = re.fullmatch(r"([a-z]+)(0|[1-9][0-9]*)", option)
    if match and match[1] in _INDEXED and int(match[2]) < _INDEXED[match[1]]:
        return match[1], int(match[2])
    return None


def is_drive(option: str) -> bool:
    found = index_of(option)
    return option in ("efidisk0", "tpmstate0") or (found is not None and found[0] in BUSES)


def is_nic(option: str) -> bool:
    found = index_of(option)
    return found is not None and found[0] == "net"


_NUMBER = r"\d+(\.\d+)+(\+pve\d+)?(\.pxe)?"
_MACHINE = rf"(pc|q35|virt|pc(-i440fx|-q35)?-{_NUMBER}|virt-{_NUMBER})"
_NAMED: dict[str, Param] = {
    **{
        name: boolean() for name in ("onboot", "protection", "acpi", "kvm", "tablet", "numa", "template", "autostart")
    },
    **{name: boolean() for name in ("freeze", "reboot", "localtime", "tdf", "ciupgrade", "keephugepages")},
    **{name: string() for name in ("args", "hookscript", "searchdomain", "nameserver", "ciuser", "cipassword")},
    **{name: string() for name in ("cicustom", "vmgenid", "vmstatestorage", "affinity", "hotplug", "watchdog")},
    **{name: string() for name in ("audio0", "rng0", "ivshmem", "spice_enhancements", "startdate", "bootdisk")},
    **{name: string() for name in ("amd-sev", "intel-tdx")},
    "name": dns_name(),
    "description": string(max_length=8192),
    "tags": formatted(check_tags),
    "cores": integer(1),
    "sockets": integer(1),
    "vcpus": integer(1),
    "balloon": integer(0),
    "shares": integer(0, 50000),
    "cpuunits": integer(1, 262144),
    "cpulimit": number(0, 128),
    "migrate_speed": integer(0),
    "migrate_downtime": number(0),
    "memory": properties("memory", {"current": integer(16)}, "current"),
    "agent": properties(
        "agent",
        {
            "enabled": boolean(),
            "fstrim_cloned_disks": boolean(),
            "freeze-fs-on-backup": boolean(),
            "type": choice("virtio", "isa"),
        },
        "enabled",
    ),
    "machine": properties(
        "machine",
        {
            "type": string(_MACHINE),
            "viommu": choice("intel", "virtio"),
            "enable-s3": boolean(),
            "enable-s4": boolean(),
            "aw-bits": number(32, 64),
        },
        "type",
    ),
    "smbios1": properties(
        "smbios1",
        {name: string() for name in ("uuid", "version", "serial", "manufacturer", "product", "sku", "family")}
        | {"base64": boolean()},
        max_length=512,
    ),
    "vga": properties(
        "vga", {"type": choice(*_DISPLAYS), "memory": integer(4, 512), "clipboard": choice("vnc")}, "type"
    ),
    "boot": properties("boot", {"legacy": string("[acdn]{1,4}"), "order": string()}, "legacy"),
    "startup": string(r"(order=)?\d+(,up=\d+)?(,down=\d+)?|up=\d+(,down=\d+)?|down=\d+"),
    "ostype": choice(*_OS_TYPES),
    "bios": choice("seabios", "ovmf"),
    "scsihw": choice(*_SCSI_CONTROLLERS),
    "arch": choice("x86_64", "aarch64"),
    "lock": choice(*_LOCKS),
    "citype": choice("configdrive2", "nocloud", "opennebula"),
    "hugepages": choice("any", "2", "1024"),
    "keyboard": string(),
    "sshkeys": formatted(check_urlencoded),
    "efidisk0": properties("efidisk0", drive_table("efidisk"), "file"),
    "tpmstate0": properties("tpmstate0", drive_table("tpmstate"), "file"),
}


def option(name: str, cpu_models: Collection[str]) -> Param | None:
    if name == "cpu":
        return cpu_param(cpu_models)
    if name in _NAMED:
        return _NAMED[name]
    found = index_of(name)
    if found is None:
        return None
    kind = found[0]
    if kind in BUSES:
        return properties(name, drive_table(kind), "file")
    if kind == "net":
        return nic_param(name)
    if kind == "ipconfig":
        return properties(name, {key: string() for key in ("gw", "gw6", "ip", "ip6")})
    if kind == "serial":
        return string(r"(/dev/.+|socket)")
    return string()
