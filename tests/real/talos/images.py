"""Container images made of the peers' binaries: one layer each, in a folder that the registry serves."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import shutil
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.real.talos.releases import RELEASES, Release
from tools.peers import find

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CONFIG = "application/vnd.oci.image.config.v1+json"
_LAYER = "application/vnd.oci.image.layer.v1.tar"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Image:
    names: tuple[str, ...]  # repository:tag, as the nodes ask for it, without the registry's host
    programs: dict[str, str]  # path in the image -> peer
    texts: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    entry: tuple[str, ...] = ()


PAUSE = Image(("pause:3.10.1", "pause:3.10.2"), {"pause": "pause"}, entry=("/pause",))
IDLE_KUBELET = Image(
    tuple(f"siderolabs/kubelet:{release.kubernetes}" for release in RELEASES.values()),
    {"usr/local/bin/kubelet": "idle-kubelet"},
)


def etcd(release: Release) -> Image:
    return Image((f"etcd:{release.etcd}",), {"usr/local/bin/etcd": release.etcd_program})


def kubernetes(release: Release) -> Image:
    servers = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
    return Image(
        (f"siderolabs/kubelet:{release.kubernetes}", *(f"{name}:{release.kubernetes}" for name in servers)),
        {"usr/local/bin/kubelet": release.kubelet, "bin/busybox": "busybox"},
        texts={"etc/passwd": "root:x:0:0:root:/root:/bin/sh\n", "etc/group": "root:x:0:\n"},
        links={
            **{f"usr/local/bin/{name}": "kubelet" for name in servers},
            "bin/mount": "busybox",
            "bin/umount": "busybox",
        },
    )


class Store:
    """Blobs by digest, and tags that point at manifests."""

    def __init__(self, folder: Path) -> None:
        self._blobs, self._tags = folder / "blobs", folder / "tags"
        self._blobs.mkdir(parents=True, exist_ok=True)
        self._tags.mkdir(exist_ok=True)

    def add(self, image: Image) -> None:
        layer = self._add_layer(image)
        config = self._add_text(
            {
                "architecture": _ARCHITECTURES.get(platform.machine(), platform.machine()),
                "os": "linux",
                "config": {"Entrypoint": list(image.entry), "Env": ["PATH=/usr/local/bin:/usr/bin:/bin"]},
                "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
            }
        )
        manifest = self._add_text(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST,
                "config": {"mediaType": _CONFIG, **config},
                "layers": [{"mediaType": _LAYER, **layer}],
            }
        )
        for name in image.names:
            self._tag(name).write_text(manifest["digest"])

    def blob(self, digest: str) -> Path | None:
        path = self._blobs / Path(digest.removeprefix("sha256:")).name
        return path if path.is_file() else None

    def manifest(self, repository: str, reference: str) -> tuple[str, Path] | None:
        """Digest and file of a manifest that is asked for by tag or by digest."""
        if not reference.startswith("sha256:"):
            tag = self._tag(f"{repository}:{reference}")
            reference = tag.read_text() if tag.is_file() else ""
        found = self.blob(reference) if reference else None
        return (reference, found) if found else None

    def _tag(self, name: str) -> Path:
        return self._tags / name.replace("/", "!")

    def _add_text(self, document: dict[str, Any]) -> dict[str, Any]:
        data = json.dumps(document).encode()
        digest = hashlib.sha256(data).hexdigest()
        (self._blobs / digest).write_bytes(data)
        return {"digest": f"sha256:{digest}", "size": len(data)}

    def _add_layer(self, image: Image) -> dict[str, Any]:
        with tempfile.NamedTemporaryFile(dir=self._blobs, delete=False) as file:
            with tarfile.open(fileobj=file, mode="w") as layer:
                _fill(layer, image)
            size = file.tell()
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        shutil.move(file.name, self._blobs / digest)
        return {"digest": f"sha256:{digest}", "size": size}


def _fill(layer: tarfile.TarFile, image: Image) -> None:
    for folder in ("tmp", "run", "var", "var/lib", "etc"):
        _add(layer, folder, tarfile.DIRTYPE, mode=0o1777 if folder == "tmp" else 0o755)
    _add(layer, "var/run", tarfile.SYMTYPE, target="/run")
    for path, peer in image.programs.items():
        with find(peer).open("rb") as program:
            entry = layer.gettarinfo(arcname=path, fileobj=program)
            entry.mode, entry.mtime, entry.uid, entry.gid = 0o755, 0, 0, 0
            layer.addfile(entry, program)
    for path, target in image.links.items():
        _add(layer, path, tarfile.SYMTYPE, target=target)
    for path, text in image.texts.items():
        _add(layer, path, tarfile.REGTYPE, data=text.encode(), mode=0o644)


def _add(
    layer: tarfile.TarFile, path: str, kind: bytes, *, mode: int = 0o755, target: str = "", data: bytes = b""
) -> None:
    entry = tarfile.TarInfo(path)
    entry.type, entry.mode, entry.linkname, entry.size = kind, mode, target, len(data)
    layer.addfile(entry, io.BytesIO(data))
