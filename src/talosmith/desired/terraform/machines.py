"""What Terraform needs to know of a machine and of its image, whatever the provider."""

from __future__ import annotations

import re
from pathlib import Path

from talosmith.desired.machine.node import image_of
from talosmith.errors import UsageError
from talosmith.model.cluster import Cluster, Node

SEEDS = "seeds"  # folder beside the module, as `render nocloud` writes it
_MIB_PER_GIB = 1024
_COMPRESSED = (".xz", ".zst", ".gz", ".bz2", ".zip")
_URL = re.compile(r"https?://")


def machine_values(cluster: Cluster, node: Node) -> dict[str, object]:
    """Size, network and seed of one machine."""
    if node.arch != "amd64":
        raise UsageError(
            f"node `{node.name}`: `render terraform` does not support {node.arch} machines",
            hint="create this machine with talosmith, or by hand",
        )
    network = cluster.network
    subnet = node.subnet or network.node_cidr
    return {
        "role": node.role,
        "cpu": node.cpu,
        "ram_mib": node.ram_mib,
        "disks_gib": _disks_gib(node),
        "mac": node.mac,
        "address": f"{node.ip}/{subnet.prefixlen}" if subnet else str(node.ip),
        "gateway": str(network.gateway) if network.gateway else None,
        "seed": f"{SEEDS}/{node.name}/seed.iso",
    }


def _disks_gib(node: Node) -> list[int]:
    """Both Terraform providers and Proxmox itself count in GiB."""
    sizes = (*(() if node.disk_mib is None else (node.disk_mib,)), *node.extra_disks_mib)
    for size in sizes:
        if size % _MIB_PER_GIB:
            raise UsageError(
                f"node `{node.name}`: a disk of {size} MiB is not a whole number of GiB",
                hint="set `disk` and `extra_disks` to whole GiB, for example 50G",
            )
    return [size // _MIB_PER_GIB for size in sizes]


def factory_image(cluster: Cluster, node: Node, suffix: str) -> tuple[str, str]:
    """File name and URL of the image factory's image; `suffix` is `.qcow2` or `.iso`."""
    request = image_of(node, cluster.talos_version, cluster.provider.platform)
    served = f"{request.iso.removesuffix('.iso')}{suffix}"
    name = f"{cluster.name}-talos-{request.version}-{request.schematic_id[:8]}-{served}"
    return name, request.url(served)


def is_url(place: str) -> bool:
    return _URL.match(place) is not None


def own_image(cluster: Cluster, place: str, setting: str) -> tuple[str, str]:
    """File name and place of an image that the inventory names; a file gets its whole path, a URL stays."""
    plain, _, _ = place.partition("?")
    if plain.endswith(_COMPRESSED):
        raise UsageError(
            f"`{setting}`: Terraform does not decompress {place}",
            hint="use an uncompressed image; the image factory serves it with the suffix .qcow2",
        )
    if not is_url(place):
        place = str(Path(place).expanduser().absolute())
    return f"{cluster.name}-{Path(plain).name}", place
