"""Variables of the module for bpg's Proxmox provider.

The provider attaches one CD drive to a machine, which the seed takes. So machines with a seed start from a disk image
or an existing template: where the inventory has `boot: iso`, or a template that talosmith would create, from the disk
image of the same Talos. Only machines without a seed start from an ISO.
"""

from __future__ import annotations

from typing import Literal

from talosmith.desired.terraform.machines import (
    factory_image,
    is_url,
    machine_values,
    own_image,
)
from talosmith.errors import UsageError
from talosmith.model.cluster import Cluster, Node
from talosmith.model.providers.proxmox import Proxmox, is_volume
from talosmith.model.services import GUEST_AGENT

Start = Literal["image", "iso", "template"]

_CONTENT = {"image": "import", "iso": "iso"}
_UPLOADS = {"import": (".qcow2", ".raw", ".vmdk"), "iso": (".iso", ".img")}  # what Proxmox stores as such


def variables(cluster: Cluster, section: Proxmox) -> dict[str, object]:
    images: dict[str, dict[str, str]] = {}
    machines = {node.name: _machine(cluster, section, node, images) for node in cluster.nodes}
    return {
        "cluster": cluster.name,
        "endpoint": section.url,
        "iso_storage": section.iso_storage,
        "image_storage": section.images_in,
        "images": images,
        "template": _template(section),
        "machines": machines,
    }


def _machine(cluster: Cluster, section: Proxmox, node: Node, images: dict[str, dict[str, str]]) -> dict[str, object]:
    start = _start(section, node)
    image = None
    if start != "template":
        image, described = _image(cluster, section, node, start)
        images[image] = described
    values = machine_values(cluster, node)
    return values | {
        "vmid": node.vmid,
        "host": _host(section, node),
        **_cpu_type(section.cpu_type),
        "datastore": section.datastore,
        "scsi_controller": section.scsi_controller,
        "uefi": section.firmware == "uefi",
        "tpm": section.tpm,
        "bridge": section.bridge,
        "vlan": section.vlan,
        "image": image,
        "seed": values["seed"] if section.seed else None,
        "guest_agent": GUEST_AGENT in node.image.extensions,
        "autostart": section.autostart,
        "start_order": section.start_order_of(node.role),
        "pool": section.pool,
        "tags": sorted({cluster.name, node.role, "terraform", *section.tags}),
    }


def _start(section: Proxmox, node: Node) -> Start:
    if section.template:
        return "template"
    secure = node.image.secureboot  # only the ISO has the keys
    if section.seed and (section.iso or secure):
        instead = "image.secureboot" if secure else "proxmox.iso"
        raise UsageError(
            f"node `{node.name}`: an ISO and a NoCloud seed need two CD drives; Terraform's Proxmox provider has one",
            hint=f"remove `{instead}`, or set `proxmox.seed: false`: machines then need DHCP",
        )
    return "iso" if secure or (not section.seed and section.starts_from == "iso") else "image"


def _host(section: Proxmox, node: Node) -> str:
    host = node.host or (section.nodes[0] if section.nodes else None)
    if host is None:
        raise UsageError(f"node `{node.name}` has no Proxmox node", hint="set `proxmox.node` or `proxmox.hosts`")
    return host


def _image(cluster: Cluster, section: Proxmox, node: Node, start: Start) -> tuple[str, dict[str, str]]:
    """File name on Proxmox, and where the image comes from."""
    content, place = _CONTENT[start], section.iso if start == "iso" else section.image
    if place is None:
        name, url = factory_image(cluster, node, ".iso" if start == "iso" else ".qcow2")
        return name, {"content": content, "url": url}
    if is_volume(place):
        return place, {"content": content, "volume": place}
    name, place = own_image(cluster, place, f"proxmox.{start}")
    if not name.endswith(_UPLOADS[content]):
        raise UsageError(
            f"`proxmox.{start}`: Proxmox does not store {place} as `{content}`",
            hint=f"the name must end with one of: {', '.join(_UPLOADS[content])}",
        )
    kind = "url" if is_url(place) else "file"
    described = {"content": content, kind: place}
    if section.image_checksum:
        described["algorithm"], _, described["checksum"] = section.image_checksum.partition(":")
    return name, described


def _template(section: Proxmox) -> dict[str, object] | None:
    if section.template is None:
        return None
    full = section.clone == "full"
    if section.template.isdecimal():
        return {"vmid": int(section.template), "full": full}
    return {"name": section.template, "full": full}


def _cpu_type(text: str) -> dict[str, object]:
    """`x86-64-v3,flags=+aes;-pcid` of Proxmox, in the parts that the provider takes."""
    model, comma, options = text.partition(",")
    if comma and not options.startswith("flags="):
        raise UsageError(
            f"Terraform's Proxmox provider does not support these options of `proxmox.cpu_type`: {options}",
            hint=f"use `{model}`, or `{model},flags=…`",
        )
    return {"cpu_type": model, "cpu_flags": options.removeprefix("flags=").split(";") if comma else []}
