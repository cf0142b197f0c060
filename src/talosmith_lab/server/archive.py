"""Files the way Talos' copies travel: a compressed tar."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping


def packed(files: Mapping[str, bytes]) -> bytes:
    made = io.BytesIO()
    with gzip.GzipFile(fileobj=made, mode="wb", mtime=0) as zipped, tarfile.open(fileobj=zipped, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o600
            tar.addfile(entry, io.BytesIO(content))
    return made.getvalue()
