"""Objects of custom kinds: what their definition does not have is dropped, defaults are filled, the rest checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from talosmith_lab.kube.errors import cause, invalid_value, required
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kube.schema import Form, Schema

_UNTOUCHED = ("apiVersion", "kind", "metadata")


def pruned_and_filled(obj: Obj, schema: Schema) -> Obj:
    made = {name: value for name, value in obj.items() if name in _UNTOUCHED}
    rest = _shaped({name: value for name, value in obj.items() if name not in _UNTOUCHED}, schema, _UNTOUCHED)
    made.update(rest)
    return made


def _shaped(value: Any, schema: Schema, skipped: tuple[str, ...] = ()) -> Any:
    if isinstance(value, list):
        return [_shaped(item, schema.items) for item in value] if schema.form is Form.LIST else value
    if not isinstance(value, dict) or schema.form not in (Form.STRUCT, Form.MAP, Form.ANY):
        return value
    made: Obj = {}
    for name, inner in value.items():
        place = schema.child(name)
        if place is None:
            continue
        if inner is None and schema.field(name) is not None and not place.raw.get("nullable"):
            if place.default is not None:
                continue
            made[name] = inner
            continue
        made[name] = _shaped(inner, place)
    for name in schema.field_names:
        place = schema.field(name)
        if name in skipped or name in made or place is None or place.default is None:
            continue
        made[name] = _shaped(place.default, place)
    return made


def problems(obj: Obj, schema: Schema) -> list[Obj]:
    """What is wrong with the object, in the API server's words."""
    return list(_problems({**obj, "metadata": {}}, schema, ""))


def _problems(value: Any, schema: Schema, path: str) -> Iterator[Obj]:
    raw = schema.raw
    if value is None:
        if not raw.get("nullable") and raw.get("type"):
            yield _wrong_type(path, raw["type"], "null")
        return
    wrong = _type_problem(value, raw, path)
    if wrong is not None:
        yield wrong
        yield from _enum(value, raw, path)
        return
    yield from _scalar(value, raw, path)
    yield from _enum(value, raw, path)
    if isinstance(value, list):
        yield from _counted(len(value), raw, path, "Items")
        for place, item in enumerate(value):
            yield from _problems(item, schema.items, f"{path}[{place}]")
        yield from _doubled(value, raw, path)
    elif isinstance(value, dict):
        yield from _object(value, schema, path)


def _doubled(value: list[Any], raw: Mapping[str, Any], path: str) -> Iterator[Obj]:
    """Items of sets, and keys of lists that are maps, are there once."""
    kind, keys = raw.get("x-kubernetes-list-type"), raw.get("x-kubernetes-list-map-keys") or ()
    if kind not in ("set", "map"):
        return
    seen: list[Any] = []
    for place, item in enumerate(value):
        known = item if kind == "set" else {key: item.get(key) for key in keys} if isinstance(item, dict) else item
        if known in seen:
            shown = json.dumps(known, separators=(",", ":"), ensure_ascii=False)
            yield cause("FieldValueDuplicate", f"Duplicate value: {shown}", f"{path}[{place}]")
        seen.append(known)


def _object(value: Obj, schema: Schema, path: str) -> Iterator[Obj]:
    for name in schema.raw.get("required", ()):
        if name not in value:
            yield required(_joined(path, name))
    yield from _counted(len(value), schema.raw, path, "Properties")
    for name in sorted(value):
        place = schema.child(name)
        if place is not None and not (path == "" and name in _UNTOUCHED):
            inner = _joined(path, name) if schema.field(name) is not None else f"{path}.{name}"
            yield from _problems(value[name], place, inner)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _type_problem(value: Any, raw: Mapping[str, Any], path: str) -> Obj | None:
    wanted = raw.get("type")
    if raw.get("x-kubernetes-int-or-string"):
        fits = isinstance(value, int | str) and not isinstance(value, bool)
        return None if fits else _wrong_type(path, "integer,string", _type_of(value))
    if not wanted:
        return None
    found = _type_of(value)
    if found == wanted or (wanted == "number" and found == "integer"):
        return None
    if wanted == "integer" and found == "number" and float(value).is_integer():
        return None
    return _wrong_type(path, str(wanted), found)


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    for kind, name in ((str, "string"), (int, "integer"), (float, "number"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "null"


def _wrong_type(path: str, wanted: str, found: str) -> Obj:
    where = f"{path} in body" if path else "in body"
    return cause(
        "FieldValueTypeInvalid",
        f'Invalid value: "{found}": {where} must be of type {wanted}: "{found}"',
        path or "<nil>",
    )


def _enum(value: Any, raw: Mapping[str, Any], path: str) -> Iterator[Obj]:
    allowed = raw.get("enum")
    if allowed and value not in allowed:
        shown = ", ".join(f'"{one}"' if isinstance(one, str) else str(one) for one in allowed)
        given = f'"{value}"' if isinstance(value, str) else str(value)
        yield cause("FieldValueNotSupported", f"Unsupported value: {given}: supported values: {shown}", path)


def _scalar(value: Any, raw: Mapping[str, Any], path: str) -> Iterator[Obj]:
    if isinstance(value, str):
        longest, shortest, pattern = raw.get("maxLength"), raw.get("minLength"), raw.get("pattern")
        if longest is not None and len(value) > longest:
            yield cause("FieldValueTooLong", f"Too long: may not be more than {longest} bytes", path)
        elif shortest is not None and len(value) < shortest:
            yield invalid_value(path, value, f"{path} in body should be at least {shortest} chars long")
        elif pattern and not re.search(pattern, value):
            yield invalid_value(path, value, f"{path} in body should match '{pattern}'")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        least, most = raw.get("minimum"), raw.get("maximum")
        if most is not None and (value > most or (raw.get("exclusiveMaximum") and value == most)):
            word = "less than" if raw.get("exclusiveMaximum") else "less than or equal to"
            yield invalid_value(path, value, f"{path} in body should be {word} {most}")
        if least is not None and (value < least or (raw.get("exclusiveMinimum") and value == least)):
            word = "greater than" if raw.get("exclusiveMinimum") else "greater than or equal to"
            yield invalid_value(path, value, f"{path} in body should be {word} {least}")


def _counted(count: int, raw: Mapping[str, Any], path: str, what: str) -> Iterator[Obj]:
    most, least = raw.get(f"max{what}"), raw.get(f"min{what}")
    if most is not None and count > most:
        yield cause("FieldValueTooMany", f"Too many: {count}: must have at most {most} {what.lower()}", path)
    if least is not None and count < least:
        yield invalid_value(path, count, f"{path} in body should have at least {least} {what.lower()}")
