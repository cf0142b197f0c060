"""Changes of a machine that is there. What its owner has set by hand besides stays as it is: its XML is edited."""

from __future__ import annotations

from typing import Any

from talosmith.model.machines import MachineSpec
from talosmith.providers.libvirt.connection import libvirt
from talosmith.providers.libvirt.domain import Domain, Link, drive, plug, read
from talosmith.providers.libvirt.xml import child, parse, text_of

_MIB = 2**20


def grow(connection: Any, domain: Any, described: Domain, sizes_mib: tuple[int, ...]) -> None:
    for path, mib in zip(described.disks, sizes_mib, strict=False):
        volume = connection.storageVolLookupByPath(path)
        if mib * _MIB <= volume.info()[1]:
            continue
        if domain.isActive():
            domain.blockResize(path, mib * _MIB, libvirt().VIR_DOMAIN_BLOCK_RESIZE_BYTES)
        else:
            volume.resize(mib * _MIB)


def redefine(connection: Any, domain: Any, wanted: MachineSpec, disks: tuple[str, ...], link: Link) -> None:
    """For its next start."""
    library = libvirt()
    before = domain.XMLDesc(library.VIR_DOMAIN_XML_INACTIVE | library.VIR_DOMAIN_XML_SECURE)
    tree = parse(before)
    for tag in ("memory", "currentMemory"):
        at = tree.find(tag)
        if at is not None and wanted.ram_mib:
            at.text, at.attrib["unit"] = str(wanted.ram_mib * 1024), "KiB"
    cpus = tree.find("vcpu")
    if cpus is not None and wanted.cpu:
        cpus.text = str(wanted.cpu)
        cpus.attrib.pop("current", None)
    devices = tree.find("devices")
    there = [] if devices is None else devices.findall("disk[@device='disk']")
    if devices is not None:
        for number in range(len(there), len(disks)):
            disk = child(devices, "disk", type="file", device="disk")
            child(disk, "driver", name="qemu", type="qcow2", discard="unmap")
            child(disk, "source", file=disks[number])
            child(disk, "target", dev=f"vd{chr(ord('a') + number)}", bus="virtio")
            child(disk, "serial", f"disk{number}")
    card = tree.find("devices/interface")
    if card is not None and read(before).link not in (link, Link()):
        plug(card, link)
    connection.defineXML(text_of(tree))


def put_in_drive(domain: Any, path: str) -> None:
    """Now and for the next start. A seed that is being read is taken out all the same."""
    library = libvirt()
    flags = library.VIR_DOMAIN_AFFECT_CONFIG | library.VIR_DOMAIN_DEVICE_MODIFY_FORCE
    if domain.isActive():
        flags |= library.VIR_DOMAIN_AFFECT_LIVE
    domain.updateDeviceFlags(text_of(drive(path)), flags)
