"""Fields that a kind does not have, stated twice, or of the wrong type, in the API server's words."""

from __future__ import annotations

import base64
import binascii
import json
import re
from datetime import datetime
from typing import Any

from talosmith_lab.kube.managed_fields_paths import item_element, readable
from talosmith_lab.kube.quantity import QUANTITY
from talosmith_lab.kube.schema import Form, Obj, Schema

MOST = 100  # the API server names no more than these
_QUANTITY = re.compile(r"([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)")
_SUFFIX = re.compile(r"(?:[numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]+)")
_MALFORMED_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
# Structs of the API server that stand in others without a name of their own in JSON, but with one in its messages.
_NAMED: dict[str, tuple[str, ...] | None] = {"LocalObjectReference": ("name",)}
_EMBEDDED: dict[str, dict[str, tuple[str, ...] | None]] = {
    "Volume": {"VolumeSource": None},
    "Probe": {"ProbeHandler": ("exec", "httpGet", "tcpSocket", "grpc")},
    **dict.fromkeys(
        (
            "ConfigMapKeySelector",
            "SecretKeySelector",
            "ConfigMapEnvSource",
            "SecretEnvSource",
            "ConfigMapVolumeSource",
            "ConfigMapProjection",
            "SecretProjection",
        ),
        _NAMED,
    ),
}
_SIZES = {"int32": 31, "int64": 63}


def check_fields(obj: Obj, schema: Schema) -> list[str]:
    """Unknown fields of an object, each as `unknown field "spec.foo"`."""
    found: list[str] = []
    _unknown(obj, schema, "", found)
    return found[:MOST]


def _unknown(value: Any, schema: Schema, path: str, found: list[str]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            here = f"{path}.{name}" if path else name
            place = schema.child(name)
            if place is not None:
                _unknown(inner, place, here, found)
            elif schema.form is Form.STRUCT and not (
                schema.is_embedded and name in ("apiVersion", "kind", "metadata")
            ):
                found.append(f'unknown field "{here}"')
    elif isinstance(value, list) and schema.form is Form.LIST:
        for index, item in enumerate(value):
            _unknown(item, schema.items, f"{path}[{index}]", found)


def check_text(text: str | bytes, schema: Schema) -> tuple[Any, list[str]]:
    """The value of a JSON text, what is stated twice settled as the API server does, and what is odd about it.

    Unknown fields and those that are stated twice are told in the order of the text.
    """
    problems: list[str] = []
    value = json.loads(text, object_pairs_hook=_Pairs)
    return _settled(value, schema, "", problems), problems[:MOST]


class _Pairs(list[tuple[str, Any]]):
    """A JSON object before its keys are looked at."""


def _settled(value: Any, schema: Schema, path: str, problems: list[str]) -> Any:
    if isinstance(value, _Pairs):
        made: Obj = {}
        told: set[str] = set()
        for name, inner in value:
            here = f"{path}.{name}" if path else name
            place = schema.child(name)
            if name in made and name not in told and place is not None:
                told.add(name)
                problem = f'duplicate field "{here}"'
                below: list[str] = []
                again = _settled(inner, place or schema, here, below)
                made[name] = {**made[name], **again} if _both_maps(made[name], again, place) else again
                problems += [*below, problem]
            elif place is None and schema.form is Form.STRUCT:
                again_unknown = name in made
                made[name] = _settled(inner, schema, here, [])
                if not again_unknown and not (schema.is_embedded and name in ("apiVersion", "kind", "metadata")):
                    problems.append(f'unknown field "{here}"')
            else:
                made[name] = _settled(inner, place or schema, here, problems)
        return made
    if isinstance(value, list):
        inner_schema = schema.items if schema.form is Form.LIST else schema
        return [_settled(item, inner_schema, f"{path}[{index}]", problems) for index, item in enumerate(value)]
    return value


def _both_maps(one: Any, other: Any, place: Schema | None) -> bool:
    """Structs and maps that are read twice keep what was read first beside it."""
    return isinstance(one, dict) and isinstance(other, dict) and place is not None and not place.custom


def type_problem(obj: Obj, schema: Schema) -> str:
    """The first value that its field cannot take, as the API server says it after `cannot be handled as a …: `."""
    return _mismatch(obj, schema, str(obj.get("kind", "")), "") or ""


def _mismatch(value: Any, schema: Schema, owner: str, path: str) -> str | None:
    if value is None or schema.form is Form.ANY:
        return None
    if schema.form is Form.SCALAR:
        return _scalar(value, schema, owner, path)
    if schema.form is Form.LIST:
        if not isinstance(value, list):
            return _cannot(value, owner, path, _go_type(schema))
        problems = (_mismatch(item, schema.items, owner, path) for item in value)
    elif not isinstance(value, dict):
        return _cannot(value, owner, path, _go_type(schema))
    elif schema.form is Form.MAP:
        inner = schema.values
        problems = (None if inner is None else _mismatch(one, inner, owner, path) for one in value.values())
    else:
        problems = (_field_mismatch(name, one, schema, path) for name, one in value.items())
    return next((problem for problem in problems if problem), None)


def _field_mismatch(name: str, value: Any, schema: Schema, path: str) -> str | None:
    place = schema.field(name)
    if place is None:
        return None
    owner = schema.name.rpartition(".")[2]
    embedded = next((part for part, names in _EMBEDDED.get(owner, {}).items() if names is None or name in names), "")
    if embedded and not (owner == "Volume" and name == "name"):
        path = f"{path}.{embedded}"
    return _mismatch(value, place, owner, f"{path}.{name}" if path else name)


def _scalar(value: Any, schema: Schema, owner: str, path: str) -> str | None:
    if schema.name == QUANTITY:
        return _quantity(value)
    if schema.type == "":
        is_fit = isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
        return None if is_fit else _cannot(value, owner, path, "int32")
    if schema.type == "string":
        if not isinstance(value, str):
            return _cannot(value, owner, path, _go_type(schema))
        return _text(value, schema.format)
    if schema.type == "boolean":
        return None if isinstance(value, bool) else _cannot(value, owner, path, "bool")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _cannot(value, owner, path, _go_type(schema))
    fits = schema.type == "number" or (isinstance(value, int) and abs(value) < 2 ** _SIZES.get(schema.format, 63))
    return None if fits else _cannot(value, owner, path, _go_type(schema), number=json.dumps(value))


def _text(value: str, form: str) -> str | None:
    if form == "byte":
        try:
            base64.b64decode(value, validate=True)
        except binascii.Error:
            bad = next((at for at, char in enumerate(value) if not re.match(r"[A-Za-z0-9+/=\n\r]", char)), len(value))
            return f"illegal base64 data at input byte {min(bad, len(value) // 4 * 4) if bad == len(value) else bad}"
    if form == "date-time":
        try:
            datetime.fromisoformat(value)
        except ValueError:
            return f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"'
    return None


def _quantity(value: Any) -> str | None:
    if isinstance(value, str):
        match = _QUANTITY.fullmatch(value)
        if match and re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)", match[1]):
            return None if _SUFFIX.fullmatch(match[2]) else "unable to parse quantity's suffix"
        return _MALFORMED_QUANTITY
    return None if isinstance(value, int | float) and not isinstance(value, bool) else _MALFORMED_QUANTITY


def _cannot(value: Any, owner: str, path: str, wanted: str, number: str = "") -> str:
    what = f"number {number}" if number else _json_type(value)
    return f"json: cannot unmarshal {what} into Go struct field {owner}.{path} of type {wanted}"


def _json_type(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    names: dict[type, str] = {dict: "object", list: "array", str: "string"}
    return names.get(type(value), "number")


def _go_type(schema: Schema) -> str:
    """The type of a field in the API server's language."""
    if schema.form is Form.LIST:
        return f"[]{_go_type(schema.items)}"
    if schema.form is Form.MAP:
        inner = schema.values
        if inner is not None and inner.name == QUANTITY:
            return "v1.ResourceList"
        return f"map[string]{'interface {}' if inner is None or inner.form is Form.ANY else _go_type(inner)}"
    if schema.form is Form.STRUCT:
        version, _, name = schema.name.rpartition(".")
        return f"{version.rpartition('.')[2]}.{name}"
    if schema.type == "integer":
        return schema.format or "int"
    return {"boolean": "bool", "number": "float64"}.get(schema.type, schema.type or "int32")


def conversion_problem(obj: Any, schema: Schema) -> str:
    """The same as the API server says it of the result of a strategic merge patch, which is no text any more."""
    if obj is None or schema.form is Form.ANY:
        return ""
    if schema.form is Form.SCALAR:
        if _scalar(obj, schema, "", "") is None:
            return ""
        if schema.type == "string" and isinstance(obj, int) and not isinstance(obj, bool):
            return "cannot convert int64 to string"
        return f"unrecognized type: {_go_type(schema)}"
    if schema.form is Form.LIST:
        if not isinstance(obj, list):
            return f"cannot restore slice from {_kind(obj)}"
        return next((found for item in obj if (found := conversion_problem(item, schema.items))), "")
    if not isinstance(obj, dict):
        word = "map from" if schema.form is Form.MAP else "struct from:"
        return f"cannot restore {word} {_kind(obj)}"
    for name, value in obj.items():
        place = schema.child(name)
        found = "" if place is None else conversion_problem(value, place)
        if found:
            return found
    return ""


def _kind(value: Any) -> str:
    names: dict[type, str] = {dict: "map", list: "slice", str: "string", bool: "bool", int: "int64", float: "float64"}
    return names.get(type(value), "interface")


def typed_problems(obj: Obj, schema: Schema) -> list[str]:
    """What is wrong with an applied object, as server-side apply says it, path first."""
    found: list[str] = []
    _typed(obj, schema, "", found)
    return sorted(found)


def _typed(value: Any, schema: Schema, path: str, found: list[str]) -> None:
    if value is None or schema.form is Form.ANY:
        return
    if schema.form is Form.SCALAR:
        problem = _typed_scalar(value, schema)
        if problem:
            found.append(f"{path}: {problem}")
    elif schema.form is Form.LIST:
        if not isinstance(value, list):
            found.append(f"{path}: expected list, got {_reference(value)}")
            return
        _typed_list(value, schema, path, found)
    elif not isinstance(value, dict):
        found.append(f"{path}: expected map, got {_reference(value)}")
    else:
        for name in sorted(value):
            place = schema.child(name)
            if place is None:
                found.append(f"{path}.{name}: field not declared in schema")
                break  # the API server does not look further at this place
            _typed(value[name], place, f"{path}.{name}", found)


def _typed_list(value: list[Any], schema: Schema, path: str, found: list[str]) -> None:
    seen: set[str] = set()
    for index, item in enumerate(value):
        if schema.list_type == "atomic":
            _typed(item, schema.items, f"{path}[{index}]", found)
            continue
        element = item_element(item, schema, index)
        shown = readable([element])
        if element in seen:
            found.append(f"{path}: duplicate entries for key {shown}")
        seen.add(element)
        _typed(item, schema.items, f"{path}{shown}", found)


def _typed_scalar(value: Any, schema: Schema) -> str:
    wanted = schema.type
    if wanted in ("integer", "number") and (isinstance(value, bool) or not isinstance(value, int | float)):
        return f"expected numeric (int or float), got {_DYNAMIC.get(type(value), 'string')}"
    if wanted == "string" and not isinstance(value, str):
        return f"expected string, got &value.valueUnstructured{{Value:{_literal(value)}}}"
    if wanted == "boolean" and not isinstance(value, bool):
        return f"expected boolean, got {_reference(value)}"
    return ""


_DYNAMIC: dict[type, str] = {list: "[]interface {}", dict: "map[string]interface {}", bool: "bool"}


def _literal(value: Any) -> str:
    """As the API server's language writes plain data in its own syntax."""
    if isinstance(value, dict):
        inside = ", ".join(f"{_literal(name)}:{_literal(value[name])}" for name in sorted(value))
        return f"map[string]interface {{}}{{{inside}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(_literal(item) for item in value)}}}"
    return json.dumps(value)


def _reference(value: Any) -> str:
    if isinstance(value, bool):
        return f"&{{{'true' if value else 'false'}}}"
    if isinstance(value, list):
        return "&{[" + " ".join(_reference(item)[2:-1] for item in value) + "]}"
    if isinstance(value, dict):
        return "&{map[" + " ".join(f"{name}:{_reference(value[name])[2:-1]}" for name in sorted(value)) + "]}"
    return f"&{{{value}}}"
