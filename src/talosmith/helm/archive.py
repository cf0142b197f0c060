"""Takes a chart archive (.tgz) apart, in memory and with distrust: it may come from anywhere.

Nothing is written to disk, so a path cannot escape; strange paths are refused all the same, for they have no business
in a chart. Sizes and counts are limited before anything is unpacked in full.
"""

from __future__ import annotations

import io
import tarfile
import zlib
from pathlib import PurePosixPath

from talosmith.helm.errors import ChartError

MAX_ARCHIVE = 20 << 20
MAX_FILE = 5 << 20
MAX_TOTAL = 100 << 20
MAX_FILES = 10_000
_BLOCK = 512


def unpack(data: bytes, *, where: str) -> dict[str, bytes]:
    """The files of the chart, by their path inside it (the folder that everything stands in is dropped)."""
    if len(data) > MAX_ARCHIVE:
        raise ChartError(f"{where} has {len(data)} bytes; a chart archive has {MAX_ARCHIVE} at most")
    files: dict[str, bytes] = {}
    try:
        with tarfile.open(fileobj=io.BytesIO(_unzipped(data, where)), mode="r:") as archive:
            for member in archive:
                _take(archive, member, files, where)
    except tarfile.TarError as problem:
        raise ChartError(f"{where} is no chart archive: {problem}") from None
    if "Chart.yaml" not in files:
        raise ChartError(f"{where} holds no Chart.yaml", hint="a chart archive is made by `helm package`")
    return files


def _unzipped(data: bytes, where: str) -> bytes:
    """Stops as soon as the limit is passed, not after all of a bomb has been inflated."""
    inflate = zlib.decompressobj(wbits=31)
    try:
        plain = inflate.decompress(data, MAX_TOTAL + MAX_FILES * 2 * _BLOCK)
    except zlib.error as problem:
        raise ChartError(f"{where} is no gzip archive: {problem}") from None
    if inflate.unconsumed_tail:
        raise ChartError(f"{where} grows beyond {MAX_TOTAL} bytes when it is unpacked")
    if not inflate.eof:
        raise ChartError(f"{where} ends too early", hint="fetch it again")
    return plain


def _take(archive: tarfile.TarFile, member: tarfile.TarInfo, files: dict[str, bytes], where: str) -> None:
    if member.type in (tarfile.XGLTYPE, tarfile.XHDTYPE) or member.isdir():
        return
    name = member.name.removeprefix("./")
    if member.issym() or member.islnk():
        raise ChartError(f"{where}: {name} is a link; a chart holds plain files")
    if not member.isreg():
        raise ChartError(f"{where}: {name} is no plain file")
    path = PurePosixPath(name)
    if path.is_absolute() or "\\" in name or ":" in path.parts[0] or ".." in path.parts:
        raise ChartError(f"{where}: the path {name!r} leads out of the chart")
    if len(path.parts) < 2:
        raise ChartError(f"{where}: {name} stands outside of the chart's folder")
    if member.size > MAX_FILE:
        raise ChartError(f"{where}: {name} has {member.size} bytes; a file of a chart has {MAX_FILE} at most")
    if len(files) >= MAX_FILES:
        raise ChartError(f"{where} holds more than {MAX_FILES} files")
    content = archive.extractfile(member)
    inner = str(PurePosixPath(*path.parts[1:]))
    if content is None or inner in files:
        raise ChartError(f"{where}: {name} stands there twice or cannot be read")
    files[inner] = content.read().removeprefix(b"\xef\xbb\xbf")
