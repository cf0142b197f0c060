"""The disk image that machines start from: fetched once, proven, unpacked, and kept by the hash of what is in it.

What is in the cache is whole: files get their names only after the last byte is written and the checksum was right.
"""

from __future__ import annotations

import fcntl
import gzip
import hashlib
import json
import lzma
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any, cast

import httpx2

from talosmith.errors import Permanent, Temporary
from talosmith.providers.libvirt.connection import chunks, stop_if_cancelled
from talosmith.providers.telling import counting

_CHUNK = 1024 * 1024
_TIMEOUT = 30.0  # seconds without a byte
_QCOW2 = b"QFI\xfb"
_MAGIC = {b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst", b"\x1f\x8b": "gz"}
_HEADER = 512


@dataclass(frozen=True, slots=True)
class Source:
    """Where an image comes from. `schematic` is sent to the factory before it is asked for the image."""

    place: str  # a URL, or a path on this computer
    checksum: str = ""  # `sha256:…` of the file as it is served; empty: nobody told
    schematic: str = ""
    schematic_url: str = ""

    @property
    def is_url(self) -> bool:
        return self.place.startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class Image:
    path: str
    digest: str  # SHA-256 of what is in it, unpacked
    format: str  # raw or qcow2
    length: int  # bytes of the file
    capacity: int  # bytes of the disk that it is


def image_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "talosmith" / "images"


def obtain(source: Source, folder: Path | None = None, *, transport: Any = None) -> Image:
    """From the cache, or from where it comes. In a thread: it may take minutes."""
    folder = folder or image_cache()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(folder / f"{_key(source)}.lock"):
        if known := _remembered(folder, source):
            return known
        with tempfile.TemporaryDirectory(prefix="part-", dir=folder) as scratch:
            fetched = _fetched(source, Path(scratch), transport)
            image = _kept(_unpacked(fetched, Path(scratch)), folder)
        _remember(folder, source, image)
        return image


def cached(source: Source, folder: Path | None = None) -> bool:
    """Whether it is here already, whole and proven."""
    return _remembered(folder or image_cache(), source) is not None


def prove(source: Source, file: Path | None = None) -> Path:
    """The file, if it is the one that the inventory means. `file`: where it was fetched to."""
    target = file or Path(source.place).expanduser()
    if not target.is_file():
        raise Permanent(f"there is no image {target}", hint="set `libvirt.image` to a file or URL that is there")
    if source.checksum:
        kind, _, wanted = source.checksum.partition(":")
        found = _digest(target, kind)
        if found != wanted:
            raise Permanent(
                f"the image {source.place} is not the one that the inventory means: its {kind} is {found}",
                hint="if that is right, write it to `libvirt.image_checksum`; it is of the file as it is served",
            )
    return target


def _fetched(source: Source, scratch: Path, transport: Any) -> Path:
    if not source.is_url:
        return prove(source)
    target = scratch / "fetched"
    _download(source, target, transport)
    return prove(source, target)


def _download(source: Source, target: Path, transport: Any) -> None:
    try:
        with httpx2.Client(timeout=_TIMEOUT, follow_redirects=True, transport=transport) as client:
            if source.schematic:
                client.post(source.schematic_url, content=source.schematic.encode()).raise_for_status()
            with client.stream("GET", source.place) as answer, target.open("wb") as file:
                answer.raise_for_status()
                _must_be_provable(source, answer)
                for part in counting(answer.iter_bytes(_CHUNK), "fetching the image", _length(answer)):
                    stop_if_cancelled()
                    file.write(part)
    except httpx2.HTTPStatusError as refused:
        status = refused.response.status_code
        said = f"{refused.request.url} answers {status}"
        if status >= 500 or status == 429:
            raise Temporary(said, hint="the server has a problem of its own", retry_after=10.0) from None
        raise Permanent(said, hint="check `libvirt.image`, `talos_version` and `image` in the inventory") from None
    except httpx2.HTTPError as problem:
        raise Temporary(
            f"the image {source.place} cannot be fetched: {problem}",
            hint="without a way to the internet set `libvirt.image` to a file on this computer",
            retry_after=5.0,
        ) from None


def _must_be_provable(source: Source, answer: httpx2.Response) -> None:
    """Either who serves it is proven, or what is served."""
    if answer.url.scheme != "https" and not source.checksum:
        raise Permanent(
            f"nothing proves that {answer.url} is the right image: plain http can be changed on its way",
            hint="set `libvirt.image` to a place with https, or `libvirt.image_checksum`",
        )


def _length(answer: httpx2.Response) -> int:
    told = answer.headers.get("content-length", "")
    return int(told) if told.isascii() and told.isdigit() else 0


def _unpacked(packed: Path, scratch: Path) -> Path:
    with packed.open("rb") as file:
        start = file.read(_HEADER)
    kind = next((name for magic, name in _MAGIC.items() if start.startswith(magic)), "")
    if not kind:
        return packed
    target = scratch / "unpacked"
    try:
        with _opener(kind)(packed) as reading, target.open("wb") as writing:
            for part in counting(chunks(reading.read, _CHUNK), "unpacking the image"):
                stop_if_cancelled()
                if part.count(0) == len(part):
                    writing.seek(len(part), os.SEEK_CUR)
                else:
                    writing.write(part)
            writing.truncate()
    except (lzma.LZMAError, EOFError, OSError, ValueError) as broken:
        raise Permanent(f"the image {packed.name} cannot be unpacked: {broken}", hint="fetch it again") from None
    return target


def _opener(kind: str) -> Callable[[Path], IO[bytes]]:
    if kind == "xz":
        return lambda path: cast(IO[bytes], lzma.open(path))
    if kind == "gz":
        return lambda path: cast(IO[bytes], gzip.open(path))
    try:
        import zstandard
    except ImportError:
        raise Permanent(
            "the image is packed with zstd, and there is nothing here to unpack it",
            hint="pip install 'talosmith[libvirt]', or unpack it yourself and set `libvirt.image` to the file",
        ) from None
    return lambda path: cast(IO[bytes], zstandard.open(path, "rb"))


def _kept(file: Path, folder: Path) -> Image:
    with file.open("rb") as reading:
        header = reading.read(_HEADER)
    if not header.strip(b"\0"):
        raise Permanent(
            f"{file.name} is no disk image: its first sector is empty", hint="set `libvirt.image` to one that boots"
        )
    is_qcow2 = header.startswith(_QCOW2)
    length = file.stat().st_size
    digest = _digest(file, "sha256")
    path = file
    if file.parent != folder and file.is_relative_to(folder):  # made here; a user's own file stays where it is
        path = folder / f"{digest}.img"
        file.rename(path)
    return Image(
        path=str(path),
        digest=digest,
        format="qcow2" if is_qcow2 else "raw",
        length=length,
        capacity=int.from_bytes(header[24:32], "big") if is_qcow2 else length,
    )


def _remembered(folder: Path, source: Source) -> Image | None:
    try:
        image = Image(**json.loads((folder / f"{_key(source)}.json").read_text()))
        there = Path(image.path).stat().st_size == image.length
    except (OSError, ValueError, TypeError):
        return None
    return image if there else None


def _remember(folder: Path, source: Source, image: Image) -> None:
    note = folder / f"{_key(source)}.json"
    new = note.with_suffix(".new")
    new.write_text(json.dumps(asdict(image)))
    new.replace(note)


def _key(source: Source) -> str:
    """A file of the user's is another one when it was changed."""
    parts = [source.place, source.checksum]
    if not source.is_url:
        try:
            state = Path(source.place).expanduser().stat()
            parts += [str(state.st_size), str(state.st_mtime_ns)]
        except OSError:
            parts += ["missing"]
    return "source-" + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def _digest(file: Path, kind: str) -> str:
    with file.open("rb") as reading:
        return hashlib.file_digest(reading, kind).hexdigest()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Two that want the same image fetch it once."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
