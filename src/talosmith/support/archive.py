"""The files of a support bundle while they are collected, and the zip that they become."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from talosmith.errors import Permanent
from talosmith.files.secret import create_secret
from talosmith.report.data import as_json, envelope
from talosmith.support.scrub import Scrubber

LARGEST = 4 * 1024**2  # bytes of one file; of logs the end is kept
MANIFEST = "manifest.json"
_ODD = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Missing:
    """A file that could not be collected, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class Files:
    """What was collected, in the clear, and what could not be. Nothing of it is on disk before it is scrubbed."""

    content: dict[str, bytes] = field(default_factory=dict)
    missing: list[Missing] = field(default_factory=list)

    def add(self, path: str, text: str) -> None:
        data = text.encode(errors="replace")
        if len(data) > LARGEST:
            data = f"… {len(data) - LARGEST} bytes before this line were left out\n".encode() + data[-LARGEST:]
        self.content[path] = data

    def add_json(self, path: str, value: Any) -> None:
        self.add(path, as_json(value) + "\n")

    def miss(self, path: str, reason: str) -> None:
        self.missing.append(Missing(path, reason))


@dataclass(frozen=True, slots=True)
class SupportBundle:
    """The zip on disk; `masked` counts the places where a secret was replaced."""

    path: Path
    size: int
    files: tuple[str, ...]
    missing: tuple[Missing, ...]
    masked: int

    def as_data(self) -> dict[str, Any]:
        return {
            "file": str(self.path),
            "bytes": self.size,
            "files": list(self.files),
            "missing": [{"file": one.path, "reason": one.reason} for one in self.missing],
            "masked": self.masked,
        }


def file_name(name: str) -> str:
    """A name that a node reports, as part of a path: no separators, nothing that leads elsewhere."""
    return _ODD.sub("_", name).lstrip(".") or "_"


def write(path: Path, files: Files, scrubber: Scrubber, about: Mapping[str, Any]) -> SupportBundle:
    """Scrub every file, prove that no secret is left, and write the zip with mode 0600."""
    content, counts = {}, {}
    for name in sorted(files.content):
        content[name], counts[name] = scrubber.scrub(files.content[name])
    missing = tuple(sorted(files.missing, key=lambda one: one.path))
    manifest = envelope(
        "SupportManifest",
        {
            **about,
            "files": [{"file": name, "bytes": len(data), "masked": counts[name]} for name, data in content.items()],
            "missing": [{"file": one.path, "reason": one.reason} for one in missing],
        },
    )
    content[MANIFEST] = scrubber.scrub(json.dumps(manifest, indent=2).encode())[0]
    for name, data in content.items():
        if scrubber.leaks(data) or scrubber.leaks(name.encode()):
            raise Permanent(
                f"{name} still holds a secret after scrubbing: no support bundle was written",
                hint="this is a defect of talosmith; report it with the file's name only",
            )
    data = _zipped(content)
    create_secret(path, data)
    return SupportBundle(path, len(data), tuple(content), missing, sum(counts.values()))


def _zipped(content: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    now = datetime.now(UTC).timetuple()[:6]
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name, now)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            archive.writestr(entry, data)
    return buffer.getvalue()
