"""Reads the files of manifests, and remembers them: their digest says whether anything has changed.

A kustomization may name folders beside its own (`../base`), so the boundary is the Git work tree around the
manifests; without Git, the folder that the caller names (the inventory's), or else the folder above the manifests.
Links are followed, and must not lead out of it either.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from talosmith.files.git import work_tree
from talosmith.files.regular import FileTrouble, read_content
from talosmith.kustomize.errors import ManifestError

MAX_BYTES = 5 << 20
_ENCRYPTED = b"ENC[AES256_GCM,data:"


class Sources:
    """The files below a boundary, each of them read once."""

    def __init__(self, start: Path, root: Path | None = None) -> None:
        self.start = Path(os.path.realpath(start))
        self.boundary = _boundary(self.start, root)
        self._read: dict[Path, bytes] = {}

    def locate(self, path: Path, *, named_in: Path | None = None, below: Path | None = None) -> Path:
        """The path without links; raises if it leads out of the boundary, or out of `below`."""
        try:
            real = Path(os.path.realpath(path))
        except (OSError, ValueError) as wrong:
            raise ManifestError(f"not a path ({wrong})", file=named_in) from None
        for limit in (below, self.boundary):
            if limit is not None and not real.is_relative_to(limit):
                raise ManifestError(
                    f"{path} leads out of {limit}",
                    file=named_in,
                    hint=f"copy what is needed below {limit}",
                )
        return real

    def read(self, path: Path, *, named_in: Path | None = None, below: Path | None = None) -> bytes:
        """The content of a regular file within the boundary."""
        real = self.locate(path, named_in=named_in, below=below)
        if real in self._read:
            return self._read[real]
        try:
            content = read_content(real, MAX_BYTES + 1)
        except FileTrouble as trouble:
            raise ManifestError(f"{path} {trouble}" if named_in else str(trouble), file=named_in or path) from None
        if len(content) > MAX_BYTES:
            raise ManifestError(f"larger than {MAX_BYTES >> 20} MB", file=path, hint="split the file")
        if _ENCRYPTED in content and b"sops" in content:
            raise ManifestError(
                "encrypted by SOPS, and manifests are not decrypted",
                file=path,
                hint="install a chart, whose values may name secrets by `sops:`, or leave this file to Flux",
            )
        self._read[real] = content
        return content

    def text(self, path: Path, *, named_in: Path | None = None, below: Path | None = None) -> str:
        content = self.read(path, named_in=named_in, below=below)
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError as wrong:
            line = content[: wrong.start].count(b"\n") + 1
            raise ManifestError("not UTF-8", file=path, line=line, hint="save the file as UTF-8") from None

    def digest(self, *more: bytes) -> str:
        """SHA-256 over the names and contents of all files read, and of what else decides."""
        found = hashlib.sha256()
        for path, content in sorted(self._read.items()):
            for part in (os.fsencode(os.path.relpath(path, self.start)), content):
                found.update(b"%d:" % len(part) + part)
        for part in more:
            found.update(b"%d:" % len(part) + part)
        return found.hexdigest()


def _boundary(start: Path, root: Path | None) -> Path:
    tree = work_tree(start / "file")
    if tree is not None:
        return tree
    root = Path(os.path.realpath(root)) if root is not None else None
    return root if root is not None and start.is_relative_to(root) else start.parent
