"""Snapshots: what goes in comes out, and what is damaged is not taken."""

from __future__ import annotations

import hashlib
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from talosmith_lab import bolt, snapshot
from talosmith_lab.kv import KeyValues

KEYS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=40)


def written(store: KeyValues) -> bytes:
    return snapshot.write(store, index=7, term=2, members=[(0xABC, "cp-1", "https://127.77.0.11:2380")])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(KEYS, st.binary(max_size=6000) | st.none()), max_size=80))
def test_what_was_written_is_read_again(changes: list[tuple[str, bytes | None]]) -> None:
    store = KeyValues()
    for key, value in changes:
        if value is None:
            store.delete(key)
        else:
            store.put(key, value)
    data = written(store)
    assert len(data) % 512 == 32
    read = snapshot.read(data)
    assert read.entries == store.entries
    if store.entries or store.last_deleted:
        assert read.revision == store.revision


def test_a_large_store_needs_branches_and_comes_back_whole() -> None:
    store = KeyValues()
    for number in range(20_000):
        store.put(f"/registry/{number}", b"x" * (number % 90))
    assert snapshot.read(written(store)).entries == store.entries


@pytest.fixture(scope="module")
def sample() -> bytes:
    store = KeyValues()
    for number in range(50):
        store.put(f"/registry/{number}", b"value" * number)
    return written(store)


@pytest.mark.parametrize("at", [0, 20, 4096, 12_300, -33, -1])
def test_a_changed_byte_is_noticed(sample: bytes, at: int) -> None:
    damaged = bytearray(sample)
    damaged[at] ^= 0x55
    with pytest.raises(snapshot.BadSnapshot):
        snapshot.read(bytes(damaged))


@pytest.mark.parametrize("size", [0, 1, 31, 32, 512, 544, 5000, 20_000])
def test_a_part_of_it_is_not_taken(sample: bytes, size: int) -> None:
    with pytest.raises(snapshot.BadSnapshot):
        snapshot.read(sample[:size])


def test_a_raw_copy_is_taken_only_without_the_check(sample: bytes) -> None:
    raw = sample[:-32]
    with pytest.raises(snapshot.BadSnapshot, match="missing hash"):
        snapshot.read(raw)
    assert len(snapshot.read(raw, check_hash=False).entries) == 50


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=300), st.integers(0, 60_000), st.booleans())
@example(b"\0\0\0\0\0\0\x08", 53541, False)  # the number of a page that no offset can have
def test_garbage_never_does_worse_than_being_refused(garbage: bytes, at: int, hashed: bool) -> None:
    """Whatever is in the file, with a hash that fits or without."""
    store = KeyValues()
    store.put("a", b"b")
    content = bytearray(written(store)[:-32])
    content[at : at + len(garbage)] = garbage
    data = bytes(content) + (hashlib.sha256(content).digest() if hashed else b"")
    with suppress(snapshot.BadSnapshot):
        snapshot.read(data, check_hash=hashed)


def test_keys_of_a_bucket_are_read_in_order() -> None:
    items = [(f"{number:04}".encode(), bytes([number % 256]) * 700) for number in range(500)]
    assert bolt.read(bolt.write({b"one": items, b"two": []}), b"one") == items
    assert bolt.read(bolt.write({b"one": items, b"two": []}), b"two") == []


def test_revisions_are_counted_as_etcd_does() -> None:
    store = KeyValues()
    assert store.revision == 1
    store.put("/a/1", b"x")
    store.put("/a/1", b"y")
    store.put("/b", b"z")
    assert store.get("/a/1") == (b"y", 2, 3, 2)  # created at 2, changed at 3, written twice
    assert [key for key, _ in store.under("/a/")] == ["/a/1"]
    assert not store.delete("/nothing") and store.revision == 4
    assert store.delete("/a/1") and store.revision == 5
    store.put("/a/1", b"again")
    assert store.get("/a/1") == (b"again", 6, 6, 1)
