"""The volumes on storages: names, sizes, contents.

Contents are never copied: a disk refers to the volume of an import or a template.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from .model import Storage, Volume

_DIRECTORIES = {"iso": "template/iso", "vztmpl": "template/cache", "backup": "dump", "snippets": "snippets"}
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


def size_text(size: int) -> str:
    """The largest unit that leaves a whole number: 25M, 528K."""
    for unit in ("T", "G", "M", "K"):
        if size and size % _UNITS[unit] == 0 and size >= _UNITS[unit]:
            count = size // _UNITS[unit]
            return f"{count}{unit}"
    return str(size)


def size_of(text: str) -> int:
    unit = text[-1:] if text[-1:] in _UNITS else ""
    return int(float(text[: len(text) - len(unit)]) * _UNITS[unit])


def is_qcow2(head: bytes) -> bool:
    return head[:4] == b"QFI\xfb"


def virtual_size(head: bytes, size: int) -> int:
    """Of the disk in an image file."""
    return int(struct.unpack(">Q", head[24:32])[0]) if is_qcow2(head) and len(head) >= 32 else size


def file_path(storage: Storage, name: str) -> str:
    """Of a volume in the file system of the node, for messages."""
    if not storage.keeps_files:
        return f"/dev/pve/{name.rpartition('/')[2]}"
    kind, _, rest = name.partition("/")
    if kind.isdigit():
        return f"{storage.path}/images/{'/'.join(name.split('/')[-2:])}"  # after the base of a linked clone
    return f"{storage.path}/{_DIRECTORIES.get(kind, kind)}/{rest}"


def head_of(volume: Volume, length: int = 512) -> bytes:
    if volume.data is not None:
        return volume.data[:length]
    if volume.path is not None:
        with volume.path.open("rb") as file:
            return file.read(length)
    return b""


class Volumes(Mapping[str, Volume]):
    """By volume id. Of volumes with the same id on several nodes the first; `find` takes a node, too."""

    def __init__(self) -> None:
        self._all: list[Volume] = []

    def __getitem__(self, volid: str) -> Volume:
        for volume in self._all:
            if volume.volid == volid:
                return volume
        raise KeyError(volid)

    def __iter__(self) -> Iterator[str]:
        return iter([volume.volid for volume in self._all])

    def __len__(self) -> int:
        return len(self._all)

    def find(self, volid: str, node: str) -> Volume | None:
        for volume in self._all:
            if volume.volid == volid and volume.node in ("", node):
                return volume
        return None

    def put(self, volume: Volume) -> None:
        """In the place of one of the same name."""
        old = self.find(volume.volid, volume.node)
        if old:
            self._all[self._all.index(old)] = volume
        else:
            self._all.append(volume)

    def drop(self, volume: Volume) -> None:
        self._all = [other for other in self._all if other is not volume]

    def on(self, storage: str, node: str) -> list[Volume]:
        found = [volume for volume in self._all if volume.storage == storage and volume.node in ("", node)]
        return sorted(found, key=lambda volume: volume.name)

    def of_vm(self, vmid: int, node: str | None = None) -> list[Volume]:
        return [one for one in self._all if one.vmid == vmid and (node is None or one.node in ("", node))]

    def clones_of(self, volume: Volume) -> list[Volume]:
        return [other for other in self._all if other.parent is volume]

    def disk_name(self, storage: Storage, node: str, vmid: int, format_: str, prefix: str = "vm") -> str:
        """The next free one of a VM on a storage, without the storage's name."""
        taken = {volume.name.rpartition("/")[2].partition(".")[0] for volume in self.on(storage.name, node)}
        number = 0
        while {f"vm-{vmid}-disk-{number}", f"base-{vmid}-disk-{number}"} & taken:
            number += 1
        name = f"{prefix}-{vmid}-disk-{number}"
        return f"{vmid}/{name}.{format_}" if storage.keeps_files else name
