"""`proxmox:` in the inventory."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PositiveInt

from talosmith.model.providers.base import ImageChecksum, ProviderSection
from talosmith.model.section import Section, shorthand
from talosmith.model.values import SecretReference, Vlan, wrong

VmidNumber = Annotated[int, Field(ge=100, le=999_999_999)]


class VmidBase(Section):
    controlplane: VmidNumber = 2000
    workers: VmidNumber = 3000
    templates: VmidNumber = 9000
    """templates that talosmith creates take a free VMID from here on"""


def _proxmox_url(value: str) -> str:
    if not re.match(r"https://[^/\s]+", value):
        raise wrong(f"`{value}` is not the address of a Proxmox VE API", fix="for example https://192.168.1.10:8006")
    return value.rstrip("/")


def _token_id(value: str) -> str:
    if not re.fullmatch(r"[^\s@!]+@[^\s@!]+![^\s@!=]+", value):
        raise wrong("this is not a token id", fix="it has the form user@realm!name; the secret is not part of it")
    return value


def _fingerprint(value: str) -> str:
    text = value.replace(":", "").lower()
    if not re.fullmatch(r"[0-9a-f]{64}", text):
        raise wrong("this is not a SHA-256 fingerprint", fix="64 hexadecimal digits, with or without colons")
    return text


def _template(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def is_volume(text: str) -> bool:
    """Whether an image or ISO is named by its volume id in Proxmox, as `local:iso/talos.iso`."""
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]+:(?!//)\S+", text) is not None


class Proxmox(ProviderSection):
    """Virtual machines on Proxmox VE 8 or 9."""

    name = "proxmox"
    platform = "nocloud"
    install_device = "/dev/sda"

    url: Annotated[str, AfterValidator(_proxmox_url)] | None = None
    """API address; `PROXMOX_VE_URL` in the environment if left out"""
    token_id: Annotated[str, AfterValidator(_token_id)] | None = None
    """`user@realm!name`; `PROXMOX_VE_API_TOKEN` (`user@realm!name=secret`) in the environment if left out"""
    token_secret: SecretReference | None = None
    fingerprint: Annotated[str, AfterValidator(_fingerprint)] | None = None
    """SHA-256 of the server's certificate, for hosts with a self-signed one"""
    ca: str | None = None
    """file with the CA of the server's certificate, relative to the inventory"""
    node: str | None = None
    """Proxmox node that runs the machines"""
    hosts: list[str] = []
    """several Proxmox nodes instead; machines of each role are spread over them in turn"""
    datastore: str = "local-lvm"
    """storage for disks"""
    iso_storage: str = "local"
    """storage for ISO files and seeds; needs the content type `iso`"""
    image_storage: str | None = None
    """storage for disk images; needs the content type `import`; iso_storage if left out"""
    bridge: str = "vmbr0"
    vlan: Vlan | None = None
    """VLAN tag of the machines' network interface, set by Proxmox"""
    boot: Literal["image", "iso", "template"] | None = None
    """what machines start from: an imported disk image, an ISO that installs Talos, or a clone of a template; if left
    out, what `template` or `iso` name, the ISO for secure boot, else the image"""
    image: str | None = None
    """disk image: a file here, a URL, or a volume of Proxmox such as `local:import/talos.raw`; the image factory's if
    left out"""
    iso: str | None = None
    """ISO: a volume of Proxmox such as `local:iso/talos.iso`, a file here, or a URL; the image factory's if left
    out"""
    image_checksum: ImageChecksum | None = None
    """SHA-256 of `image` or `iso`, or `sha512:…`, as it is served: before it is unpacked"""
    template: Annotated[str, shorthand(_template, str | int)] | None = None
    """name or VMID of an existing template to clone; with `boot: template` alone, talosmith creates one"""
    clone: Literal["full", "linked"] = "full"
    """linked clones take no space of their own, and keep the template from being deleted"""
    seed: bool = True
    """attach a NoCloud seed with the machine config; without it, machines wait in maintenance mode at the address
    that DHCP gave them, and are found by their MAC address"""
    firmware: Literal["uefi", "bios"] = "uefi"
    tpm: bool = False
    """a TPM 2.0, stored in the datastore"""
    cpu_type: str = "host"
    """`host`, or x86-64-v2-AES and newer: older types crash Talos"""
    scsi_controller: Literal["virtio-scsi-pci", "virtio-scsi-single"] = "virtio-scsi-pci"
    pool: str | None = None
    """Proxmox pool that the machines become members of"""
    tags: list[Annotated[str, Field(pattern=r"^[a-z0-9_][a-z0-9_+.-]*$")]] = []
    """tags besides talosmith's own"""
    autostart: bool = True
    """machines start with their host"""
    start_order: PositiveInt | None = None
    """start order of control planes; workers come next. The token needs Sys.Modify on / for it"""
    vmid_base: VmidBase = VmidBase.model_construct()

    @property
    def nodes(self) -> tuple[str, ...]:
        """Of the Proxmox cluster, those that machines are created on."""
        return tuple(self.hosts) or ((self.node,) if self.node else ())

    @property
    def images_in(self) -> str:
        """The storage for disk images."""
        return self.image_storage or self.iso_storage

    def start_order_of(self, role: str) -> int | None:
        """Workers start after control planes."""
        return None if self.start_order is None else self.start_order + (role == "worker")

    def start_of(self, *, secureboot: bool) -> Literal["image", "iso", "template"]:
        """What a machine starts from: for secure boot the ISO, since disk images have no keys to enroll."""
        return "iso" if secureboot and self.boot is None and not self.template else self.starts_from

    @property
    def starts_from(self) -> Literal["image", "iso", "template"]:
        """Without a look at secure boot, which needs the ISO."""
        return self.boot or ("template" if self.template else "iso" if self.iso else "image")
