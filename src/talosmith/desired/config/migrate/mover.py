"""Takes fields out of a v1alpha1 patch and puts them into documents, with a record of each."""

from __future__ import annotations

from typing import Any

from talosmith.desired.config.migrate.moved import Kept, Moved, Scope, dotted
from talosmith.desired.config.migrate.rules import CONTROLPLANE_KINDS, REASONS, Rule
from talosmith.desired.config.migrate.source import Branch, Entry, Made, write
from talosmith.desired.config.patch.deletion import MARK
from talosmith.desired.config.schema.documents import API_VERSION

Path = tuple[str, ...]
Key = tuple[str, str, bool]  # kind, name, and whether it is for control planes alone


class Mover:
    """`documents` are the new ones, in the order in which something was put into them."""

    def __init__(self, main: Branch, scope: Scope) -> None:
        self.main = main
        self.scope = scope
        self.documents: dict[Key, Branch] = {}
        self.deleted: list[Key] = []
        self.heads: dict[Key, tuple[str, ...]] = {}
        self.moved: list[Moved] = []
        self.kept: list[Kept] = []
        self.held: set[Path] = set()  # what stays though a rule would move it
        self._above: tuple[str, ...] = ()  # comments of sections that are empty now
        self._sections: list[int] = []  # those of the entry that was taken last, by identity
        self._gone: list[Entry] = []  # kept, so that no other section gets the identity of one of them
        self._first: dict[int, Key] = {}  # the document that a section's first field went to

    # Taking.

    def find(self, *path: str) -> Entry | None:
        branch: Any = self.main
        entry = None
        for key in path:
            if not isinstance(branch, Branch):
                return None
            entry = branch.get(key)
            if entry is None:
                return None
            branch = entry.value
        return entry

    def take(self, *path: str) -> Entry | None:
        """Remove an entry, and the sections that are empty without it."""
        entry = self.find(*path)
        if entry is None:
            return None
        owners: list[tuple[Branch, Entry]] = []
        branch = self.main
        for key in path:
            found = branch.get(key)
            if found is None:
                return None
            owners.append((branch, found))
            if isinstance(found.value, Branch):
                branch = found.value
        owners[-1][0].entries.remove(entry)
        self._sections = [id(section) for _, section in owners[:-1]]
        for owner, section in reversed(owners[:-1]):
            if isinstance(section.value, Branch) and not section.value.entries:
                owner.entries.remove(section)
                comments = (*section.comments, *((section.note,) if section.note else ()))
                first = self._first.get(id(section))
                if first is not None and comments:
                    self.heads[first] = (*comments, *self.heads.get(first, ()))
                elif first is None:
                    self._above = (*comments, *self._above)
                self._gone.append(section)
        return entry

    # Putting.

    def put(
        self, kind: str, name: str, path: Path, entry: Entry, old: Path, *, why: str = "", only: bool = False
    ) -> None:
        """Put an entry's value at a place in a document. An empty path: its fields are the document's.

        `only`: for control planes alone, though workers take documents of this kind, too.
        """
        document = self.document(kind, name, entry.comments if not path else (), only=only)
        if path:
            document.put(path[:-1], Entry(path[-1], entry.value, entry.comments, entry.note, entry.line))
        elif isinstance(entry.value, Branch):
            for one in entry.value.entries:
                document.put((), one)
        self.record(old, kind, name, path, entry.line, why=why)

    def value(
        self,
        kind: str,
        name: str,
        path: Path,
        value: Any,
        entry: Entry,
        old: Path,
        *,
        why: str = "",
        only: bool = False,
    ) -> None:
        """Put a value that is made of an entry."""
        made = Entry(path[-1], Made(value), entry.remarks(), "", entry.line)
        self.document(kind, name, only=only).put(path[:-1], made)
        self.record(old, kind, name, path, entry.line, why=why)

    def document(self, kind: str, name: str = "", comments: tuple[str, ...] = (), *, only: bool = False) -> Branch:
        """The document to put something into; `comments` stand above it."""
        key = _key(kind, name, only=only)
        self.documents.setdefault(key, Branch())
        self._head(key, comments)
        return self.documents[key]

    def delete(self, kind: str, name: str, entry: Entry, old: Path, why: str = "") -> None:
        """Delete a document, which Talos allows also where it does not exist."""
        key = _key(kind, name)
        if key not in self.deleted:
            self.deleted.append(key)
        self._head(key, entry.remarks())
        self.record(old, kind, name, (), entry.line, why=why, verb="delete ")

    def drop(self, entry: Entry, old: Path, why: str) -> None:
        """What says nothing any more."""
        self._above = ()
        self.moved.append(Moved(dotted(old), "", why, entry.line))

    def keep(self, entry: Entry, old: Path, why: str, fix: str = "", *, blocking: bool = False) -> None:
        self.kept.append(Kept(dotted(old), why, fix, blocking, entry.line))

    def record(
        self, old: Path, kind: str, name: str, path: Path, line: int, *, why: str = "", verb: str = ""
    ) -> None:
        place = dotted((kind + (f"/{name}" if name else ""), *path))
        self.moved.append(Moved(dotted(old), verb + place, why or REASONS.get(kind, ""), line))

    def _head(self, key: Key, comments: tuple[str, ...]) -> None:
        """Comments of sections that were emptied go above the document that their first field went to."""
        for section in self._sections:
            self._first.setdefault(section, key)
        comments, self._above = (*self._above, *comments), ()
        if comments:
            self.heads[key] = (*self.heads.get(key, ()), *comments)

    # The whole.

    def apply(self, rule: Rule) -> None:
        entry = self.take(*rule.old)
        if entry is None:
            return
        if rule.negated and not isinstance(entry.value, Branch):
            self.value(rule.kind, rule.name, rule.new, not entry.plain(), entry, rule.old)
        elif not rule.new and is_deletion(entry):
            self.delete(rule.kind, rule.name, entry, rule.old)
        else:
            self.put(rule.kind, rule.name, rule.new, entry, rule.old)

    def texts(self) -> list[tuple[Key, str]]:
        """Each new document as text; deletions first, so that documents that replace others keep their own order."""
        deletions = [(key, self._text(key, Branch([Entry(MARK, Made("delete"))]))) for key in self.deleted]
        made = [
            (key, write(_headed(key, branch)) if key in self.deleted else self._text(key, branch))
            for key, branch in self.documents.items()
        ]
        return [*deletions, *made]

    def _text(self, key: Key, branch: Branch) -> str:
        return "".join(f"{comment}\n" for comment in self.heads.get(key, ())) + write(_headed(key, branch))


def _key(kind: str, name: str, *, only: bool = False) -> Key:
    return kind, name, only or kind in CONTROLPLANE_KINDS


def _headed(key: Key, branch: Branch) -> Branch:
    kind, name, _ = key
    head = [Entry("apiVersion", Made(API_VERSION)), Entry("kind", Made(kind))]
    if name:
        head.append(Entry("name", Made(name)))
    return Branch([*head, *branch.entries], branch.foot)


def is_deletion(entry: Entry) -> bool:
    return isinstance(entry.value, Branch) and entry.value.get(MARK) is not None
