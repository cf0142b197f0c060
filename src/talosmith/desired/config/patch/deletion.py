"""`$patch: delete`: finding the places that a patch marks, and taking them out of a document.

A mark stands in a mapping where a field, a map's entry, a list's item or a whole document would stand. What Talos
does with marks in odd places is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from talosmith.desired.config.nodes import MappingNode, Node, ScalarNode, SequenceNode, line_of
from talosmith.desired.config.problems import Path, Refusal
from talosmith.desired.config.schema.documents import Document, Identity, struct_of
from talosmith.desired.config.schema.notation import Arguments, Field, Free, ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema.scalars import Scalar

MARK = "$patch"
_HEAD = ("version", "kind", "name")  # a document with nothing else says nothing


@dataclass(frozen=True, slots=True)
class Deletion:
    identity: Identity
    path: Path  # empty: the whole document
    chosen_by: tuple[str, str] | None  # for a list's item: the field that picks it, and its text
    line: int


def take_deletions(document: Node) -> tuple[list[Deletion], Node | None]:
    """The marks in a patch document, and the document without them, or None if nothing else is in it."""
    found: list[Deletion] = []
    return found, _prune(document, (), document, found, in_list=False)


def delete(document: Document, deletion: Deletion) -> Document:
    """The document without what the deletion names."""
    try:
        return dict(_without(struct_of(document), document, deletion.path, deletion.chosen_by))
    except LookupError as problem:
        raise Refusal(deletion.path, f"cannot be deleted: {problem}", deletion.line) from None


def _prune(node: Node, path: Path, root: Node, found: list[Deletion], *, in_list: bool) -> Node | None:
    if isinstance(node, MappingNode):
        return _prune_mapping(node, path, root, found, in_list=in_list)
    if not isinstance(node, SequenceNode):
        return node
    pruned = [_prune(item, (*path, index), root, found, in_list=True) for index, item in enumerate(node.value)]
    kept = [item for item in pruned if item is not None]
    if node.value and not kept:
        return None
    return SequenceNode(node.tag, kept, node.start_mark, node.end_mark)


def _prune_mapping(node: MappingNode, path: Path, root: Node, found: list[Deletion], *, in_list: bool) -> Node | None:
    kept = []
    for key, value in node.value:
        if _is_mark(key, value):
            if not in_list and any(isinstance(part, int) for part in path):
                raise Refusal(path, "cannot be deleted: it is inside of a list's item", line_of(key))
            found.append(_deletion(node, path, root, line_of(key), in_list=in_list))
            return None
        rest = _prune(value, (*path, str(key.value)), root, found, in_list=False)
        if rest is not None:
            kept.append((key, rest))
    if node.value and not kept:
        return None
    return MappingNode(node.tag, kept, node.start_mark, node.end_mark)


def _is_mark(key: Node, value: Node) -> bool:
    return key.value == MARK and isinstance(value, ScalarNode) and value.value == "delete"


def _deletion(node: MappingNode, path: Path, root: Node, line: int, *, in_list: bool) -> Deletion:
    head = {key.value: value.value for key, value in root.value if isinstance(value, ScalarNode)}
    version, kind = head.get("apiVersion", ""), head.get("kind", "")
    if bool(version) != bool(kind) or (not path and not kind):
        raise Refusal(path, "$patch: delete needs apiVersion and kind, both or (for v1alpha1's fields) none", line)
    chosen_by = None
    if in_list:
        others = [(key, value) for key, value in node.value if not _is_mark(key, value)]
        if not others:
            raise Refusal(path, "$patch: delete in a list needs a field that says which item", line)
        key, value = others[0]
        chosen_by = (str(key.value), value.value if isinstance(value, ScalarNode) else "")
    return Deletion((kind, head.get("name", "") if kind else ""), path, chosen_by, line)


def says_nothing(node: Node) -> bool:
    """Whether a document is only a head."""
    return isinstance(node, MappingNode) and all(
        isinstance(value, ScalarNode) and key.value in _HEAD for key, value in node.value
    )


def _without(of: Type, value: Any, path: Path, chosen_by: tuple[str, str] | None) -> Any:
    if isinstance(of, Struct) and not of.atomic:
        return _without_field(of, value, path, chosen_by)
    if value is not None and isinstance(of, Free | Arguments | MapOf):
        return _without_key(of, value, path, chosen_by)
    if isinstance(of, ListOf):
        return _without_item(of, value or [], path, chosen_by)
    raise LookupError("path does not exist")


def _without_field(of: Struct, value: Mapping[str, Any], path: Path, chosen_by: tuple[str, str] | None) -> Any:
    field = of.fields.get(str(path[0]))
    if field is None or isinstance(path[0], int):
        raise LookupError("Talos knows no such field")
    inner = value.get(field.key)
    if len(path) == 1:
        return {key: kept for key, kept in value.items() if key != field.key}
    if inner is None and field.nullable:
        raise LookupError("path does not exist")
    return {**value, field.key: _without(field.type, inner if inner is not None else {}, path[1:], chosen_by)}


def _without_key(of: Type, value: Any, path: Path, chosen_by: tuple[str, str] | None) -> Any:
    if not isinstance(value, Mapping) or path[0] not in value:
        raise LookupError("path does not exist")
    if len(path) == 1:
        return {key: kept for key, kept in value.items() if key != path[0]}
    if value[path[0]] is None or isinstance(of, Arguments):
        raise LookupError("path does not exist")
    inner = of.value if isinstance(of, MapOf) else of
    return {**value, path[0]: _without(inner, value[path[0]], path[1:], chosen_by)}


def _without_item(of: ListOf, items: list[Any], path: Path, chosen_by: tuple[str, str] | None) -> list[Any]:
    if len(path) != 1 or not isinstance(path[0], int) or chosen_by is None:
        raise LookupError("Talos deletes whole items of a list, picked by one of their fields, and nothing in them")
    key, text = chosen_by
    field = of.item.fields.get(key) if isinstance(of.item, Struct) and not of.item.atomic else None
    if field is not None:
        for index, item in enumerate(items):
            if item is not None and _as_text(field, item.get(key)) == text:
                return [*items[:index], *items[index + 1 :]]
    raise LookupError("no item matches")


def _as_text(field: Field, value: Any) -> str | None:
    of = field.type
    if not isinstance(of, Scalar) or not of.comparable:
        return None
    if value is None:
        value = None if field.nullable else of.zero
    if value is None or (value == "" and of.name not in ("s", "manifest")):
        return None  # an address that is not given is not the same as the empty text
    return f"{value:#o}" if of.octal else str(value)
