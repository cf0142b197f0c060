"""Patches: read from text or values, then laid over documents.

A patch is a strategic merge (documents, with or without `$patch: delete`) or a list of RFC 6902 operations, in YAML
or JSON. Errors name the patch's source and, where it is known, the line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from talosmith.desired.config.emit import canonical
from talosmith.desired.config.load import load_nodes, load_values
from talosmith.desired.config.nodes import (
    MappingNode,
    Node,
    SequenceNode,
    compose,
    from_value,
    is_null,
    line_of,
    plain,
    substitute,
)
from talosmith.desired.config.patch.deletion import MARK, Deletion, delete, says_nothing, take_deletions
from talosmith.desired.config.patch.jsonpatch import JsonPatchError, Operation, apply_operations
from talosmith.desired.config.patch.merge import merge
from talosmith.desired.config.problems import Path, Refusal, fail, fail_all
from talosmith.desired.config.schema.documents import Document, clashes, identity

Fill = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Overlay:
    """A document of a patch, and the node it came from."""

    document: Document
    node: Node = field(repr=False)


@dataclass(frozen=True, slots=True)
class StrategicPatch:
    source: str
    steps: tuple[Overlay | Deletion, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class JsonPatch:
    source: str
    operations: tuple[Operation, ...] = field(repr=False)


Patch: TypeAlias = StrategicPatch | JsonPatch


def load_patch(text: str, source: str = "patch", fill: Fill | None = None) -> Patch:
    """The patch in a text. `fill` is given every scalar that holds `${` and gives back what is meant."""
    if fill is None or "${" not in text:
        return _load_once(text, source)
    nodes = [substitute(node, fill) for node in _compose_once(text, source)]
    return _patch_from_nodes(nodes, source, marked=MARK in text)


def patch_from_value(value: Mapping[str, Any] | Sequence[Any], source: str, fill: Fill | None = None) -> Patch:
    """The patch that a plain value is: a mapping for a merge, a list for RFC 6902."""
    node = from_value(value)
    return _patch_from_nodes([substitute(node, fill) if fill else node], source, marked=True)


@lru_cache(maxsize=1024)
def _load_once(text: str, source: str) -> Patch:
    if text.lstrip().startswith("["):
        try:
            return JsonPatch(source, _operations(json.loads(text), source))
        except json.JSONDecodeError:
            pass  # a YAML list in flow style may look like JSON and not be it
    return _patch_from_nodes(_compose_once(text, source), source, marked=MARK in text)


@lru_cache(maxsize=1024)
def _compose_once(text: str, source: str) -> tuple[Node, ...]:
    return tuple(compose(text, source))


def _patch_from_nodes(nodes: Sequence[Node], source: str, *, marked: bool) -> Patch:
    """`marked`: there may be `$patch: delete` in it."""
    if all(is_null(node) for node in nodes):
        return JsonPatch(source, ())  # nothing at all; Talos takes it for a list without operations
    if isinstance(nodes[0], SequenceNode):
        return JsonPatch(source, _operations(plain(nodes[0]), source, line_of(nodes[0])))
    return _strategic(nodes, source, marked=marked)


def _operations(value: Any, source: str, line: int = 0) -> tuple[Operation, ...]:
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise fail("a patch is a mapping, or a list of RFC 6902 operations", source, line)
    return tuple(value)


def _strategic(nodes: Sequence[Node], source: str, *, marked: bool) -> StrategicPatch:
    steps: list[Overlay | Deletion] = []
    for node in nodes:
        rest: Node | None = node
        if marked and isinstance(node, MappingNode):
            try:
                deletions, rest = take_deletions(node)
            except Refusal as problem:
                raise fail_all([problem], source) from None
            steps += deletions
        if rest is not None and not is_null(rest) and not says_nothing(rest):
            steps += [Overlay(document, rest) for document in load_nodes([rest], source)]
    if not steps:
        what = "the patch says nothing: a document needs apiVersion and kind, or a machine or cluster section"
        raise fail(what, source, line_of(nodes[0]))
    # The main document's deletions go before its merge and everything else, wherever they stand.
    return StrategicPatch(source, tuple(sorted(steps, key=_turn)))


def _turn(step: Overlay | Deletion) -> int:
    key = identity(step.document) if isinstance(step, Overlay) else step.identity
    return 2 if key[0] else int(isinstance(step, Overlay))


def apply_patches(documents: Sequence[Document], patches: Sequence[Patch]) -> list[Document]:
    """The documents with the patches laid over them, one after the other."""
    made = list(documents)
    for patch in patches:
        made = _apply_json(made, patch) if isinstance(patch, JsonPatch) else _apply_strategic(made, patch)
    return made


def _apply_strategic(documents: list[Document], patch: StrategicPatch) -> list[Document]:
    made = {identity(document): document for document in documents}
    for step in patch.steps:
        try:
            if isinstance(step, Deletion):
                _delete(made, step)
            else:
                key = identity(step.document)
                made[key] = merge(made[key], step.document) if key in made else step.document
        except Refusal as problem:
            if isinstance(step, Overlay):
                problem.line = line_at(step.node, problem.path)
            raise fail_all([problem], patch.source) from None
    result = sorted(made.values(), key=lambda document: "kind" in document)
    clash = clashes(result)
    if clash:
        raise fail_all([Refusal((), what, _line_of(patch, result[index])) for index, what in clash], patch.source)
    return result


def _line_of(patch: StrategicPatch, document: Document) -> int:
    """Where the patch speaks of the document; 0 if it does not."""
    steps = [step for step in patch.steps if isinstance(step, Overlay)]
    return next((line_of(step.node) for step in steps if identity(step.document) == identity(document)), 0)


def _delete(made: dict[tuple[str, str], Document], step: Deletion) -> None:
    if step.identity not in made:
        return  # as Talos 1.14: what does not exist is deleted
    if step.path:
        made[step.identity] = delete(made[step.identity], step)
    else:
        del made[step.identity]


def _apply_json(documents: list[Document], patch: JsonPatch) -> list[Document]:
    if len(documents) != 1 and not patch.operations:
        raise fail("the patch is empty", patch.source)
    if len(documents) != 1:
        raise fail(
            "RFC 6902 patches do not work on configs of several documents, which those for Talos 1.12 and later are",
            patch.source,
            fix="write it as a strategic merge patch",
        )
    try:
        return load_values([apply_operations(canonical(documents[0]), patch.operations)], patch.source)
    except JsonPatchError as error:
        raise fail(str(error), patch.source) from None


def line_at(node: Node, path: Path) -> int:
    """Where the value at a path stands."""
    for part in path:
        if isinstance(node, MappingNode):
            node = next((value for key, value in node.value if key.value == part), node)
        elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
    return line_of(node)
