"""A folder of content that is named by its digest: charts that were fetched once, and what was rendered from them.

What is read back is checked, so a damaged file is the same as none. Files appear whole or not at all.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from talosmith.helm.errors import ChartError

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def digest_of(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def verified(content: bytes, digest: str, *, where: str) -> bytes:
    """The content, if it is what the digest says."""
    if not _DIGEST.fullmatch(digest):
        raise ChartError(f"{where}: {digest!r} is no digest that can be checked (sha256:…)")
    if digest_of(content) != digest:
        raise ChartError(
            f"{where} has the digest {digest_of(content)}, but {digest} was promised",
            hint="it was changed on the way or in the repository: do not use it before you know why",
        )
    return content


def default_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "talosmith" / "charts"


@dataclass(frozen=True)
class Store:
    folder: Path

    def get(self, digest: str) -> bytes | None:
        """The content of that digest, if it is there and unharmed."""
        try:
            content = self._file(digest).read_bytes()
        except OSError:
            return None
        return content if digest_of(content) == digest else None

    def put(self, content: bytes) -> str:
        digest = digest_of(content)
        self.write(self._file(digest), content)
        return digest

    def rendered(self, key: str) -> Path:
        """Where the result of a rendering is kept."""
        return self.folder / "rendered" / key

    def write(self, path: Path, content: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")  # readable by its owner alone
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)

    def _file(self, digest: str) -> Path:
        return self.folder / "blobs" / digest.replace(":", "-")
