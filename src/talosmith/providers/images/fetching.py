"""The image that machines start from: fetched once, proven, unpacked, and kept by the hash of what is in it.

What is in the cache is whole: files get their names only after the last byte is written and the checksum was right.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from talosmith import files
from talosmith.errors import Permanent, Temporary
from talosmith.providers.images.cache import Image as Image
from talosmith.providers.images.cache import ImageCache, digest_of
from talosmith.providers.images.unpacking import Room, unpack
from talosmith.providers.progress import counting
from talosmith.tasks import stop_if_cancelled

_CHUNK = 1024 * 1024
_TIMEOUT = 30.0  # seconds without a byte
_ISO_AT, _ISO = 0x8001, b"CD001"  # the first volume descriptor


@dataclass(frozen=True, slots=True)
class Source:
    """Where an image comes from. `schematic` is sent to the factory before it is asked for the image."""

    place: str  # a URL, or a path on this computer
    checksum: str = ""  # `sha256:…` of the file as it is served; empty: not known
    schematic: str = ""
    schematic_url: str = ""
    label: str = ""
    setting: str = "libvirt.image"  # the inventory's key that names another image
    iso: bool = False  # else a disk image

    @property
    def name(self) -> str:
        """As plans call it."""
        return self.label or Path(self.place).name

    @property
    def is_url(self) -> bool:
        return self.place.startswith(("http://", "https://"))


def image_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "talosmith" / "images"


def obtain(source: Source, folder: Path | None = None, *, transport: Any = None) -> Image:
    """From the cache, or from where it comes. In a thread: it may take minutes."""
    folder = folder or image_cache()
    files.make_private_folder(folder)
    cache, key = ImageCache(folder), _key(source)
    with _locked(folder / f"{key}.lock"):
        if known := cache.lookup(key, renew=True):
            return known
        with tempfile.TemporaryDirectory(prefix="part-", dir=folder) as scratch:
            fetched, unpacked = _fetched(source, Path(scratch), transport), Path(scratch) / "unpacked"
            file = unpacked if unpack(fetched, unpacked) else fetched
            return cache.keep(key, file, iso=source.iso)


def peek(source: Source, folder: Path | None = None) -> Image | None:
    """The image if it is here already, whole and proven."""
    return ImageCache(folder or image_cache()).lookup(_key(source))


def prove(source: Source, file: Path | None = None) -> Path:
    """The file, if it is the one that the inventory means. `file`: where it was fetched to."""
    target = file or Path(source.place).expanduser()
    if not target.is_file():
        raise Permanent(f"there is no image {target}", hint=f"set `{source.setting}` to a file or URL that is there")
    if source.iso:
        with target.open("rb") as reading:
            reading.seek(_ISO_AT)
            if reading.read(len(_ISO)) != _ISO:
                hint = f"set `{source.setting}` to an ISO that boots Talos"
                raise Permanent(f"{source.place} is not an ISO", hint=hint)
    if source.checksum:
        kind, _, wanted = source.checksum.partition(":")
        found = digest_of(target, kind)
        if found != wanted:
            raise Permanent(
                f"the image {source.place} is not the one that the inventory means: its {kind} is {found}",
                hint=f"if that is right, write it to `{_checksum_key(source)}`; it is of the file as it is served",
            )
    return target


def _fetched(source: Source, scratch: Path, transport: Any) -> Path:
    if not source.is_url:
        return prove(source)
    target = scratch / "fetched"
    _download(source, target, transport)
    return prove(source, target)


def _download(source: Source, target: Path, transport: Any) -> None:
    failed = f"image {source.place} cannot be downloaded"
    try:
        with httpx2.Client(timeout=_TIMEOUT, follow_redirects=True, transport=transport) as client:
            if source.schematic:
                client.post(source.schematic_url, content=source.schematic.encode()).raise_for_status()
            with client.stream("GET", source.place) as answer, target.open("wb") as file:
                answer.raise_for_status()
                _must_be_provable(source, answer)
                Room(target.parent, failed).check(_length(answer), _length(answer))
                room = Room(target.parent, failed)
                for part in counting(answer.iter_bytes(_CHUNK), "fetching the image", _length(answer)):
                    stop_if_cancelled()
                    room.check(len(part), len(part))
                    file.write(part)
    except httpx2.HTTPStatusError as refused:
        status = refused.response.status_code
        problem = f"{refused.request.url} answers {status}"
        if status >= 500 or status == 429:
            raise Temporary(problem, hint="the server has a problem of its own", retry_after=10.0) from None
        hint = f"check `{source.setting}`, `talos_version` and `image` in the inventory"
        raise Permanent(problem, hint=hint) from None
    except httpx2.HTTPError as problem:
        raise Temporary(
            f"the image {source.place} cannot be fetched: {problem}",
            hint=f"without a way to the internet set `{source.setting}` to a file on this computer",
            retry_after=5.0,
        ) from None


def _must_be_provable(source: Source, answer: httpx2.Response) -> None:
    """Either who serves it is proven, or what is served."""
    if answer.url.scheme != "https" and not source.checksum:
        raise Permanent(
            f"nothing proves that {answer.url} is the right image: plain http can be changed on its way",
            hint=f"set `{source.setting}` to a place with https, or `{_checksum_key(source)}`",
        )


def _checksum_key(source: Source) -> str:
    return f"{source.setting.partition('.')[0]}.image_checksum"


def _length(answer: httpx2.Response) -> int:
    length = answer.headers.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() else 0


def _key(source: Source) -> str:
    """A file of the user's is another one when it was changed."""
    parts = [source.place, source.checksum, *(["iso"] if source.iso else [])]
    if not source.is_url:
        try:
            state = Path(source.place).expanduser().stat()
            parts += [str(state.st_size), str(state.st_mtime_ns)]
        except OSError:
            parts += ["missing"]
    return "source-" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two that want the same image fetch it once."""
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as trouble:
        raise Permanent(
            f"image cache cannot be locked: {path}: {trouble.strerror}",
            hint="check the permissions of the directory; remove the file if it is a symbolic link",
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
