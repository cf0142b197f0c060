"""Images as the inventory names them: a file here, a URL, or what the image factory has for a node."""

from __future__ import annotations

import hashlib
from pathlib import Path

from talosmith.desired.images import ImageRequest, Schematic
from talosmith.providers.images.fetching import Source


def given_source(place: str, checksum: str, setting: str, *, iso: bool = False) -> Source:
    """A file or URL of the user's. Its label differs when the file does."""
    source = Source(place, checksum, setting=setting, iso=iso)
    identity = [place, checksum]
    if not source.is_url:
        try:
            state = Path(place).expanduser().stat()
            identity += [str(state.st_size), str(state.st_mtime_ns)]
        except OSError:
            pass  # the look at the file says what is wrong
    return Source(place, checksum, label=_label(Path(place).name, *identity), setting=setting, iso=iso)


def factory_source(request: ImageRequest, checksum: str, setting: str, *, iso: bool = False) -> Source:
    place = request.url(request.iso if iso else request.disk_image)
    schematic = "" if request.schematic else Schematic(request.extensions, request.kernel_args).to_text()
    label = _label(f"{place.split('/')[-1].partition('.')[0]}-{request.version}", place)
    url = f"https://{request.factory}/schematics"
    return Source(place, checksum, schematic, url, label, setting, iso)


def _label(name: str, *identity: str) -> str:
    return f"{name}-{hashlib.sha256(chr(10).join(identity).encode()).hexdigest()[:8]}"
