"""Documents and fields that the Talos of a node does not know yet: it would refuse the config as a whole.

There is one schema, that of the newest Talos; what an older one lacks is found by the table in `schema.since`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from talosmith.desired.config.problems import Path
from talosmith.desired.config.schema.documents import API_VERSION, Document
from talosmith.desired.config.schema.replaced import older_form
from talosmith.desired.config.schema.since import FIELDS, KINDS

Line = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Unknown:
    """`index`: which of the documents; `path`: empty for the whole document."""

    index: int
    kind: str
    path: Path
    since: Line

    @property
    def place(self) -> str:
        return ".".join([self.kind, *(part for part in self.path if isinstance(part, str))])

    @property
    def instead(self) -> str:
        """What an older Talos has for it; empty if nothing."""
        return older_form(self.place)


def unknown_to(documents: Sequence[Document], talos: Line) -> list[Unknown]:
    """What a node with this Talos would refuse to load."""
    return [one for index, document in enumerate(documents) for one in _unknown(index, document, talos)]


def _unknown(index: int, document: Document, talos: Line) -> Iterator[Unknown]:
    kind = document.get("kind") or API_VERSION
    if KINDS.get(kind, talos) > talos:
        yield Unknown(index, kind, (), KINDS[kind])
        return
    for place, since in FIELDS.items():
        owner, _, path = place.partition(".")
        if owner == kind and since > talos:
            for found in _places(document, tuple(path.split(".")), ()):
                yield Unknown(index, kind, found, since)


def _places(value: Any, keys: tuple[str, ...], path: Path) -> Iterator[Path]:
    """Where a field is set; lists and maps on the way are looked through."""
    if value is None:
        return
    if not keys:
        yield path
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _places(item, keys, (*path, number))
    elif isinstance(value, dict):
        if keys[0] in value:
            yield from _places(value[keys[0]], keys[1:], (*path, keys[0]))
        elif path and path[-1] == "mirrors":  # a map: its keys are hosts
            for key, inner in value.items():
                yield from _places(inner, keys, (*path, key))
