"""Watches: what happens to objects of a kind, from a revision on, as the watcher's selectors see it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from talosmith_lab.kube.errors import expired
from talosmith_lab.kube.kinds import Kind
from talosmith_lab.kube.selectors import Matches
from talosmith_lab.kube.storage import Change, Storage, Stored, ended

EventType = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK"]


class Event(NamedTuple):
    type: EventType
    stored: Stored


@dataclass(slots=True, kw_only=True)
class Watch:
    """Returns what has happened since the last call. A waiting caller asks again after each change."""

    storage: Storage
    kind: Kind
    prefix: str
    revision: int  # what is known up to here
    matches: tuple[Matches, ...]
    initial: list[Stored]  # what there is at the start, where that is wanted

    def take(self) -> list[Event]:
        """Raises `Expired` if the watcher was too slow."""
        found = [Event("ADDED", stored) for stored in self.initial]
        self.initial = []
        changes = self.storage.changes_after(self.kind.root, self.revision)
        if changes is None:
            oldest = self.storage.oldest(self.kind.root)
            raise expired(f"too old resource version: {self.revision} ({oldest})")
        self.revision = max(self.revision, self.storage.revision)
        return [*found, *(event for change in changes for event in self._seen(change))]

    def _seen(self, change: Change) -> Iterator[Event]:
        if not change.key.startswith(self.prefix):
            return
        before = change.before is not None and self._wanted(change.before)
        now = change.now is not None and self._wanted(change.now)
        if now and change.now is not None:
            yield Event("MODIFIED" if before else "ADDED", change.now)
        elif before and change.gone is not None:
            yield Event("DELETED", change.gone)
        elif before and change.before is not None:
            yield Event("DELETED", ended(change.before, change.revision))  # still there, but no longer selected

    def _wanted(self, stored: Stored) -> bool:
        return all(matches(stored.obj) for matches in self.matches)
