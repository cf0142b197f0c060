"""Strict loading: text to documents whose every field Talos knows, with values as Talos would write them.

A loaded document is a plain dict that holds what its text said and nothing else. It is never changed afterwards:
patched documents share what the patch did not touch.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from talosmith.desired.config.nodes import (
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    compose,
    from_value,
    is_null,
    is_tagged,
    line_of,
    plain,
)
from talosmith.desired.config.problems import Path, Refusal, fail, fail_all
from talosmith.desired.config.schema.documents import API_VERSION, KINDS, MAIN, MAIN_KEYS, NEWEST, Document, clashes
from talosmith.desired.config.schema.notation import Arguments, Free, ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema.scalars import Scalar

_SKIP: Any = object()  # null where null says nothing


def load(text: str, source: str = "machine config") -> list[Document]:
    """The documents in a text, the main one first. Raises `ConfigError` with everything that is wrong."""
    documents = load_nodes(compose(text, source), source)
    if not documents:
        raise fail("no machine config in it", source)
    return documents


def load_values(values: Sequence[Mapping[str, Any]], source: str) -> list[Document]:
    """The same from plain values, such as an inventory has read them."""
    return load_nodes([from_value(value) for value in values], source)


def load_nodes(nodes: Sequence[Node], source: str) -> list[Document]:
    documents: list[Document] = []
    lines: list[int] = []
    problems: list[Refusal] = []
    for node in nodes:
        if is_null(node):
            continue
        if not isinstance(node, MappingNode):
            problems.append(Refusal((), "a machine config document is a mapping", line_of(node)))
            continue
        reader = Reader()
        struct = _struct_for(node, reader)
        if struct is not None:
            documents.append(reader.struct(struct, node, ()))
            lines.append(line_of(node))
        problems += reader.problems
    if not problems:
        problems = [Refusal((), what, lines[index]) for index, what in clashes(documents)]
    if problems:
        raise fail_all(problems, source)
    return sorted(documents, key=lambda document: "kind" in document)


def _struct_for(node: MappingNode, reader: Reader) -> Struct | None:
    head = {key.value: value for key, value in node.value if isinstance(key, ScalarNode)}
    kind = head["kind"].value if isinstance(head.get("kind"), ScalarNode) else ""
    version = head["apiVersion"].value if isinstance(head.get("apiVersion"), ScalarNode) else ""
    version = version or (API_VERSION if any(key in head for key in MAIN_KEYS) else "")
    if not kind and version == API_VERSION:
        return MAIN
    if kind in KINDS and version == API_VERSION:
        return KINDS[kind]
    if not kind:
        what = "has neither a kind nor a machine or cluster section"
    elif not version:
        what = f"has the kind {kind} but no apiVersion (it is {API_VERSION})"
    elif kind in KINDS:
        what = f"has an apiVersion that Talos does not know for {kind} (it is {API_VERSION})"
    else:
        close = difflib.get_close_matches(kind, KINDS, n=1)
        what = f"has the kind {kind}, which no Talos up to {NEWEST} knows" + (
            f"; did you mean {close[0]}?" if close else ", the newest that talosmith knows"
        )
    reader.problems.append(Refusal((), f"the document {what}", line_of(node)))
    return None


class Reader:
    """Reads nodes by their type and collects what is wrong with them."""

    def __init__(self) -> None:
        self.problems: list[Refusal] = []

    def struct(self, struct: Struct, node: Node, path: Path) -> Any:
        if not isinstance(node, MappingNode):
            return self._wrong(node, path, "is not a mapping")
        made: dict[str, Any] = {}
        fields = struct.fields
        for key, value in node.value:
            name = key.value
            field = fields.get(name) if isinstance(key, ScalarNode) else None
            if field is None:
                self._unknown(struct, key, path)
                continue
            if name in made:
                self._wrong(key, (*path, name), "is there twice")
            read = self.value(field.type, value, (*path, name), nullable=field.nullable)
            if read is not _SKIP:
                made[name] = read
        return made

    def value(self, of: Type, node: Node, path: Path, *, nullable: bool = False) -> Any:
        if isinstance(of, Scalar):
            if not isinstance(node, ScalarNode):
                return self._wrong(node, path, "is not a single value")
            if is_tagged(node):
                return self._wrong(node, path, "has a YAML tag, which is not taken here")
            if is_null(node):
                return None if nullable else _SKIP
            try:
                return of.read(node.value, not node.style)
            except ValueError as error:
                return self._wrong(node, path, str(error))
        if is_null(node):
            return None if nullable else _SKIP
        if isinstance(of, Struct):
            return self.struct(of, node, path)
        if isinstance(of, ListOf):
            return self._list(of, node, path)
        return self._mapping(of, node, path)

    def _list(self, of: ListOf, node: Node, path: Path) -> Any:
        if not isinstance(node, SequenceNode):
            return self._wrong(node, path, "is not a list")
        items = [self._item(of, item, (*path, index)) for index, item in enumerate(node.value)]
        return [item for item in items if item is not _SKIP]

    def _item(self, of: ListOf | MapOf, node: Node, path: Path) -> Any:
        """Where Go has a pointer, Talos takes no null: its code would trip over it."""
        if of.nullable and is_null(node):
            return self._wrong(node, path, "is null")
        return self.value(of.item if isinstance(of, ListOf) else of.value, node, path, nullable=of.nullable)

    def _mapping(self, of: MapOf | Free | Arguments, node: Node, path: Path) -> Any:
        if not isinstance(node, MappingNode):
            return self._wrong(node, path, "is not a mapping")
        made: dict[str, Any] = {}
        for key, value in node.value:
            name = key.value
            if not isinstance(key, ScalarNode):
                self._wrong(key, path, "has a key that is not text")
            elif name in made:
                self._wrong(key, (*path, name), "is there twice")
            elif name == "<<" and not key.style:
                self._wrong(key, path, "uses a merge key (<<), which is not taken here")
            elif isinstance(of, Free):
                made[name] = self._free(value, (*path, name))
            elif isinstance(of, Arguments):
                made[name] = self._argument(value, (*path, name))
            else:
                read = self._item(of, value, (*path, name))
                made[name] = _zero(of.value) if read is _SKIP else read
        return made

    def _free(self, node: Node, path: Path) -> Any:
        try:
            return plain(node)
        except ValueError as error:
            return self._wrong(node, path, str(error))

    def _argument(self, node: Node, path: Path) -> Any:
        if isinstance(node, ScalarNode):
            return None if is_null(node) or not node.value else node.value
        if isinstance(node, SequenceNode) and all(isinstance(item, ScalarNode) for item in node.value):
            return [item.value for item in node.value if not is_null(item)]
        return self._wrong(node, path, "is neither text nor a list of text")

    def _unknown(self, struct: Struct, key: Node, path: Path) -> None:
        name = str(key.value) if isinstance(key, ScalarNode) else "a key that is not text"
        close = difflib.get_close_matches(name, struct.fields, n=1)
        what = "is not a field that Talos knows" + (f"; did you mean {close[0]}?" if close else "")
        self.problems.append(Refusal((*path, name), what, line_of(key)))

    def _wrong(self, node: Node, path: Path, what: str) -> Any:
        self.problems.append(Refusal(path, what, line_of(node)))
        return _SKIP


def _zero(of: Type) -> Any:
    return of.zero if isinstance(of, Scalar) else None
