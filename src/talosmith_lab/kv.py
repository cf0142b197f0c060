"""The keys and values that an etcd cluster holds, with revisions as etcd counts them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple


class Entry(NamedTuple):
    value: bytes
    created: int  # revision of the first write since it was last deleted
    modified: int
    version: int  # writes since then


@dataclass(slots=True)
class KeyValues:
    """Revision 1 is the empty store, as in etcd. Each change is one revision."""

    revision: int = 1
    entries: dict[str, Entry] = field(default_factory=dict)
    last_deleted: str = ""
    dirty: set[str] = field(default_factory=set, compare=False, repr=False)  # keys that changed since last saved

    def put(self, key: str, value: bytes) -> int:
        self.revision += 1
        old = self.entries.get(key)
        created = old.created if old else self.revision
        self.entries[key] = Entry(value, created, self.revision, old.version + 1 if old else 1)
        self.dirty.add(key)
        return self.revision

    def delete(self, key: str) -> bool:
        if self.entries.pop(key, None) is None:
            return False
        self.revision += 1
        self.last_deleted = key
        self.dirty.add(key)
        return True

    def get(self, key: str) -> Entry | None:
        return self.entries.get(key)

    def under(self, prefix: str) -> Iterator[tuple[str, Entry]]:
        """In the order of the keys."""
        for key in sorted(key for key in self.entries if key.startswith(prefix)):
            yield key, self.entries[key]

    def copy(self) -> KeyValues:
        return KeyValues(self.revision, dict(self.entries), self.last_deleted, set(self.entries))

    @property
    def size(self) -> int:
        """About the bytes that the entries need."""
        return sum(len(key) + len(entry.value) + 64 for key, entry in self.entries.items())
