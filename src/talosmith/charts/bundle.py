"""A bundle for an air-gapped site: chart archives, charts.lock and a list of images, in one tar file.

The same charts give the same bytes. A bundle is read with distrust: it may have come on any medium.
"""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

from talosmith.charts.content import ChartContent
from talosmith.charts.lock import NAME, Lock
from talosmith.errors import Permanent
from talosmith.files import replace_file
from talosmith.helm import archive
from talosmith.helm.store import Store, digest_of

IMAGES = "images.txt"
_CHARTS = "charts/"
_MOST_CHARTS = 500
_LARGEST_TEXT = 4 << 20
_LARGEST = 1 << 30


def write_bundle(path: Path, contents: Mapping[str, ChartContent], images: Sequence[str], lock: Lock) -> None:
    """Write a bundle; compressed if its name ends in .gz or .tgz. Charts of local paths are not part of it."""
    by_digest = {one.digest: one.archive for one in contents.values() if not one.pin.is_local}
    missing = sorted(addon for addon, one in lock.charts.items() if one.digest not in by_digest)
    if missing:
        raise Permanent(
            f"charts.lock has {', '.join(missing)}, which the bundle would lack", hint="resolve them first"
        )
    files = {NAME: lock.text().encode(), IMAGES: "".join(f"{image}\n" for image in sorted(set(images))).encode()}
    files |= {_file(digest): content for digest, content in sorted(by_digest.items())}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as target:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    data = out.getvalue()
    replace_file(path, gzip.compress(data, mtime=0) if path.name.endswith((".gz", ".tgz")) else data)
    path.chmod(0o644)


def read_bundle(path: Path, store: Store) -> Lock:
    """Put the archives of a bundle into the store; its lock. Nothing is kept of a bundle that is not whole."""
    try:
        with path.open("rb") as file:
            found = _unpacked(file, path)
    except OSError as problem:
        raise Permanent(f"{path} cannot be read: {problem.strerror or problem}") from None
    except (tarfile.TarError, zlib.error, EOFError) as problem:
        raise Permanent(f"{path} is no bundle of charts: {problem}") from None
    if NAME not in found:
        raise Permanent(f"{path} is no bundle of charts: it has no {NAME}")
    lock = Lock.parse(found[NAME], file=f"{path}:{NAME}")
    for addon, one in lock.charts.items():
        content = found.get(_file(one.digest))
        if content is None:
            raise Permanent(f"{path} lacks the archive of {addon} ({one.digest})", hint="make the bundle again")
        archive.unpack(content, where=f"{path}: chart of {addon}")
    for name, content in found.items():
        if name.startswith(_CHARTS):
            store.put(content)
    return lock


def _unpacked(file: BinaryIO, path: Path) -> dict[str, bytes]:
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    plain = gzip.GzipFile(fileobj=file) if packed else file
    found: dict[str, bytes] = {}
    total = 0
    with tarfile.open(fileobj=plain, mode="r|") as source:
        for member in source:
            total += member.size
            _check(member, found, total, path)
            content = source.extractfile(member)
            found[member.name] = content.read() if content else b""
            if member.name.startswith(_CHARTS) and _file(digest_of(found[member.name])) != member.name:
                found_digest = digest_of(found[member.name])
                raise Permanent(
                    f"{path}: {member.name} has the digest {found_digest}",
                    hint="it was damaged: copy the bundle again",
                )
    return found


def _check(member: tarfile.TarInfo, found: Mapping[str, bytes], total: int, path: Path) -> None:
    is_chart = member.name.startswith(_CHARTS) and member.name.count("/") == 1
    if not member.isreg() or not (is_chart or member.name in (NAME, IMAGES)) or ".." in member.name:
        raise Permanent(f"{path}: {member.name!r} has no place in a bundle of charts")
    if member.name in found:
        raise Permanent(f"{path} has {member.name} twice")
    if member.size > (archive.MAX_ARCHIVE if is_chart else _LARGEST_TEXT) or total > _LARGEST:
        raise Permanent(f"{path}: {member.name} has {member.size} bytes, which is too big")
    if len(found) > _MOST_CHARTS:
        raise Permanent(f"{path} has more than {_MOST_CHARTS} charts")


def _file(digest: str) -> str:
    return f"{_CHARTS}{digest.replace(':', '-')}.tgz"
