"""Virtual machines on Proxmox VE, through its API alone: no login on the host, nothing installed there."""

from __future__ import annotations

import os
from collections.abc import Mapping

from talosmith.desired.machine.node import image_of
from talosmith.desired.outputs import seed_iso, seed_networks
from talosmith.desired.secrets_file import Secrets
from talosmith.desired.target import machine_spec
from talosmith.errors import UsageError
from talosmith.model.cluster import Cluster
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.providers.proxmox import Proxmox, is_volume
from talosmith.model.secret import Secret
from talosmith.providers.images.factory import factory_source, given_source
from talosmith.providers.proxmox.client import ProxmoxClient, Token
from talosmith.providers.proxmox.provider import ProxmoxProvider
from talosmith.providers.proxmox.settings import Boot, BootKind, ProxmoxSettings
from talosmith.providers.proxmox.trust import Trust

__all__ = ["ProxmoxProvider", "proxmox_provider"]

URL, TOKEN, FINGERPRINT = "PROXMOX_VE_URL", "PROXMOX_VE_API_TOKEN", "PROXMOX_VE_FINGERPRINT"


def proxmox_provider(cluster: Cluster, section: Proxmox, owner: Owner, secrets: Secrets | None) -> ProxmoxProvider:
    client = connect(section, secrets, os.environ)
    return ProxmoxProvider(owner, client, settings_of(cluster, section))


def connect(section: Proxmox, secrets: Secrets | None, environment: Mapping[str, str]) -> ProxmoxClient:
    url = section.url or environment.get(URL, "")
    if not url.startswith("https://"):
        raise UsageError(
            "the address of Proxmox VE is not known" if not url else f"{URL} is not an https address",
            hint=f"set `proxmox.url`, or {URL}, to such as https://192.168.1.10:8006",
        )
    ca = section.ca or ""
    pinned = section.fingerprint or ("" if ca else environment.get(FINGERPRINT, "").replace(":", "").lower())
    return ProxmoxClient(url, _token(section, secrets, environment), Trust(pinned, ca))


def _token(section: Proxmox, secrets: Secrets | None, environment: Mapping[str, str]) -> Token:
    if section.token_id and section.token_secret and secrets is not None:
        return Token(section.token_id, secrets.value_of(section.token_secret))
    name, equals, secret = environment.get(TOKEN, "").rpartition("=")
    if not equals or "!" not in name or not secret:
        raise UsageError(
            "the API token of Proxmox VE is not known",
            hint=f"set `proxmox.token_id` and `proxmox.token_secret`, or {TOKEN} to user@realm!name=secret",
        )
    return Token(name, Secret(secret))


def settings_of(cluster: Cluster, section: Proxmox) -> ProxmoxSettings:
    def seed(spec: MachineSpec, config: Secret | None) -> bytes:
        return seed_iso(spec.name, config, seed_networks(spec.network, spec.node))

    specs = {node.name: machine_spec(cluster, node) for node in cluster.nodes}
    network = cluster.network.node_cidr
    return ProxmoxSettings(
        section=section,
        specs=specs,
        seed=seed,
        boot=lambda spec: boot_of(section, spec),
        disk=lambda spec: disk_of(section, spec),
        vip=str(cluster.network.vip or ""),
        search=network if not section.seed else None,
        vmids={spec.node.vmid: name for name, spec in specs.items() if spec.node.vmid is not None},
    )


def disk_of(section: Proxmox, spec: MachineSpec) -> Boot:
    """The disk image, also where the inventory names an existing template."""
    return boot_of(section.model_copy(update={"boot": "image", "template": None, "iso": None}), spec)


def boot_of(section: Proxmox, spec: MachineSpec) -> Boot:
    kind: BootKind = section.start_of(secureboot=spec.node.image.secureboot)
    if kind == "template" and section.template:
        return Boot(kind, template=section.template)
    iso = kind == "iso"
    given, setting = (section.iso, "proxmox.iso") if iso else (section.image, "proxmox.image")
    checksum = section.image_checksum or ""
    if given and is_volume(given):
        return Boot(kind, volume=given)
    if given:
        return Boot(kind, given_source(given, checksum, setting, iso=iso))
    request = image_of(spec.node, spec.talos_version, section.platform)
    return Boot(kind, factory_source(request, checksum, setting, iso=iso))
