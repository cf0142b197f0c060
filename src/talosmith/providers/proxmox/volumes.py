"""Files in the storages of Proxmox VE: seeds, images, ISOs, and the claims of clusters to images they share.

A file has no room for metadata, so its name is its label. A seed is
`talosmith-<cluster's id>-seed-<node>-<hash>.iso`, an image `talosmith-image-<label>.qcow2` or `.iso`. A claim, an ISO
of a few bytes, says that a cluster uses an image: one that another cluster has claimed is never deleted.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from talosmith.model.machines import Owner
from talosmith.providers.images import Image, Source, image_cache, obtain
from talosmith.providers.images.qcow2 import write_qcow2
from talosmith.providers.progress import report_progress
from talosmith.providers.proxmox.client import ProxmoxClient, path
from talosmith.providers.proxmox.tasks import follow
from talosmith.tasks import in_thread

_PREFIX = "talosmith"
_CLAIM = re.compile(rf"{_PREFIX}-([0-9a-f]+)-claim-(.+)\.iso")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class Volume:
    id: str  # local:iso/talos.iso
    size: int

    @property
    def name(self) -> str:
        return self.id.rpartition("/")[2]


def image_file(source: Source) -> str:
    return f"{_PREFIX}-image-{_label(source)}.{'iso' if source.iso else 'qcow2'}"


def content_of(source: Source) -> str:
    """The content type that a storage must allow for it."""
    return "iso" if source.iso else "import"


def claim_file(owner: Owner, image: str) -> str:
    return f"{_PREFIX}-{owner.id}-claim-{image}.iso"


def claimed(name: str) -> tuple[str, str]:
    """The id of the cluster and the file of the image in the name of a claim; empty if it is none."""
    found = _CLAIM.fullmatch(name)
    return (found[1], found[2]) if found else ("", "")


def seed_prefix(owner: Owner) -> str:
    return f"{_PREFIX}-{owner.id}-seed-"


def seeded_node(owner: Owner, name: str) -> str:
    """The node in the name of one of this cluster's seeds; empty if it is none."""
    found = re.fullmatch(rf"{re.escape(seed_prefix(owner))}(.+)-[0-9a-f]{{16}}\.iso", name)
    return found[1] if found else ""


def _label(source: Source) -> str:
    return _UNSAFE.sub("_", source.name)


@dataclass(slots=True)
class Volumes:
    client: ProxmoxClient
    owner: Owner
    cache: Path | None = None
    _uploading: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    _fetching: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def listed(self, host: str, storage: str, content: str) -> list[Volume]:
        found = await self.client.get(path("nodes", host, "storage", storage, "content"), content=content)
        return [Volume(str(one["volid"]), int(one.get("size") or 0)) for one in found]

    async def upload_seed(self, host: str, storage: str, node: str, iso: bytes) -> str:
        """Named by its hash: a changed seed is another file, and one that is there is not written to."""
        digest = hashlib.sha256(iso).hexdigest()
        return await self._put(host, storage, f"{seed_prefix(self.owner)}{node}-{digest[:16]}.iso", iso)

    async def delete_seeds(self, host: str, storage: str, node: str) -> bool:
        """Whether there were any."""
        listed = await self.listed(host, storage, "iso")
        seeds = [one for one in listed if seeded_node(self.owner, one.name) == node]
        for one in seeds:
            await self.delete(host, storage, one.id)
        return bool(seeds)

    async def delete(self, host: str, storage: str, volume: str) -> None:
        """Silent when it is gone: so is Proxmox."""
        where = path("nodes", host, "storage", storage, "content", volume)
        await follow(self.client, await self.client.delete(where), f"delete {volume}")

    # Images

    async def claim(self, host: str, storage: str, image: str) -> None:
        note = f"cluster {self.owner.cluster} ({self.owner.id}) uses {image}\n".encode()
        await self._put(host, storage, claim_file(self.owner, image), note)

    async def is_claimed(self, host: str, storage: str, source: Source) -> bool:
        image = image_file(source)
        return any(claimed(one.name)[1] == image for one in await self.listed(host, storage, "iso"))

    async def upload_image(self, host: str, storage: str, source: Source) -> str:
        """From the cache or where it comes from, unless the storage has it."""
        content, name = content_of(source), image_file(source)
        async with self._uploading[f"{host}/{storage}"]:
            if found := await self._there(host, storage, content, name):
                return found
            async with self._fetching:
                image = await in_thread(lambda: obtain(source, self.cache))
            return await self._send_image(host, storage, content, name, image)

    async def _send_image(self, host: str, storage: str, content: str, name: str, image: Image) -> str:
        if image.format != "raw":
            return await self._send(host, storage, content, name, Path(image.path))
        with tempfile.TemporaryDirectory(prefix="part-", dir=self.cache or image_cache()) as scratch:
            packed = Path(scratch) / name
            report_progress("writing the image as qcow2")
            await in_thread(lambda: write_qcow2(Path(image.path), packed))
            return await self._send(host, storage, content, name, packed)

    async def _put(self, host: str, storage: str, name: str, data: bytes) -> str:
        if found := await self._there(host, storage, "iso", name, len(data)):
            return found
        return await self._send(host, storage, "iso", name, data)

    async def _there(self, host: str, storage: str, content: str, name: str, size: int = 0) -> str:
        """The volume of this name, if it has this size."""
        for one in await self.listed(host, storage, content):
            if one.name == name and (one.size == size if size else one.size > 0):
                return one.id
        return ""

    async def _send(self, host: str, storage: str, content: str, name: str, file: Path | bytes) -> str:
        def digest() -> str:
            if isinstance(file, bytes):
                return hashlib.sha256(file).hexdigest()
            with file.open("rb") as reading:
                return hashlib.file_digest(reading, "sha256").hexdigest()

        checksum = await in_thread(digest)
        report_progress(f"uploading {name}")
        upid = await self.client.upload(host, storage, content, name, file, checksum)
        await follow(self.client, upid, f"upload {name} to {storage} of {host}")
        return f"{storage}:{content}/{name}"
