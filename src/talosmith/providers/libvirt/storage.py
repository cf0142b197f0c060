"""Pools and volumes as libvirt's XML describes them, and what their names say.

A volume has no room for metadata, so its name is its label: `talosmith-<cluster's id>-<node>-<machine's uuid>-…`.
Each making of a machine has a uuid of its own; two that make the same machine at once never write to the same volume,
and what was left behind by one that was cut off is known by its uuid, which no machine has.
"""

from __future__ import annotations

import re
import uuid as uuids
from dataclasses import dataclass
from typing import Any

from talosmith.model.machines import Owner
from talosmith.providers.libvirt.connection import found
from talosmith.providers.libvirt.xml import attribute, child, parse, root, size, text_of

PREFIX = "talosmith"
FILE_POOLS = ("dir", "fs", "netfs")
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


@dataclass(frozen=True, slots=True)
class Volume:
    name: str
    capacity: int  # bytes
    format: str = "raw"
    backing: str = ""  # path of what lies below it …
    backing_format: str = ""  # … and how that is written
    path: str = ""  # on the host, as libvirt tells it


def render_volume(volume: Volume) -> str:
    tree = root("volume")
    child(tree, "name", volume.name)
    child(tree, "capacity", volume.capacity, unit="bytes")
    if volume.format == "raw":
        child(tree, "allocation", 0, unit="bytes")
    target = child(tree, "target")
    if volume.path:
        child(target, "path", volume.path)
    child(target, "format", type=volume.format)
    if volume.backing:
        backing = child(tree, "backingStore")
        child(backing, "path", volume.backing)
        child(backing, "format", type=volume.backing_format or "raw")
    return text_of(tree)


def last_written(text: str) -> tuple[int, str]:
    """What changes when something is written to a volume."""
    tree = parse(text)
    return size(tree, "allocation"), tree.findtext("target/timestamps/mtime", "")


def read_volume(text: str) -> Volume:
    tree = parse(text)
    backing = tree.findtext("backingStore/path", "")
    return Volume(
        name=tree.findtext("name", ""),
        capacity=size(tree, "capacity"),
        format=attribute(tree, "target/format", "type") or "raw",
        backing=backing,
        backing_format=attribute(tree, "backingStore/format", "type") if backing else "",
        path=tree.findtext("target/path", ""),
    )


@dataclass(frozen=True, slots=True)
class Pool:
    name: str
    type: str
    path: str
    available: int = 0  # bytes
    uuid: str = ""


def read_pool(text: str) -> Pool:
    tree = parse(text)
    path, free = tree.findtext("target/path", ""), size(tree, "available")
    return Pool(tree.findtext("name", ""), tree.get("type", ""), path, free, tree.findtext("uuid", ""))


def render_pool(pool: Pool) -> str:
    tree = root("pool", type=pool.type)
    child(tree, "name", pool.name)
    child(tree, "uuid", pool.uuid)
    child(child(tree, "target"), "path", pool.path)
    return text_of(tree)


@dataclass(frozen=True, slots=True)
class Names:
    """Of the volumes of one making of one machine."""

    owner: Owner
    node: str
    uuid: str

    @property
    def prefix(self) -> str:
        return f"{PREFIX}-{self.owner.id}-{self.node}-{self.uuid}-"

    def disk(self, number: int) -> str:
        return f"{self.prefix}disk{number}.qcow2"

    def seed(self, digest: str) -> str:
        return f"{self.prefix}seed-{digest[:16]}.iso"

    @property
    def console(self) -> str:
        return f"{self.prefix}console.log"


def pool_uuid(owner: Owner, name: str) -> str:
    """A pool has no room for metadata, so its uuid is its label. It is told also while the pool is off."""
    return str(uuids.uuid5(uuids.NAMESPACE_URL, f"{PREFIX}/{owner.cluster}/{owner.id}/{name}"))


def claim_name(owner: Owner, digest: str) -> str:
    """An empty volume: this cluster uses the image. An image that another cluster has claimed is never deleted."""
    return f"{PREFIX}-{owner.id}-claim-{digest[:32]}"


def claimed(name: str) -> tuple[str, str]:
    """The id of the cluster and the digest in the name of a claim; empty if it is none."""
    match = re.fullmatch(rf"{PREFIX}-([^-]+)-claim-([0-9a-f]{{32}})", name)
    return (match[1], match[2]) if match else ("", "")


def image_name(digest: str, file_format: str) -> str:
    return f"{PREFIX}-image-{digest[:32]}.{file_format}"


def is_image(name: str, digest: str = "") -> bool:
    """Any, or the one with this digest."""
    return name.startswith(f"{PREFIX}-image-{digest[:32]}")


def uuid_in(owner: Owner, name: str) -> str:
    """Of the machine whose volume this is; empty if it is none of this cluster's."""
    match = re.fullmatch(rf"{PREFIX}-{re.escape(owner.id)}-.+-({_UUID})-[^/]+", name)
    return match[1] if match else ""


def listed(pool: Any) -> list[Volume]:
    """What libvirt has in the pool; without those that vanish meanwhile."""
    described = (found(one.XMLDesc) for one in pool.listAllVolumes())
    return [read_volume(text) for text in described if text]
