"""Objects in a cluster's etcd: read without parsing them twice, written with their revision, their past remembered.

What etcd holds is the JSON that clients get, resourceVersion and all, so that most answers are the stored bytes. The
parsed object is kept beside them. Changes of the recent past are kept for watches and for lists of one moment.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from talosmith_lab.etcd import Cluster
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kv import KeyValues

REMEMBERED = 4096  # changes of one kind
_METADATA = (  # in the order in which API servers write it
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers",
    "managedFields",
)  # fmt: skip

Write = Callable[[Callable[[KeyValues], object]], None]  # through a member, which may refuse


class Stored(NamedTuple):
    """An object that etcd has. It is shared and never changed."""

    obj: Obj
    value: bytes
    revision: int


class Change(NamedTuple):
    """What happened to a key at a revision. `now` is None if it went, `before` if it came."""

    revision: int
    key: str
    now: Stored | None
    before: Stored | None
    gone: Stored | None = None  # the object as it was last, with the revision of its end


@dataclass(slots=True)
class Past:
    """The changes of one kind, oldest first; what was before `since` is forgotten."""

    since: int
    changes: deque[Change] = field(default_factory=deque)

    def add(self, change: Change) -> None:
        self.changes.append(change)
        while len(self.changes) > REMEMBERED:
            self.since = self.changes.popleft().revision

    def after(self, revision: int) -> list[Change]:
        found = []
        for change in reversed(self.changes):
            if change.revision <= revision:
                break
            found.append(change)
        return found[::-1]


def encoded(obj: Obj) -> bytes:
    """As it is stored and sent: what it is comes first."""
    ordered = {"kind": obj["kind"], "apiVersion": obj["apiVersion"], "metadata": obj["metadata"], **obj}
    return json.dumps(ordered, separators=(",", ":"), ensure_ascii=False).encode()


class Storage:
    """One cluster's objects. Others may write to the same etcd; that is noticed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._parsed: dict[str, Stored | None] = {}
        self._keys: list[str] = []
        self._past: dict[str, Past] = {}
        self._start = cluster.store.revision
        self._seen: tuple[int, int] = (0, -1)
        self._known: dict[str, int] = {}  # the revisions of keys, to notice others' writes
        self._last: dict[str, int] = {}  # the revision of each kind's last change
        self.on_change: Callable[[str, Change], None] | None = None  # told the kind's root, and what happened
        self._look()

    @property
    def _store(self) -> KeyValues:
        return self._cluster.store

    @property
    def revision(self) -> int:
        return self._store.revision

    # Reading

    def get(self, key: str) -> Stored | None:
        self._look()
        return self._read(key)

    def under(self, prefix: str, after: str = "") -> Iterator[tuple[str, Stored]]:
        """In the order of the keys."""
        self._look()
        first = bisect_right(self._keys, after) if after else bisect_left(self._keys, prefix)
        for place in range(first, len(self._keys)):
            key = self._keys[place]
            if not key.startswith(prefix):
                return
            stored = self._read(key)
            if stored is not None:
                yield key, stored

    def count(self, prefix: str) -> int:
        self._look()
        return bisect_left(self._keys, prefix + "\U0010ffff") - bisect_left(self._keys, prefix)

    def at(self, root: str, prefix: str, revision: int) -> list[tuple[str, Stored]] | None:
        """As it was at a revision; None if that is forgotten."""
        past = self._past.get(root)
        if revision >= self.last_change(root):
            return list(self.under(prefix))
        if past is None or revision < past.since:
            return None
        found = dict(self.under(prefix))
        for change in reversed(past.after(revision)):
            if not change.key.startswith(prefix):
                continue
            if change.before is None:
                found.pop(change.key, None)
            else:
                found[change.key] = change.before
        return sorted(found.items())

    def last_change(self, root: str) -> int:
        self._look()
        return self._last.get(root, self._start)

    def changes_after(self, root: str, revision: int) -> list[Change] | None:
        """None if some of them are forgotten."""
        self._look()
        past = self._past.get(root)
        if past is None:
            return [] if revision >= self._start else None
        if revision < past.since:
            return None
        return past.after(revision)

    def oldest(self, root: str) -> int:
        """The revision before which changes are forgotten."""
        past = self._past.get(root)
        return past.since if past is not None else self._start

    def begin(self, root: str) -> None:
        """A kind is served from now on; what was before cannot be watched."""
        if root not in self._past:
            self._past[root] = Past(self.revision)

    # Writing

    def put(self, root: str, key: str, obj: Obj, write: Write) -> Stored:
        """The object with its new revision. It belongs to the storage from now on."""
        self._look()
        before = self._read(key)
        revision = self.revision + 1
        metadata = {**obj["metadata"], "resourceVersion": str(revision)}
        obj["metadata"] = {name: metadata[name] for name in _METADATA if name in metadata} | metadata
        value = encoded(obj)
        write(lambda store: store.put(key, value))
        stored = Stored(obj, value, revision)
        if key not in self._parsed:
            insort(self._keys, key)
        self._parsed[key] = stored
        self._remember(root, Change(revision, key, stored, before))
        return stored

    def delete(self, root: str, key: str, write: Write) -> Stored | None:
        """What was there, with the revision of its end."""
        self._look()
        before = self._read(key)
        if before is None:
            return None
        write(lambda store: store.delete(key))
        last = ended(before, self.revision)
        del self._parsed[key]
        self._known.pop(key, None)
        del self._keys[bisect_left(self._keys, key)]
        self._remember(root, Change(self.revision, key, None, before, last))
        return last

    def _remember(self, root: str, change: Change) -> None:
        past = self._past.get(root)
        if past is None:
            past = self._past[root] = Past(self._start)
        past.add(change)
        self._last[root] = change.revision
        if change.now is not None:
            self._known[change.key] = change.revision
        self._seen = (id(self._store), self.revision)
        if self.on_change is not None:
            self.on_change(root, change)

    def _read(self, key: str) -> Stored | None:
        stored = self._parsed.get(key)
        if stored is None and key in self._parsed:
            entry = self._store.entries[key]
            if not entry.value.startswith(b"{"):
                return None  # not an object: a foreign key
            stored = Stored(json.loads(entry.value), entry.value, entry.modified)
            if stored.obj["metadata"].get("resourceVersion") != str(entry.modified):
                stored.obj["metadata"]["resourceVersion"] = str(entry.modified)
                stored = Stored(stored.obj, encoded(stored.obj), entry.modified)
            self._parsed[key] = stored
        return stored

    # What others wrote

    def _look(self) -> None:
        """Find what was written past us: by the nodes themselves, or by a restored snapshot."""
        now = (id(self._store), self.revision)
        if self._seen == now:
            return
        first = self._seen[1] < 0
        self._seen = now
        entries = self._store.entries
        new = [key for key, entry in entries.items() if self._known.get(key) != entry.modified]
        gone = [key for key in self._known if key not in entries]
        before = {key: self._parsed.pop(key, None) for key in (*new, *gone)}
        for key in new:
            self._parsed[key] = None
            self._known[key] = entries[key].modified
        for key in gone:
            del self._known[key]
        self._keys = sorted(self._parsed)
        for key in () if first else before:
            self._found(key, before[key])

    def _found(self, key: str, before: Stored | None) -> None:
        root = next((root for root in self._past if key.startswith(root)), "")
        entry = self._store.entries.get(key)
        if not root or (entry is not None and not entry.value.startswith(b"{")):
            return
        now = self._read(key) if entry is not None else None
        revision = entry.modified if entry is not None else self.revision
        last = ended(before, revision) if before is not None and now is None else None
        change = Change(revision, key, now, before, last)
        self._past[root].add(change)
        self._last[root] = revision
        if self.on_change is not None:
            self.on_change(root, change)


def ended(stored: Stored, revision: int) -> Stored:
    metadata = {**stored.obj["metadata"], "resourceVersion": str(revision)}
    obj = {**stored.obj, "metadata": metadata}
    return Stored(obj, encoded(obj), revision)
