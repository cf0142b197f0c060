"""A machine as libvirt's XML describes it: written from what is wanted, read back from what is there.

Who owns it stands in the domain's metadata, in a namespace of our own; libvirt keeps that with the domain and touches
it never. A domain without it is foreign, whatever its name; so is a copy of one of ours, which has another
uuid than the one that stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from talosmith.model.cluster import Role
from talosmith.model.machines import CLUSTER_TAG, ID_TAG, NODE_TAG, ROLE_TAG, Owner
from talosmith.providers.libvirt.xml import attribute, child, parse, root, size, text_of

NAMESPACE = "urn:talosmith:machine:1"
ElementTree.register_namespace("talosmith", NAMESPACE)

_MIB = 2**20
_TAGS = {CLUSTER_TAG: "cluster", ID_TAG: "id", NODE_TAG: "node", ROLE_TAG: "role"}
HOST_CPU, WHOLE_EMULATION = "host", "maximum"
_CPU_MODES = {HOST_CPU: "host-passthrough", WHOLE_EMULATION: "maximum"}


@dataclass(frozen=True, slots=True)
class Link:
    """What a machine's network card is plugged into; neither: something set by hand."""

    network: str = ""  # of libvirt …
    bridge: str = ""  # … or a bridge of the host

    def __str__(self) -> str:
        return f"the bridge {self.bridge!r}" if self.bridge else f"the network {self.network!r}"

    def __bool__(self) -> bool:
        return bool(self.network or self.bridge)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    name: str
    uuid: str
    tags: Mapping[str, str]
    address: str = ""  # where its node answers
    kind: str = "kvm"  # or qemu, and test for libvirt's own test driver
    arch: str = "x86_64"
    machine: str = "q35"  # empty: the host's choice
    cpu: int = 2
    ram_mib: int = 2048
    cpu_model: str = HOST_CPU  # `host`, `maximum`, or the name of a model; empty: QEMU's choice
    disks: tuple[str, ...] = ()  # paths on the host; the first is the one it boots
    seed: str = ""  # path of the ISO in its drive; empty: the drive is empty
    mac: str = ""
    link: Link = Link()
    uefi: bool = False
    tpm: bool = False
    console: str = ""  # path of the file that keeps what it writes to its serial console

    @property
    def node(self) -> str:
        return self.tags.get(NODE_TAG, "")

    @property
    def role(self) -> Role:
        return cast(Role, self.tags.get(ROLE_TAG, ""))

    def is_of(self, owner: Owner) -> bool:
        return owner.owns(self.tags) and self.role in ("controlplane", "worker") and bool(self.node)


def render(domain: Domain) -> str:
    tree = root("domain", type=domain.kind)
    child(tree, "name", domain.name)
    child(tree, "uuid", domain.uuid)
    _metadata(tree, domain)
    child(tree, "memory", domain.ram_mib * _MIB // 1024, unit="KiB")
    child(tree, "currentMemory", domain.ram_mib * _MIB // 1024, unit="KiB")
    child(tree, "vcpu", domain.cpu)
    smbios = child(child(tree, "sysinfo", type="smbios"), "system")
    child(smbios, "entry", domain.name, name="serial")
    system = child(tree, "os", firmware="efi" if domain.uefi else None)
    child(system, "type", "hvm", arch=domain.arch, machine=domain.machine or None)
    child(system, "smbios", mode="sysinfo")
    features = child(tree, "features")
    child(features, "acpi")
    if domain.arch in ("x86_64", "i686"):
        child(features, "apic")
    add_cpu(tree, domain.cpu_model)
    child(tree, "clock", offset="utc")
    child(tree, "on_poweroff", "destroy")
    child(tree, "on_reboot", "restart")
    child(tree, "on_crash", "restart")
    _devices(child(tree, "devices"), domain)
    return text_of(tree)


def add_cpu(tree: Element, model: str) -> None:
    if model in _CPU_MODES:
        child(tree, "cpu", mode=_CPU_MODES[model])
    elif model:
        child(child(tree, "cpu", mode="custom", match="exact", check="none"), "model", model)


def _metadata(tree: Element, domain: Domain) -> None:
    ours = {short: domain.tags[tag] for tag, short in _TAGS.items() if tag in domain.tags}
    ours["uuid"] = domain.uuid
    if domain.address:
        ours["address"] = domain.address
    child(child(tree, "metadata"), f"{{{NAMESPACE}}}machine", **ours)


def _devices(devices: Element, domain: Domain) -> None:
    for number, path in enumerate(domain.disks):
        disk = child(devices, "disk", type="file", device="disk")
        child(disk, "driver", name="qemu", type="qcow2", cache="none" if domain.kind == "kvm" else None,
              discard="unmap")  # fmt: skip
        child(disk, "source", file=path)
        child(disk, "target", dev=f"vd{chr(ord('a') + number)}", bus="virtio")
        child(disk, "serial", f"disk{number}")
        if not number:
            child(disk, "boot", order=1)
    devices.append(drive(domain.seed))
    child(devices, "controller", type="scsi", model="virtio-scsi")
    card = child(devices, "interface")
    if domain.mac:
        child(card, "mac", address=domain.mac)
    plug(card, domain.link)
    child(card, "model", type="virtio")
    serial = child(devices, "serial", type="pty")
    if domain.console:
        child(serial, "log", file=domain.console, append="on")
    child(serial, "target", port=0)
    child(devices, "rng", model="virtio").append(_random())
    if domain.tpm:
        child(child(devices, "tpm", model="tpm-crb"), "backend", type="emulator", version="2.0")
    child(devices, "memballoon", model="none")


def plug(card: Element, link: Link) -> None:
    """Into this, and out of what it was in before."""
    for source in card.findall("source"):
        card.remove(source)
    card.set("type", "bridge" if link.bridge else "network")
    child(card, "source", **({"bridge": link.bridge} if link.bridge else {"network": link.network}))


def _link(card: Element | None) -> Link:
    """A running machine's card names the bridge of its network, too."""
    if card is None:
        return Link()
    network = attribute(card, "source", "network")
    return Link(network) if network or card.get("type") != "bridge" else Link("", attribute(card, "source", "bridge"))


def _random() -> Element:
    backend = root("backend", model="random")
    backend.text = "/dev/urandom"
    return backend


def drive(seed: str) -> Element:
    """The CD drive, with the seed in it or empty."""
    disk = root("disk", type="file", device="cdrom")
    child(disk, "driver", name="qemu", type="raw")
    if seed:
        child(disk, "source", file=seed)
    child(disk, "target", dev="sda", bus="scsi")
    child(disk, "readonly")
    return disk


@dataclass(frozen=True, slots=True)
class _Marks:
    """What the metadata of a domain that is not ours says."""

    tags: Mapping[str, str] = field(default_factory=dict)
    address: str = ""


def read(text: str) -> Domain:
    """Any domain. Those that we did not make have no tags."""
    tree = parse(text)
    marks = _marks(tree)
    devices = tree.find("devices")
    devices = root("devices") if devices is None else devices
    card = devices.find("interface")
    return Domain(
        name=tree.findtext("name", ""),
        uuid=tree.findtext("uuid", ""),
        tags=marks.tags,
        address=marks.address,
        kind=tree.get("type", ""),
        arch=attribute(tree, "os/type", "arch"),
        machine=attribute(tree, "os/type", "machine"),
        cpu=int(tree.findtext("vcpu", "1")),
        ram_mib=size(tree, "memory", "KiB") // _MIB,
        cpu_model=_cpu_model(tree),
        disks=tuple(attribute(one, "source", "file") for one in devices.findall("disk[@device='disk']")),
        seed=attribute(devices, "disk[@device='cdrom']/source", "file"),
        mac="" if card is None else attribute(card, "mac", "address"),
        link=_link(card),
        uefi=attribute(tree, "os", "firmware") == "efi" or tree.find("os/loader") is not None,
        tpm=devices.find("tpm") is not None,
        console=attribute(devices, "serial/log", "file"),
    )


def _marks(tree: Element) -> _Marks:
    ours = tree.find(f"metadata/{{{NAMESPACE}}}machine")
    if ours is None or ours.get("uuid") != tree.findtext("uuid"):
        return _Marks()
    tags = {tag: ours.get(short, "") for tag, short in _TAGS.items() if short in ours.attrib}
    return _Marks(tags, ours.get("address", ""))


def _cpu_model(tree: Element) -> str:
    mode = attribute(tree, "cpu", "mode")
    named = {mode: name for name, mode in _CPU_MODES.items()}
    return named.get(mode) or tree.findtext("cpu/model") or ""
