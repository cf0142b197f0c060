"""Objects in protocol buffers, in which `kubectl create`, `drain`, `auth` and `certificate` send theirs.

Answers are always JSON, which these clients take too. A field that is not in the table is refused if it is set, so
that nothing is lost without a word.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from typing import Any

from talosmith_lab import wire
from talosmith_lab.kube.cluster import stamp
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kube.protobuf_fields import TABLE

MEDIA = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\0"


class Unreadable(ValueError):
    """Bytes that are not an object, or of a kind that is not known."""


def decoded(data: bytes) -> Obj:
    """The object that a client sent."""
    if not data.startswith(_MAGIC):
        raise Unreadable("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")
    try:
        envelope = dict(wire.fields(data[len(_MAGIC) :]))
        header = dict(wire.fields(_bytes(envelope.get(1, b""))))
        version, kind = _text(header.get(1, b"")), _text(header.get(2, b""))
        if kind not in _messages():
            raise Unreadable(f"the lab reads {kind} in {version} only as JSON: use kubectl apply")
        body = _message(_bytes(envelope.get(2, b"")), kind)
    except (wire.BadMessage, UnicodeDecodeError) as problem:
        raise Unreadable(str(problem)) from None
    return {"apiVersion": version, "kind": kind, **body}


@cache
def _messages() -> Mapping[str, Mapping[int, tuple[str, str]]]:
    found = {}
    for line in TABLE.strip().replace("\n ", " ").splitlines():
        message, *fields = line.split()
        parts = (field.split(":") for field in fields)
        found[message] = {int(number): (name, kind) for number, name, kind in parts}
    return found


def _message(data: bytes, name: str) -> Obj:
    made: Obj = {}
    for number, value in wire.fields(data):
        if number not in _messages()[name]:
            if value in (0, b""):
                continue
            raise Unreadable(f"the lab reads field {number} of {name} only as JSON: use kubectl apply")
        key, kind = _messages()[name][number]
        if kind == "-":
            continue
        if kind.endswith("{}"):
            entry = dict(wire.fields(_bytes(value)))
            made.setdefault(key, {})[_text(entry.get(1, b""))] = _value(entry.get(2, b""), kind[:-2])
        elif kind.endswith("[]"):
            made.setdefault(key, []).append(_value(value, kind[:-2]))
        elif (read := _value(value, kind)) not in ("", None) and read is not False:
            made[key] = read  # these clients send empty texts where there is nothing to say
    return made


def _value(value: int | bytes, kind: str) -> Any:
    if kind == "string":
        return _text(value)
    if kind == "bool":
        return bool(value)
    if kind == "int":
        number = int(value) if isinstance(value, int) else 0
        return number - (1 << 64) if number >= 1 << 63 else number
    if kind == "bytes":
        return base64.b64encode(_bytes(value)).decode()
    if kind in _messages():
        return _message(_bytes(value), kind)
    parts = dict(wire.fields(_bytes(value)))
    if kind == "Time":
        return stamp(float(parts[1])) if 1 in parts else None
    if kind == "Quantity":
        return _text(parts.get(1, b""))
    return _text(parts.get(3, b"")) if parts.get(1) else _value(parts.get(2, 0), "int")  # IntOrString


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise Unreadable("a number where a message was expected")
    return value


def _text(value: int | bytes) -> str:
    return _bytes(value).decode()
