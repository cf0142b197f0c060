"""Snapshots in the form etcd writes them: its database file, and the SHA-256 of it behind.

Tools know a snapshot with a hash by its size (32 more than a multiple of 512). A raw copy of the database has none,
and is taken only by who asks for no check.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable

from talosmith_lab import bolt, wire
from talosmith_lab.kv import Entry, KeyValues

HASH_SIZE = 32
_SECTOR = 512
_REVISION = struct.Struct(">QsQ")
_EMPTY = (b"alarm", b"auth", b"authRoles", b"authUsers", b"cluster", b"lease", b"members_removed")


class BadSnapshot(ValueError):
    """Not a snapshot, or a damaged one."""


def write(store: KeyValues, *, index: int, term: int, members: Iterable[tuple[int, str, str]]) -> bytes:
    """`members` are (id, name, peer URL)."""
    records = [
        (_revision(entry.modified), _key_value(key, entry))
        for key, entry in sorted(store.entries.items(), key=lambda item: item[1].modified)
    ]
    newest = max((entry.modified for entry in store.entries.values()), default=1)
    if store.revision > newest:  # the last change was a deletion
        records.append((_revision(store.revision) + b"t", wire.blob(1, store.last_deleted.encode())))
    database = bolt.write(
        {
            b"key": records,
            b"meta": [
                (b"consistent_index", struct.pack(">Q", index)),
                (b"storageVersion", b"3.6.0"),
                (b"term", struct.pack(">Q", term)),
            ],
            b"members": sorted((f"{number:x}".encode(), _member(number, name, url)) for number, name, url in members),
            **{name: [] for name in _EMPTY},
        }
    )
    return database + hashlib.sha256(database).digest()


def read(data: bytes, *, check_hash: bool = True) -> KeyValues:
    """What a snapshot holds; raises `BadSnapshot`."""
    hashed = len(data) % _SECTOR == HASH_SIZE
    database = data[:-HASH_SIZE] if hashed else data
    if check_hash:
        if not hashed:
            raise BadSnapshot("snapshot missing hash but --skip-hash-check=false")
        if hashlib.sha256(database).digest() != data[-HASH_SIZE:]:
            raise BadSnapshot("expected sha256 does not match the database")
    try:
        return _store(bolt.read(database, b"key"))
    except (bolt.BadDatabase, wire.BadMessage, struct.error, UnicodeDecodeError) as error:
        raise BadSnapshot(f"not an etcd database: {error}") from None


def _store(records: list[tuple[bytes, bytes]]) -> KeyValues:
    """Later revisions of a key replace earlier ones; a tombstone deletes it."""
    store = KeyValues()
    for name, value in records:
        store.revision = _REVISION.unpack_from(name)[0]
        found = dict(wire.fields(value))
        key = bytes(found.get(1, b"")).decode()
        if name[_REVISION.size :] == b"t":
            store.entries.pop(key, None)
            store.last_deleted = key
            continue
        created, modified, version = (int(found.get(number, 0)) for number in (2, 3, 4))
        store.entries[key] = Entry(bytes(found.get(5, b"")), created, modified, version)
    store.dirty = set(store.entries)
    return store


def _revision(main: int) -> bytes:
    return _REVISION.pack(main, b"_", 0)


def _key_value(key: str, entry: Entry) -> bytes:
    return (
        wire.blob(1, key.encode())
        + wire.number(2, entry.created)
        + wire.number(3, entry.modified)
        + wire.number(4, entry.version)
        + wire.blob(5, entry.value)
    )


def _member(number: int, name: str, url: str) -> bytes:
    return json.dumps({"id": number, "peerURLs": [url], "name": name}).encode()
