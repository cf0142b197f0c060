"""Raw disk images as qcow2: read back they are the same disk, and holes cost neither time nor room."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from talosmith.providers.images import qcow2
from talosmith.providers.images.qcow2 import write_qcow2

CLUSTER = 64 * 1024
HEADER = struct.Struct(">4sIQIIQIIQQIIQ")
Piece = tuple[int, bytes]  # where, and what

pieces = st.lists(
    st.tuples(st.integers(0, 40 * CLUSTER), st.sampled_from([b"\1", b"\0" * 10, b"data" * 1000, b"\xff" * CLUSTER])),
    max_size=8,
)


def sparse(file: Path, size: int, parts: Sequence[Piece]) -> Path:
    with file.open("wb") as raw:
        for at, data in parts:
            raw.seek(at)
            raw.write(data[: max(0, size - at)])
        raw.truncate(size)
    return file


def numbers(file: bytes, at: int, count: int) -> tuple[int, ...]:
    return struct.unpack_from(f">{count}Q", file, at)


def whole_sectors(raw: Path) -> bytes:
    """A disk has no half sectors; QEMU would leave one out."""
    data = raw.read_bytes()
    return data.ljust(-(-len(data) // 512) * 512, b"\0")


def read_back(image: Path) -> bytes:
    """The disk in a qcow2, read by the book: docs/interop/qcow2.txt of QEMU."""
    file = image.read_bytes()
    magic, version, backing, _, bits, size, encryption, l1_size, l1_at, counts_at, counts_clusters, snapshots, _ = (
        HEADER.unpack_from(file)
    )
    assert (magic, version, backing, bits, encryption, snapshots) == (b"QFI\xfb", 2, 0, 16, 0, 0)
    assert l1_at % CLUSTER == counts_at % CLUSTER == 0 and len(file) % CLUSTER == 0
    assert l1_size * CLUSTER // 8 * CLUSTER >= size, "the L1 table covers the disk"
    disk = bytearray(size)
    used = {0, *range(counts_at // CLUSTER, counts_at // CLUSTER + counts_clusters)}
    used |= {(l1_at + at) // CLUSTER for at in range(0, l1_size * 8, CLUSTER)}
    for table, entry in enumerate(numbers(file, l1_at, l1_size)):
        if not entry:
            continue
        assert entry >> 63, "used once, which QEMU wants to be said"
        l2_at = entry & ~(1 << 63)
        used.add(l2_at // CLUSTER)
        for number, place in enumerate(numbers(file, l2_at, CLUSTER // 8)):
            if place:
                assert place >> 63
                data_at, at = place & ~(1 << 63), (table * CLUSTER // 8 + number) * CLUSTER
                used.add(data_at // CLUSTER)
                disk[at : at + CLUSTER] = file[data_at : data_at + min(CLUSTER, size - at)]
    _check_counts(file, counts_at, counts_clusters, used)
    return bytes(disk)


def _check_counts(file: bytes, counts_at: int, clusters: int, used: set[int]) -> None:
    """Each cluster of the file is counted once, and none that is not there."""
    counted: set[int] = set()
    for number, block in enumerate(numbers(file, counts_at, clusters * CLUSTER // 8)):
        if block:
            used.add(block // CLUSTER)
            counts = struct.unpack_from(f">{CLUSTER // 2}H", file, block)
            assert set(counts) <= {0, 1}
            counted |= {number * CLUSTER // 2 + at for at, count in enumerate(counts) if count}
    assert counted == used == set(range(len(file) // CLUSTER))


@settings(max_examples=40)
@given(size=st.integers(1, 40 * CLUSTER), parts=pieces)
def test_a_disk_read_back_is_the_same(size: int, parts: list[Piece]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        raw, packed = Path(folder) / "disk.raw", Path(folder) / "disk.qcow2"
        sparse(raw, size, parts)
        write_qcow2(raw, packed)
        assert read_back(packed) == whole_sectors(raw)


@pytest.mark.parametrize("size", [0, 1, 511, CLUSTER - 1, CLUSTER, CLUSTER + 1])
def test_sizes_at_the_edge(tmp_path: Path, size: int) -> None:
    raw = sparse(tmp_path / "disk.raw", size, [(0, b"\1" * size)])
    write_qcow2(raw, tmp_path / "disk.qcow2")
    assert read_back(tmp_path / "disk.qcow2") == whole_sectors(raw)


def test_more_than_one_table(tmp_path: Path) -> None:
    """A table of the second level covers 512 MiB; of those without data there is none."""
    size = 3 * 512 * 1024 * 1024 + 5
    raw = sparse(tmp_path / "disk.raw", size, [(0, b"first"), (2 * 512 * 1024 * 1024, b"third"), (size - 4, b"last")])
    write_qcow2(raw, tmp_path / "disk.qcow2")
    file = (tmp_path / "disk.qcow2").read_bytes()
    l1_size, l1_at = HEADER.unpack_from(file)[7:9]
    tables = numbers(file, l1_at, l1_size)
    assert [bool(entry) for entry in tables] == [True, False, True, True] and len(file) < 12 * CLUSTER
    for table, at, data in ((0, 0, b"first"), (2, 0, b"third"), (3, 1, b"last")):
        (place,) = numbers(file, tables[table] & ~(1 << 63), 1)
        assert file[(place & ~(1 << 63)) + at :].startswith(data)


def test_zeros_take_no_room_and_holes_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = sparse(tmp_path / "disk.raw", 1024 * CLUSTER, [(0, b"data"), (5 * CLUSTER, bytes(20 * CLUSTER))])
    if raw.stat().st_blocks * 512 >= 512 * CLUSTER:
        pytest.skip("the file system has no holes")
    looked_at: list[int] = []
    monkeypatch.setattr(qcow2, "stop_if_cancelled", lambda: looked_at.append(1))  # asked once for each cluster
    write_qcow2(raw, tmp_path / "disk.qcow2")
    assert 1 < len(looked_at) <= 1 + 20 + 1 + 2, "clusters of a hole were read"
    assert (tmp_path / "disk.qcow2").stat().st_size == 6 * CLUSTER, "header, L1, counts, L2 and one of data"


def test_a_file_system_without_holes_is_read_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = sparse(tmp_path / "disk.raw", 30 * CLUSTER + 7, [(3 * CLUSTER - 2, b"here")])

    def lseek(descriptor: int, at: int, whence: int) -> int:
        """As the kernel answers where holes are not known: all is data, up to the end."""
        return at if whence == os.SEEK_DATA else os.fstat(descriptor).st_size

    monkeypatch.setattr(os, "lseek", lseek)
    write_qcow2(raw, tmp_path / "disk.qcow2")
    monkeypatch.undo()
    assert read_back(tmp_path / "disk.qcow2") == whole_sectors(raw)


@pytest.mark.real
@pytest.mark.parametrize("size", [1, CLUSTER + 512, 700 * 1024 * 1024 + 512])
def test_qemu_finds_no_fault_and_the_same_disk(tmp_path: Path, size: int) -> None:
    """QEMU's own tool is installed with the peers of libvirt."""
    tool = shutil.which("qemu-img")
    if tool is None:
        pytest.skip("qemu-img is not installed: see tools/peers/libvirt_recipes.py")
    parts = [(at % size, os.urandom(100)) for at in (0, 5, 70_000, 600 * 1024 * 1024, size - 1)]
    raw = sparse(tmp_path / "disk.raw", size, parts)
    packed = tmp_path / "disk.qcow2"
    write_qcow2(raw, packed)
    if size % 512:
        os.truncate(raw, -(-size // 512) * 512)  # sectors are whole
    subprocess.run([tool, "check", "-f", "qcow2", packed], check=True, capture_output=True)
    compared = subprocess.run(
        [tool, "compare", "-f", "raw", "-F", "qcow2", raw, packed], capture_output=True, check=False
    )
    assert compared.returncode == 0, compared.stdout
