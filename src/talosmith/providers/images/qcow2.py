"""Writes a disk image as qcow2, without its zeros: what is uploaded to a host is a fraction of the disk then.

Version 2 of the format, uncompressed: header, L1 table, reference counts, L2 tables, data. Nothing else is needed to
be read by QEMU.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from talosmith.tasks import stop_if_cancelled

_CLUSTER = 64 * 1024
_SECTOR = 512
_ENTRIES = _CLUSTER // 8  # of an L2 table
_COUNTS = _CLUSTER // 2  # of a block of reference counts
_COPIED = 1 << 63  # the cluster is used once
_HEADER = struct.Struct(">4sIQIIQIIQQIIQ")


def write_qcow2(raw: Path, target: Path) -> None:
    size = raw.stat().st_size
    with raw.open("rb") as source, target.open("wb") as file:
        used = list(_used(source, size))
        clusters = -(-size // _CLUSTER)
        tables = sorted({number // _ENTRIES for number in used})
        l1_size = max(1, -(-clusters // _ENTRIES))
        l1_clusters = -(-l1_size * 8 // _CLUSTER)
        blocks = 1
        while blocks * _COUNTS < 1 + l1_clusters + 1 + blocks + len(tables) + len(used):
            blocks += 1
        counts_at = 1 + l1_clusters  # the table of the blocks has one cluster: enough for 16 TiB
        l2_at = counts_at + 1 + blocks
        data_at = l2_at + len(tables)
        total = data_at + len(used)
        sectors = -(-size // _SECTOR)  # whole ones: QEMU leaves a part of one out
        header = (
            b"QFI\xfb", 2, 0, 0, 16, sectors * _SECTOR, 0, l1_size, _CLUSTER, counts_at * _CLUSTER, 1, 0, 0,
        )  # fmt: skip
        file.write(_HEADER.pack(*header).ljust(_CLUSTER, b"\0"))
        place = {table: (l2_at + number) * _CLUSTER for number, table in enumerate(tables)}
        file.write(
            _numbers([place[table] | _COPIED if table in place else 0 for table in range(l1_size)], l1_clusters)
        )
        file.write(_numbers([(counts_at + 1 + block) * _CLUSTER for block in range(blocks)], 1))
        file.write((b"\0\1" * total).ljust(blocks * _CLUSTER, b"\0"))
        where = {number: (data_at + at) * _CLUSTER for at, number in enumerate(used)}
        for table in tables:
            numbers = range(table * _ENTRIES, (table + 1) * _ENTRIES)
            file.write(_numbers([where[one] | _COPIED if one in where else 0 for one in numbers], 1))
        for number in used:
            stop_if_cancelled()
            source.seek(number * _CLUSTER)
            file.write(source.read(_CLUSTER).ljust(_CLUSTER, b"\0"))


def _numbers(values: list[int], clusters: int) -> bytes:
    return struct.pack(f">{len(values)}Q", *values).ljust(clusters * _CLUSTER, b"\0")


def _used(source: IO[bytes], size: int) -> Iterator[int]:
    """The numbers of clusters that are not all zeros; holes of the file are not read."""
    zeros = bytes(_CLUSTER)
    for start, end in _data(source, size):
        for number in range(start // _CLUSTER, -(-end // _CLUSTER)):
            stop_if_cancelled()
            source.seek(number * _CLUSTER)
            part = source.read(_CLUSTER)
            if part != zeros[: len(part)]:
                yield number


def _data(source: IO[bytes], size: int) -> Iterator[tuple[int, int]]:
    """Parts of the file that are not holes, on cluster boundaries and without overlap."""
    at = 0
    while at < size:
        try:
            start = os.lseek(source.fileno(), at, os.SEEK_DATA)
        except OSError:  # no data after here
            return
        end = os.lseek(source.fileno(), start, os.SEEK_HOLE)
        start = max(at, start // _CLUSTER * _CLUSTER)
        end = min(-(-end // _CLUSTER) * _CLUSTER, -(-size // _CLUSTER) * _CLUSTER)
        yield start, end
        at = end
