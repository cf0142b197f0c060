"""Variables of the module for dmacvicar's libvirt provider.

Version 0.8.3 of the provider knows less of libvirt than talosmith does; what it cannot express is refused by name
instead of being left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.desired.terraform.machines import (
    factory_image,
    is_url,
    machine_values,
    own_image,
)
from talosmith.errors import UsageError
from talosmith.model.cluster import Cluster, Node
from talosmith.model.providers import Libvirt

_MODES = {"nat": "nat", "isolated": "none"}
_DEFAULT_NETWORK = "default"
_UEFI = {"code": "/usr/share/OVMF/OVMF_CODE_4M.fd", "vars": "/usr/share/OVMF/OVMF_VARS_4M.fd"}


def variables(cluster: Cluster, section: Libvirt) -> dict[str, object]:
    if unsupported := list(_unsupported(cluster, section)):
        raise UsageError(
            f"Terraform's libvirt provider does not support: {'; '.join(unsupported)}",
            hint="remove these settings, or create the machines with talosmith",
        )
    images: dict[str, dict[str, str]] = {}
    return {
        "cluster": cluster.name,
        "uri": section.uri,
        "pool": {"name": section.pool, "path": section.pool_path},
        "network": _network(cluster, section),
        "domain_type": "kvm" if section.domain_type == "auto" else section.domain_type,
        "uefi": _UEFI if section.firmware == "uefi" else None,
        "tpm": section.tpm,
        "machines": {node.name: _machine(cluster, section, node, images) for node in cluster.nodes},
        "images": images,
    }


def _unsupported(cluster: Cluster, section: Libvirt) -> Iterator[str]:
    if section.cpu_model:
        yield "`libvirt.cpu_model`"
    if any(node.image.secureboot for node in cluster.nodes):
        yield "`image.secureboot`"
    if section.image_checksum and section.image and is_url(section.image):
        yield "`libvirt.image_checksum` of a URL (download the image, and set `libvirt.image` to the file)"
    if section.make_network and not _first_address(cluster):
        yield "`libvirt.make_network` with a gateway that is not the first address of `network.node_cidr`"


def _first_address(cluster: Cluster) -> bool:
    """The provider gives the host the first address of the network, and no other."""
    cidr, gateway = cluster.network.node_cidr, cluster.network.gateway
    return cidr is not None and gateway in (None, cidr[1])


def _machine(cluster: Cluster, section: Libvirt, node: Node, images: dict[str, dict[str, str]]) -> dict[str, object]:
    if section.image is None:
        name, source = factory_image(cluster, node, ".qcow2")
    else:
        name, source = own_image(cluster, section.image, "libvirt.image")
    images[name] = {"source": source}
    if section.image_checksum:
        images[name]["checksum"] = section.image_checksum.rpartition(":")[2]
    return machine_values(cluster, node) | {"image": name, "autostart": section.autostart}


def _network(cluster: Cluster, section: Libvirt) -> dict[str, str]:
    if section.bridge:
        return {"bridge": section.bridge}
    name = section.network or _DEFAULT_NETWORK
    if section.make_network is None:
        return {"name": name}
    return {"name": name, "mode": _MODES[section.make_network], "cidr": str(cluster.network.node_cidr)}
