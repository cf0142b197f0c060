"""The file format of etcd's database (bbolt), written and read without etcd.

A snapshot that tools accept must be such a file. It consists of pages: two that say where the root is, one that lists
free pages (here none are), and trees of buckets whose leaves hold keys and values in order. Written once and never
changed, every tree is packed from the left.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence

PAGE = 4096
_MAGIC = 0xED0CDAED
_VERSION = 2
_BRANCH, _LEAF, _META, _FREELIST = 0x01, 0x02, 0x04, 0x10
_BUCKET = 0x01
_HEADER = struct.Struct("<QHHI")  # page number, flags, count, pages that follow it
_LEAF_ITEM = struct.Struct("<IIII")  # flags, offset, key size, value size
_BRANCH_ITEM = struct.Struct("<IIQ")  # offset, key size, page number
_ROOT = struct.Struct("<QQ")  # root page, sequence
_META_BODY = struct.Struct("<IIIIQQQQQ")  # magic, version, page size, flags, root, sequence, freelist, pages, tx

Items = Sequence[tuple[bytes, bytes]]


class BadDatabase(ValueError):
    """Not a bbolt file, or a damaged one."""


def write(buckets: Mapping[bytes, Items]) -> bytes:
    """A database with these buckets; the items of each in the order of their keys."""
    writer = _Writer()
    roots = [(name, _ROOT.pack(writer.tree(items), 0)) for name, items in sorted(buckets.items())]
    return writer.finish(writer.leaf(roots, flags=_BUCKET))


class _Writer:
    def __init__(self) -> None:
        self._pages = bytearray(3 * PAGE)  # two meta pages and the freelist come last

    def tree(self, items: Items) -> int:
        level = [(chunk[0][0] if chunk else b"", self.leaf(chunk)) for chunk in _chunks(items)]
        while len(level) > 1:
            level = [(part[0][0], self._branch(part)) for part in _split(level, 64)]
        return level[0][1]

    def leaf(self, items: Items, flags: int = 0) -> int:
        offset = len(items) * _LEAF_ITEM.size
        heads, bodies = bytearray(), bytearray()
        for number, (key, value) in enumerate(items):
            # The offset counts from the item's own place.
            at = offset - number * _LEAF_ITEM.size + len(bodies)
            heads += _LEAF_ITEM.pack(flags, at, len(key), len(value))
            bodies += key + value
        return self._page(_LEAF, len(items), heads + bodies)

    def _branch(self, children: Sequence[tuple[bytes, int]]) -> int:
        offset = len(children) * _BRANCH_ITEM.size
        heads, bodies = bytearray(), bytearray()
        for number, (key, page) in enumerate(children):
            heads += _BRANCH_ITEM.pack(offset - number * _BRANCH_ITEM.size + len(bodies), len(key), page)
            bodies += key
        return self._page(_BRANCH, len(children), heads + bodies)

    def _page(self, flags: int, count: int, body: bytes | bytearray) -> int:
        number = len(self._pages) // PAGE
        size = _HEADER.size + len(body)
        pages = -(-size // PAGE)
        self._pages += _HEADER.pack(number, flags, count, pages - 1) + body + bytes(pages * PAGE - size)
        return number

    def finish(self, root: int) -> bytes:
        total = len(self._pages) // PAGE
        for number in (0, 1):
            body = _META_BODY.pack(_MAGIC, _VERSION, PAGE, 0, root, 0, 2, total, number)
            page = _HEADER.pack(number, _META, 0, 0) + body + struct.pack("<Q", _fnv(body))
            self._pages[number * PAGE : number * PAGE + len(page)] = page
        self._pages[2 * PAGE : 2 * PAGE + _HEADER.size] = _HEADER.pack(2, _FREELIST, 0, 0)
        return bytes(self._pages)


def read(data: bytes, bucket: bytes) -> list[tuple[bytes, bytes]]:
    """The items of one bucket; raises `BadDatabase`."""
    try:
        page_size, root = _newest_root(data)
        for flags, name, value in _items(data, root, page_size):
            if name == bucket and flags & _BUCKET:
                inner = _ROOT.unpack_from(value)[0]
                if inner == 0:  # a small bucket lies inside its own entry, after the root
                    return [(key, item) for _, key, item in _leaf_items(value, _ROOT.size)]
                return [(key, item) for _, key, item in _items(data, inner, page_size)]
    except (struct.error, IndexError, RecursionError, OverflowError):
        raise BadDatabase("a page points outside the file") from None
    raise BadDatabase(f"there is no bucket {bucket.decode(errors='replace')!r} in it")


def _newest_root(data: bytes) -> tuple[int, int]:
    found: list[tuple[int, int, int]] = []
    for start in (0, PAGE):
        body = data[start + _HEADER.size : start + _HEADER.size + _META_BODY.size]
        if len(body) < _META_BODY.size:
            continue
        magic, version, page_size, _, root, _, _, _, transaction = _META_BODY.unpack(body)
        (checksum,) = struct.unpack_from("<Q", data, start + _HEADER.size + _META_BODY.size)
        if magic == _MAGIC and version == _VERSION and checksum == _fnv(body):
            found.append((transaction, page_size, root))
    if not found:
        raise BadDatabase("it does not start as an etcd database does")
    _, page_size, root = max(found)
    return page_size, root


def _items(data: bytes, page: int, page_size: int, depth: int = 0) -> Iterator[tuple[int, bytes, bytes]]:
    start = page * page_size
    _, flags, count, _ = _HEADER.unpack_from(data, start)
    if flags & _LEAF:
        yield from _leaf_items(data, start)
        return
    if not flags & _BRANCH or depth > 32:
        raise BadDatabase(f"page {page} is neither a branch nor a leaf")
    for number in range(count):
        child = _BRANCH_ITEM.unpack_from(data, start + _HEADER.size + number * _BRANCH_ITEM.size)[2]
        yield from _items(data, child, page_size, depth + 1)


def _leaf_items(data: bytes, start: int) -> Iterator[tuple[int, bytes, bytes]]:
    count = _HEADER.unpack_from(data, start)[2]
    for number in range(count):
        at = start + _HEADER.size + number * _LEAF_ITEM.size
        flags, offset, key_size, value_size = _LEAF_ITEM.unpack_from(data, at)
        begin = at + offset
        if begin + key_size + value_size > len(data):
            raise BadDatabase("an entry reaches beyond the file")
        yield flags, data[begin : begin + key_size], data[begin + key_size : begin + key_size + value_size]


def _chunks(items: Items) -> Iterator[Items]:
    """Runs of items that fill a page; one that is larger than a page stands alone."""
    start = size = 0
    for number, (key, value) in enumerate(items):
        need = _LEAF_ITEM.size + len(key) + len(value)
        if number > start and size + need > PAGE - _HEADER.size:
            yield items[start:number]
            start, size = number, 0
        size += need
    yield items[start:]


def _split(level: list[tuple[bytes, int]], size: int) -> list[list[tuple[bytes, int]]]:
    return [level[start : start + size] for start in range(0, len(level), size)]


def _fnv(data: bytes) -> int:
    """FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value
