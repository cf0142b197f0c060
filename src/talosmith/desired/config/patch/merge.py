"""Talos' strategic merge: a patch document laid over a document, by the rules of each field's type.

Nothing is changed in place. The result shares with the old document whatever the patch does not touch, so that
laying a small patch over a big config costs what the patch is worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from talosmith.desired.config.problems import Path, Refusal
from talosmith.desired.config.schema.documents import Document, struct_of
from talosmith.desired.config.schema.gourl import merge_urls
from talosmith.desired.config.schema.notation import Arguments, Field, Free, ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema.scalars import Scalar


def merge(left: Document, right: Document) -> Document:
    """The document with the patch document of the same kind and name laid over it."""
    return _struct(struct_of(left), left, right, ())


def _struct(struct: Struct, left: Mapping[str, Any], right: Mapping[str, Any], path: Path) -> dict[str, Any]:
    if struct.atomic:
        return dict(right)
    if struct.frozen:
        raise Refusal(path, f"Talos cannot merge into a {struct.name} that is already there; delete that one first")
    merged = dict(left)
    for key, new in right.items():
        if new is not None:
            field = struct.fields[key]
            merged[key] = _field(field, left.get(key), new, (*path, key))
    for field in struct.erasing:
        if right.get(field.key) is None and left.get(field.key) is not None:
            merged[field.key] = _erased(field.type, left[field.key])
    return merged


def _field(field: Field, old: Any, new: Any, path: Path) -> Any:
    if field.replace:
        return old if isinstance(field.type, Free) and not new else new
    if old is None and not (isinstance(field.type, Scalar) or _keyed(field.type)):
        return new
    if field.nullable and isinstance(field.type, Scalar) and field.type.merge == "set":
        return new
    return _value(field.type, old, new, path)


def _value(of: Type, old: Any, new: Any, path: Path) -> Any:
    if isinstance(of, Scalar):
        return _scalar(of, old, new, path)
    if isinstance(of, Struct):
        return _struct(of, old, new, path)
    if isinstance(of, ListOf):
        return _keyed_list(of, old or [], new, path) if of.key else [*old, *new]
    if isinstance(of, Arguments):
        return {**old, **new}
    if isinstance(of, MapOf):
        return _map(of, old, new, path)
    return _free(old, new, path)


def _scalar(of: Scalar, old: Any, new: Any, path: Path) -> Any:
    if old is None or of.merge in ("always", "erase"):
        return new
    if of.merge == "refuse":
        raise Refusal(path, "Talos cannot merge this into a value that is already there; delete that one first")
    if of.merge == "url":
        try:
            return merge_urls(old, new) if old and new else old or new
        except ValueError as error:
            raise Refusal(path, str(error)) from None
    if of.merge == "size" and "%" in new and old and "%" not in old:
        return old
    return old if new == of.zero else new


def _map(of: MapOf, old: Mapping[str, Any], new: Mapping[str, Any], path: Path) -> dict[str, Any]:
    merged = dict(old)
    for key, value in new.items():
        if merged.get(key) is None:
            merged[key] = value
        elif value is not None:
            merged[key] = _value(of.value, merged[key], value, (*path, key))
    return merged


def _keyed(of: Type) -> bool:
    return isinstance(of, ListOf) and bool(of.key)


def _keyed_list(of: ListOf, old: list[Any], new: list[Any], path: Path) -> list[Any]:
    merged = list(old)
    known = len(old) if of.replaces else None  # what the patch itself added is not looked at then
    for index, item in enumerate(new):
        if item is None or any(one is None for one in merged):
            raise Refusal((*path, index), "Talos cannot merge a list that has null in it")
        same = [at for at, one in enumerate(merged[:known]) if _same_item(of.key, one, item)]
        if not same:
            merged.append(item)
        elif of.replaces:
            merged[same[-1]] = item
        else:
            merged[same[0]] = _value(of.item, merged[same[0]], item, (*path, index))
    return merged


def _same_item(key: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    if key != "interface" or new.get(key):
        return (old.get(key) or "") == (new.get(key) or "")
    # An interface without a name is known by its selector. To Talos two selectors that say `physical` are never
    # the same.
    one, other = old.get("deviceSelector"), new.get("deviceSelector")
    if one is None or other is None or one.get("physical") is not None or other.get("physical") is not None:
        return False
    return {name: text for name, text in one.items() if text} == {name: text for name, text in other.items() if text}


def _free(old: Any, new: Any, path: Path) -> Any:
    if type(old) is not type(new):
        raise Refusal(path, f"cannot be merged: it is {_kind(old)} and the patch has {_kind(new)}")
    if isinstance(old, list):
        return [*old, *new]
    if isinstance(old, dict):
        merged = dict(old)
        for key, value in new.items():
            merged[key] = value if merged.get(key) is None else _free(merged[key], value, (*path, str(key)))
        return merged
    return new if new or isinstance(new, bool) else old


def _kind(value: Any) -> str:
    names = {dict: "a mapping", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _erased(of: Type, old: Any) -> Any:
    """Talos removes selectors and sizes when the patch for their document does not repeat them."""
    if not isinstance(of, Struct):
        return None
    return {**old, **{field.key: _erased(field.type, old.get(field.key) or {}) for field in of.erasing}}
