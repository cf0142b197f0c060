"""Packed images: bombs are refused while they unfold, in little memory; a part is never taken for the whole."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
import zstandard

from talosmith.errors import Permanent
from talosmith.providers.images import Source, obtain, unpacking
from talosmith.providers.images.unpacking import unpack

pytestmark = pytest.mark.slow

MIB = 1024 * 1024
CONTENT = b"boots".ljust(512, b"\1") + bytes(3 * MIB) + hashlib.shake_256(b"x").digest(2 * MIB) + b"end"
URL = "https://images.test/disk.raw"


def zstd(data: bytes) -> bytes:
    return bytes(zstandard.compress(data))


def xz(data: bytes) -> bytes:
    return lzma.compress(data, preset=0)


PACKINGS: dict[str, Callable[[bytes], bytes]] = {"xz": xz, "gz": gzip.compress, "zst": zstd}
packings = pytest.mark.parametrize("packing", PACKINGS)


def unpacked(packed: bytes, folder: Path) -> bytes:
    (folder / "packed").write_bytes(packed)
    assert unpack(folder / "packed", folder / "target")
    return (folder / "target").read_bytes()


def left(folder: Path) -> list[str]:
    return [one.name for one in folder.iterdir() if one.suffix != ".lock"]


def served(body: bytes | Iterator[bytes], length: int | None = None) -> httpx2.MockTransport:
    headers = {} if length is None else {"content-length": str(length)}
    return httpx2.MockTransport(lambda _: httpx2.Response(200, headers=headers, content=body))


@packings
def test_several_streams_and_zeros_behind_them(packing: str, tmp_path: Path) -> None:
    pack = PACKINGS[packing]
    assert unpacked(pack(CONTENT) + pack(CONTENT) + bytes(8192), tmp_path) == CONTENT * 2


@packings
def test_zeros_take_no_room(packing: str, tmp_path: Path) -> None:
    content = b"boots".ljust(MIB, b"\1") + bytes(64 * MIB)
    assert unpacked(PACKINGS[packing](content), tmp_path) == content
    assert (tmp_path / "target").stat().st_blocks * 512 < 8 * MIB


@packings
@pytest.mark.parametrize("missing", [1, 3, 20, 1000])
def test_a_part_is_not_taken_for_the_whole(packing: str, missing: int, tmp_path: Path) -> None:
    with pytest.raises(Permanent, match=r"cannot be unpacked: .*ends before"):
        unpacked(PACKINGS[packing](CONTENT)[:-missing], tmp_path)


@packings
def test_what_is_broken_is_refused(packing: str, tmp_path: Path) -> None:
    packed = PACKINGS[packing](CONTENT)
    with pytest.raises(Permanent, match="cannot be unpacked") as refused:
        unpacked(packed[:100] + b"\xff" * 400 + packed[500:], tmp_path)
    assert refused.value.hint
    with pytest.raises(Permanent, match="cannot be unpacked"):
        unpacked(packed + b"something else", tmp_path)


@packings
def test_a_bomb_is_not_unpacked(packing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In small: the limit itself is more than a test should write."""
    assert unpacking.MAX_IMAGE == 16 * 1024 * MIB
    monkeypatch.setattr(unpacking, "MAX_IMAGE", 32 * MIB)
    packed = PACKINGS[packing](b"boots".ljust(512, b"\1") + bytes(256 * MIB))
    tracemalloc.start()
    try:
        with pytest.raises(Permanent, match=r"cannot be unpacked: larger than the limit of 0\.03125 GiB") as refused:
            obtain(Source(URL), tmp_path, transport=served(packed))
        assert tracemalloc.get_traced_memory()[1] < 64 * MIB  # 256 MiB and more if unpacked at once
    finally:
        tracemalloc.stop()
    assert "`image` of the provider" in refused.value.hint
    assert left(tmp_path) == []


def test_a_file_of_the_users_that_is_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MAX_IMAGE", MIB)
    file = tmp_path / "mine.raw.xz"
    file.write_bytes(xz(CONTENT))
    with pytest.raises(Permanent, match="larger than the limit"):
        obtain(Source(str(file)), tmp_path / "cache")
    assert left(tmp_path / "cache") == []


def test_xz_that_asks_for_4_gib_of_memory_is_refused(tmp_path: Path) -> None:
    packed = bytearray(xz(CONTENT))
    start, size = 12, (packed[12] + 1) * 4  # of the first block's header: size, flags, filter, its size, dictionary
    packed[start + 4] = 40
    packed[start + size - 4 : start + size] = zlib.crc32(packed[start : start + size - 4]).to_bytes(4, "little")
    with pytest.raises(Permanent, match="cannot be unpacked: Memory usage limit exceeded"):
        unpacked(bytes(packed), tmp_path)


def test_the_disk_is_not_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MIN_FREE", 2**62)
    (tmp_path / "mine.raw.xz").write_bytes(xz(CONTENT))
    with pytest.raises(Permanent, match="cannot be unpacked: not enough free disk space in") as refused:
        obtain(Source(str(tmp_path / "mine.raw.xz")), tmp_path / "cache")
    assert "XDG_CACHE_HOME" in refused.value.hint
    with pytest.raises(Permanent, match=f"image {URL} cannot be downloaded: not enough free disk space"):
        obtain(Source(URL), tmp_path / "cache", transport=served(CONTENT))
    assert left(tmp_path / "cache") == []


def test_a_download_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []

    def endless() -> Iterator[bytes]:
        while True:
            sent.append(MIB)
            yield b"x" * MIB

    monkeypatch.setattr(unpacking, "MAX_IMAGE", 8 * MIB)
    with pytest.raises(Permanent, match=f"image {URL} cannot be downloaded: larger than the limit"):
        obtain(Source(URL), tmp_path, transport=served(endless()))
    assert sum(sent) <= 10 * MIB
    sent.clear()
    with pytest.raises(Permanent, match="larger than the limit"):
        obtain(Source(URL), tmp_path, transport=served(endless(), length=9 * MIB))
    assert sent == [], "what is announced as too large is not downloaded"
    assert left(tmp_path) == []
