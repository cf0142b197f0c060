"""Objects in protocol buffers, as kubectl sends the kinds it knows: read by a table of all their messages.

Answers are always JSON, which every client takes.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from talosmith_lab import wire
from talosmith_lab.kube.cluster import stamp
from talosmith_lab.kube.kinds import Obj

MEDIA = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"
_META = "k8s.io.apimachinery.pkg.apis.meta.v1"
_OBJECT_META = f"{_META}.ObjectMeta"
_TIMES = (f"{_META}.Time", f"{_META}.MicroTime", f"{_META}.Timestamp")
_QUANTITY = "k8s.io.apimachinery.pkg.api.resource.Quantity"
_NUMBER_OR_TEXT = "k8s.io.apimachinery.pkg.util.intstr.IntOrString"
_RAW = (f"{_META}.FieldsV1", "k8s.io.apimachinery.pkg.runtime.RawExtension")

Fields = Mapping[int, tuple[str, str, str]]  # by number: name, type, and how it stands there


class Unreadable(ValueError):
    """Bytes that are not an object, or of a kind that is not known."""


def decoded(data: bytes) -> Obj:
    """The object that a client sent; fields without a value are there, as zeros."""
    if not data.startswith(_MAGIC):
        raise Unreadable("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        envelope = dict(wire.fields(data[len(_MAGIC) :]))
        header = dict(wire.fields(_bytes(envelope.get(1, b""))))
        version, kind = _text(header.get(1, b"")), _text(header.get(2, b""))
        name = message_of(version, kind)
        if name is None:
            raise Unreadable(f'no kind "{kind}" is registered for version "{version}"')
        body = _message(_bytes(envelope.get(2, b"")), name)
    except (wire.BadMessage, UnicodeDecodeError) as problem:
        raise Unreadable(str(problem)) from None
    return {"apiVersion": version, "kind": kind, **body}


@cache
def _messages() -> Mapping[str, Fields]:
    packed = (resources.files("talosmith_lab.kube") / "data/wire.json.gz").read_bytes()
    table = json.loads(gzip.decompress(packed))
    return {
        name: {int(number): (field[0], field[1], field[2]) for number, field in fields.items()}
        for name, fields in table.items()
    }


@cache
def message_of(api_version: str, kind: str) -> str | None:
    group, _, version = api_version.rpartition("/")
    short = group.partition(".")[0] or "core"
    for name in (f"k8s.io.api.{short}.{version}.{kind}", f"{_META}.{kind}"):
        if name in _messages():
            return name
    ends = [name for name in _messages() if name.endswith(f".{version}.{kind}")]
    return ends[0] if len(ends) == 1 else None


def _message(data: bytes, name: str) -> Obj:
    table = _messages().get(name, {})
    made: Obj = {}
    for number, value in wire.fields(data):
        field = table.get(number)
        if field is None:
            continue
        key, kind, how = field
        if how == "map":
            entry = dict(wire.fields(_bytes(value)))
            made.setdefault(key, {})[_text(entry.get(1, b""))] = _value(entry.get(2, b""), kind)
        elif how == "list":
            made.setdefault(key, []).append(_value(value, kind))
        elif how == "inline":
            made.update(_message(_bytes(value), kind))
        else:
            made[key] = _value(value, kind)
    if name == _OBJECT_META:  # where an empty name is none
        return {key: value for key, value in made.items() if value != ""}
    return made


def _value(value: int | bytes, kind: str) -> Any:
    if kind == "string":
        return _text(value)
    if kind == "bool":
        return bool(value)
    if kind in ("int32", "int64"):
        number = int(value) if isinstance(value, int) else 0
        return number - (1 << 64) if number >= 1 << 63 else number
    if kind == "bytes":
        return base64.b64encode(_bytes(value)).decode()
    return _special(_bytes(value), kind)


def _special(data: bytes, kind: str) -> Any:
    """Messages that are one value in JSON."""
    if kind in _TIMES:
        parts = dict(wire.fields(data))
        return stamp(float(parts[1])) if 1 in parts else None
    if kind == _QUANTITY:
        return _text(dict(wire.fields(data)).get(1, b""))
    if kind == _NUMBER_OR_TEXT:
        parts = dict(wire.fields(data))
        return _text(parts.get(3, b"")) if parts.get(1) else _value(parts.get(2, 0), "int32")
    if kind in _RAW:
        raw = _bytes(dict(wire.fields(data)).get(1, b""))
        return json.loads(raw) if raw else None
    if kind.endswith(".ExtraValue"):
        return [_text(value) for _, value in wire.fields(data)]
    return _message(data, kind)


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise Unreadable("a number where a message was expected")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()
