"""The kinds of resources, read from `kinds.yaml`: their names, how they are printed, how they are encoded."""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import yaml
from google.protobuf.struct_pb2 import Struct

from talosmith.model.versions import Version
from talosmith_lab import wire

DEFINITIONS = "ResourceDefinitions.meta.cosi.dev"
NAMESPACES = "Namespaces.meta.cosi.dev"

_TOKEN = re.compile(r"(?P<name>[\w@]+)=(?P<number>\d+)(?P<many>\*)?(?::(?P<type>\w+))?(?P<open>\{)?|(?P<close>\})")


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    number: int
    many: bool
    type: str
    inner: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    type: str
    name: str  # one of them
    namespace: str
    aliases: tuple[str, ...] = ()  # besides those that follow from the type
    sensitive: bool = False
    since: tuple[int, int] = (0, 0)  # the first line of Talos that has it
    columns: Mapping[str, str] = field(default_factory=dict)
    fields: tuple[Field, ...] = ()

    def encode(self, spec: Any) -> bytes:
        if self.fields and self.fields[0].name == "@":
            return _one(self.fields[0], spec)
        return _message(self.fields, spec)

    def definition(self) -> dict[str, Any]:
        """The spec of its `ResourceDefinition`, with every name it goes by."""
        plural, _, suffix = self.type.partition(".")
        capitals = "".join(letter for letter in plural if letter.isupper()).lower()
        short = [capitals, *([] if capitals.endswith("s") else [f"{capitals}s"])] if len(capitals) > 1 else []
        aliases = [*self.aliases, self.name.lower(), *short]
        parts = suffix.split(".")
        longer = [".".join([plural.lower(), *parts[:count]]) for count in range(len(parts))]
        return {
            "type": self.type,
            "displayType": self.name,
            "defaultNamespace": self.namespace,
            "aliases": aliases,
            "allAliases": [*longer, *aliases],
            "printColumns": [{"name": name, "jsonPath": path} for name, path in self.columns.items()],
            **({"sensitivity": "sensitive"} if self.sensitive else {}),
        }


@cache
def kinds() -> Mapping[str, Kind]:
    """By type."""
    found = {name: _kind(name, entry) for name, entry in _data()["kinds"].items()}
    definition = _kind(
        DEFINITIONS,
        {
            "name": "ResourceDefinition",
            "namespace": "meta",
            "aliases": ["api-resources"],
            "columns": {"Aliases": "{.aliases[:]}"},
            "fields": "type=1 displayType=2 defaultNamespace=3 aliases=4* allAliases=5* "
            "printColumns=6*{name=1 jsonPath=2} sensitivity=7:Sensitivity",
        },
    )
    namespace = _kind(NAMESPACES, {"name": "Namespace", "namespace": "meta", "fields": "description=1"})
    return {**found, DEFINITIONS: definition, NAMESPACES: namespace}


@cache
def kinds_of(version: str) -> Mapping[str, Kind]:
    """Those that a Talos of this version has."""
    line = Version.parse(version).line
    return {name: kind for name, kind in kinds().items() if kind.since <= line}


@cache
def _data() -> Mapping[str, Any]:
    text = files("talosmith_lab.resources").joinpath("kinds.yaml").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return loaded


def _kind(type_: str, entry: Mapping[str, Any]) -> Kind:
    return Kind(
        type=type_,
        name=entry["name"],
        namespace=entry["namespace"],
        aliases=tuple(entry.get("aliases", ())),
        sensitive=entry.get("sensitive", False),
        since=tuple(entry.get("since", (0, 0))),
        columns=entry.get("columns", {}),
        fields=_fields(_TOKEN.finditer(entry["fields"])),
    )


def _fields(tokens: Iterator[re.Match[str]]) -> tuple[Field, ...]:
    found: list[Field] = []
    for token in tokens:
        if token["close"]:
            break
        inner = _fields(tokens) if token["open"] else ()
        kind = "message" if token["open"] else token["type"] or "s"
        found.append(Field(token["name"], int(token["number"]), bool(token["many"]), kind, inner))
    return tuple(found)


def _message(fields: tuple[Field, ...], values: Mapping[str, Any]) -> bytes:
    out = b""
    for one in fields:
        value = values.get(one.name)
        if value is None:
            continue
        out += b"".join(_one(one, item) for item in value) if one.many else _one(one, value)
    return out


def _one(one: Field, value: Any) -> bytes:
    if one.type in _ENCODERS:
        return _ENCODERS[one.type](one.number, value)
    if one.type == "message":
        return wire.blob(one.number, _message(one.inner, value))
    return wire.number(one.number, _enumerations()[one.type][value])


@cache
def _enumerations() -> Mapping[str, Mapping[str, int]]:
    return {**_data()["enumerations"], "Sensitivity": {"": 0, "sensitive": 1}}


def _address(number: int, value: str) -> bytes:
    return wire.blob(number, wire.blob(1, ipaddress.ip_address(value).packed)) if value else b""


def _prefix(number: int, value: str) -> bytes:
    if not value:
        return b""
    prefix = ipaddress.ip_interface(value)
    return wire.blob(number, wire.blob(1, prefix.ip.packed) + wire.number(2, prefix.network.prefixlen))


def _map(number: int, value: Mapping[str, str]) -> bytes:
    return b"".join(
        wire.blob(number, wire.blob(1, key.encode()) + wire.blob(2, inner.encode())) for key, inner in value.items()
    )


def _pair(number: int, value: Mapping[str, str]) -> bytes:
    parts = [
        wire.blob(place, base64.b64decode(value[key])) for place, key in ((1, "crt"), (2, "key")) if key in value
    ]
    return wire.blob(number, b"".join(parts))


def _free(number: int, value: Mapping[str, Any]) -> bytes:
    message = Struct()
    message.update(dict(value))
    return wire.blob(number, message.SerializeToString())


_ENCODERS: Mapping[str, Callable[[int, Any], bytes]] = {
    "s": lambda number, value: wire.blob(number, str(value).encode()),
    "i": lambda number, value: wire.number(number, int(value)),
    "b": lambda number, value: wire.number(number, int(value)),
    "d": wire.double,
    "a": _address,
    "p": _prefix,
    "h": lambda number, value: wire.blob(number, bytes.fromhex(value.replace(":", ""))),
    "m": _map,
    "u": lambda number, value: wire.blob(number, wire.blob(1, value.encode())),
    "y": lambda number, value: wire.blob(number, value.encode()),
    "c": _pair,
    "k": lambda number, value: wire.blob(number, wire.blob(1, base64.b64decode(value["key"]))),
    "S": _free,
}
