"""Objects as the API server writes them: with what its structs always have, without what they leave out if empty."""

from __future__ import annotations

from typing import Any

from talosmith_lab.kube.quantity import MILLI, QUANTITY, canonical
from talosmith_lab.kube.schema import Form, Obj, Schema

_ZEROS = {"string": "", "integer": 0, "number": 0, "boolean": False}


def normalized(value: Any, schema: Schema) -> Any:
    """The value after a way through the API server's structs; custom kinds have none and stay as they are."""
    if schema.custom:
        return _custom(value, schema)
    if schema.form is Form.STRUCT and isinstance(value, dict):
        return _struct(value, schema)
    if schema.form is Form.MAP and isinstance(value, dict):
        inner = schema.values
        if inner is not None and inner.name == QUANTITY:  # amounts of resources are counted in thousandths
            return {name: canonical(one, MILLI) for name, one in value.items()}
        return value if inner is None else {name: normalized(one, inner) for name, one in value.items()}
    if schema.form is Form.LIST and isinstance(value, list):
        return [normalized(item, schema.items) for item in value]
    if schema.name == QUANTITY and value is not None:
        return canonical(value)
    return value


def _custom(value: Any, schema: Schema) -> Any:
    if not isinstance(value, dict) or "metadata" not in value:
        return value
    metadata = schema.field("metadata")
    return value if metadata is None else {**value, "metadata": normalized(value["metadata"], metadata)}


def _struct(value: Obj, schema: Schema) -> Obj:
    made = {}
    for name, inner in value.items():
        place = schema.field(name)
        if place is None:
            if schema.values is not None:
                made[name] = inner
            continue  # an unknown field does not survive
        if inner is None or _is_left_out(inner, place):
            continue
        made[name] = normalized(inner, place)
    for name in schema.ever_present:
        if name not in made:
            made[name] = _filled(schema, name)
    return made


def _is_left_out(value: Any, place: Schema) -> bool:
    if place.always_written or place.keeps_zero:
        return False
    if value == "" or value is False or (value == 0 and isinstance(value, int | float)):
        return place.form is Form.SCALAR and place.type != ""
    # A struct without fields says something by being there.
    is_map = place.form is Form.MAP and "additionalProperties" in place.raw
    return (value == [] and place.form is Form.LIST) or (value == {} and is_map)


def _filled(schema: Schema, name: str) -> Any:
    place = schema.field(name)
    if place is None or place.always_written == "null":
        return None
    return _nothing(place) if place.always_written else _struct({}, place)


def _nothing(place: Schema) -> Any:
    if place.name == QUANTITY:
        return "0"
    return _ZEROS.get(place.type)


def zero(obj: Obj, schema: Schema) -> Obj:
    """What a new object of this kind is before anything is set."""
    empty = {"apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    return {**empty, "metadata": {}} if schema.custom else {**empty, **_struct({}, schema)}
