"""`libvirt:` in the inventory."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import unquote

from pydantic import AfterValidator, Field

from talosmith.model.providers.base import ImageChecksum, ProviderSection
from talosmith.model.values import wrong

_LIBVIRT_URI = re.compile(r"[a-z]+(?:\+(?P<transport>[a-z0-9]+))?://[^?#]*(?:[?#](?P<options>.*))?", re.DOTALL)
_VERIFYING = ("unix", "ssh", "libssh", "libssh2", "tls")  # without a transport it is a local socket, or tls to a host
_VERIFICATION = {"no_verify": "0", "known_hosts_verify": "normal"}  # of the certificate or ssh host key: these only
_REMOTE = "qemu+ssh://user@host/system or qemu+tls://host/system"


def _libvirt_uri(value: str) -> str:
    found = _LIBVIRT_URI.fullmatch(value)
    if not found:
        fix = "for example qemu:///system or qemu+ssh://user@host/system"
        raise wrong(f"`{value}` is not a libvirt URI", fix=fix)
    transport = found["transport"]
    if transport == "tcp":
        why = "libvirt neither encrypts such a connection nor verifies the host"
        raise wrong("the transport `tcp` is not allowed", why=why, fix=f"use {_REMOTE}")
    if transport and transport not in _VERIFYING:
        why = "talosmith does not know whether it verifies the host"
        raise wrong(f"the transport `{transport}` is not allowed", why=why, fix=f"use {_REMOTE}")
    for option in re.split("[?&;#]", found["options"] or ""):  # libvirt also splits at `;`
        name, _, setting = unquote(option).partition("=")
        if _VERIFICATION.get(name.lower(), setting) != setting:
            why = "without verification, anyone on the network path can answer in place of the host"
            fix = "remove it; for tls install the CA certificate (`pkipath`), for ssh add the host key to known_hosts"
            raise wrong(f"`{option}` is not allowed: it turns off verification of the host", why=why, fix=fix)
    return value


class Libvirt(ProviderSection):
    """Virtual machines on a KVM host, local or over ssh."""

    name = "libvirt"
    platform = "nocloud"
    install_device = "/dev/vda"

    uri: Annotated[str, AfterValidator(_libvirt_uri)] = "qemu:///system"
    pool: str = "default"
    """storage pool for images, disks and seeds"""
    network: str | None = None
    """libvirt network to attach to"""
    bridge: str | None = None
    """host bridge to attach to, instead of a libvirt network"""
    make_network: Literal["nat", "isolated"] | None = None
    """create the network if it does not exist; the host gets the gateway's address in it"""
    pool_path: Annotated[str, Field(pattern="^/")] | None = None
    """folder on the host for the pool; the pool is created if it does not exist"""
    image: str | None = None
    """disk image that machines start from, a file here or a URL; the image factory's if left out"""
    image_checksum: ImageChecksum | None = None
    """SHA-256 of the image, or `sha512:…`, as it is served: before it is unpacked"""
    domain_type: Literal["auto", "kvm", "qemu"] = "auto"
    """`auto` is kvm where machines run with it; `qemu` is software emulation, many times slower"""
    firmware: Literal["bios", "uefi"] = "bios"
    tpm: bool = False
    """an emulated TPM 2.0; needs swtpm on the host"""
    cpu_model: str | None = None
    """a libvirt CPU model; if left out the host's CPU, or the emulator's maximum"""
    autostart: bool = True
    """machines start with their host"""
