"""Three machines as talosmith's inventory and as Terraform's resources, and a look at what was made of them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from talosmith import load
from tests.real.libvirt.halting import HALTS

NODES = 3
PROVIDER = ("dmacvicar/libvirt", "0.8.3")
_CLUSTER, _POOL, _NETWORK = "bench", "bench", "bench"
_CPUS, _RAM_GIB, _DISK_GIB = 1, 2, 10
_SEED = ("user-data", "meta-data", "network-config")
_IMAGE_MIB = 64
_SUBNET = "10.200.0"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the machines are to be."""

    uri: str
    pool: Path
    network: Path  # the host's, for who wants to enter it
    image: Path


def write_image(folder: Path) -> Path:
    """Large, and nothing in it that could be left out; a machine that boots it halts and uses nothing."""
    raw, image = folder / "image.raw", folder / "image.qcow2"
    raw.write_bytes(HALTS + os.urandom(_IMAGE_MIB * 2**20 - len(HALTS)))
    subprocess.run(["qemu-img", "convert", "-O", "qcow2", raw, image], check=True)  # noqa: S607 - Debian's
    raw.unlink()
    return image


def write_inventory(folder: Path, place: Place) -> None:
    folder.mkdir()
    (folder / "cluster.yaml").write_text(
        f"cluster_name: {_CLUSTER}\ntalos_version: v1.14.1\nkubernetes_version: v1.37.1\n"
        f"network: {{node_cidr: {_SUBNET}.0/24, gateway: {_SUBNET}.1, vip: {_SUBNET}.9}}\n"
        f"libvirt:\n  uri: {place.uri}\n  image: {place.image}\n  pool: {_POOL}\n  pool_path: {place.pool}\n"
        f"  network: {_NETWORK}\n  make_network: isolated\n"
        f"controlplane: {{count: {NODES}, cpu: {_CPUS}, ram: {_RAM_GIB}G, disk: {_DISK_GIB}G}}\n"
    )


def write_resources(folder: Path, place: Place, inventory: Path, seeds: Path) -> None:
    """The same for Terraform. Its seeds are what `talosmith render nocloud` gives."""
    folder.mkdir()
    files = {part.replace("-", "_"): f'${{file("{seeds}/${{each.key}}/{part}")}}' for part in _SEED}
    source, version = PROVIDER
    resources = {
        "libvirt_pool": {"nodes": {"name": _POOL, "type": "dir", "target": {"path": str(place.pool)}}},
        "libvirt_network": {
            "nodes": {
                "name": _NETWORK,
                "mode": "none",
                "addresses": [f"{_SUBNET}.0/24"],
                "dhcp": {"enabled": False},
                "autostart": True,
            }
        },
        "libvirt_volume": {
            "image": {"name": "image.qcow2", "pool": "${libvirt_pool.nodes.name}", "source": str(place.image)},
            "disk": {
                "for_each": "${local.nodes}",
                "name": "${each.key}.qcow2",
                "pool": "${libvirt_pool.nodes.name}",
                "base_volume_id": "${libvirt_volume.image.id}",
                "size": _DISK_GIB * 2**30,
            },
        },
        "libvirt_cloudinit_disk": {
            "seed": {
                "for_each": "${local.nodes}",
                "name": "${each.key}.iso",
                "pool": "${libvirt_pool.nodes.name}",
                **files,
            }
        },
        "libvirt_domain": {
            "node": {
                "for_each": "${local.nodes}",
                "name": f"{_CLUSTER}-${{each.key}}",
                "type": "qemu",
                "machine": "pc",  # its drive for the seed is one that newer boards do not have
                "vcpu": _CPUS,
                "memory": _RAM_GIB * 1024,
                "cpu": {"mode": "maximum"},
                "autostart": True,
                "cloudinit": "${libvirt_cloudinit_disk.seed[each.key].id}",
                "disk": {"volume_id": "${libvirt_volume.disk[each.key].id}"},
                "network_interface": {"network_id": "${libvirt_network.nodes.id}", "mac": "${each.value}"},
                "console": {"type": "pty", "target_port": "0"},
                "graphics": {"type": "vnc"},
            }
        },
    }
    told = {
        "terraform": {"required_providers": {"libvirt": {"source": source, "version": version}}},
        "provider": {"libvirt": {"uri": place.uri}},
        "locals": {"nodes": {node.name: node.mac for node in load(inventory).nodes}},
        "resource": resources,
    }
    (folder / "main.tf.json").write_text(json.dumps(told, indent=2))


# What was made


def made(connection: Any) -> dict[str, object]:
    """Of each machine what both tools were told; it has to run."""
    return {domain.name(): _machine(domain) for domain in connection.listAllDomains() if domain.isActive()}


def _machine(domain: Any) -> dict[str, object]:
    tree = ElementTree.fromstring(domain.XMLDesc())  # noqa: S314 - libvirt writes it itself
    disks = {one.get("device"): _path(domain.connect(), one) for one in tree.findall("devices/disk")}
    link = tree.find("devices/interface")
    assert link is not None
    return {
        "cpus": tree.findtext("vcpu"),
        "memory": tree.findtext("memory"),
        "kind": tree.get("type"),
        "starts with the host": domain.autostart(),
        "mac": link.find("mac").get("address"),  # type: ignore[union-attr]
        "network": link.find("source").get("network"),  # type: ignore[union-attr]
        "disk": _disk(disks["disk"]),
        "seed": _seed(disks["cdrom"]),
    }


def _path(connection: Any, disk: ElementTree.Element) -> Path:
    source = disk.find("source")
    assert source is not None
    if disk.get("type") == "volume":
        pool = connection.storagePoolLookupByName(source.get("pool"))
        return Path(pool.storageVolLookupByName(source.get("volume")).path())
    return Path(source.get("file", ""))


def _disk(path: Path) -> tuple[int, str]:
    """How large it is, and the hash of the image below it."""
    asked = ["qemu-img", "info", "--force-share", "--output=json", str(path)]
    told = json.loads(subprocess.run(asked, capture_output=True, check=True).stdout)
    below = Path(told["backing-filename"]).read_bytes()
    return told["virtual-size"], hashlib.sha256(below).hexdigest()


def _seed(path: Path) -> dict[str, str]:
    from pycdlib import PyCdlib

    image = PyCdlib()
    image.open(str(path))
    files = {}
    for name in _SEED:
        content = io.BytesIO()
        image.get_file_from_iso_fp(content, joliet_path=f"/{name}")
        files[name] = hashlib.sha256(content.getvalue()).hexdigest()
    image.close()
    return files
