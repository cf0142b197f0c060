"""The shape of kinds: fields, types, and how lists and maps of them are merged.

Those of the builtin kinds were read from a real API server (`tools/kube_schemas.py`); those of custom kinds come with
their definitions. A `Schema` is one place in that shape; the places below it are looked up when they are asked for,
because shapes are large and may contain themselves.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from enum import Enum
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

Obj = dict[str, Any]
Json = Mapping[str, Any]

REFERENCE = "#/components/schemas/"


class Form(Enum):
    """What stands at a place."""

    STRUCT = "struct"  # named fields
    MAP = "map"  # keys at will, all values alike
    LIST = "list"
    SCALAR = "scalar"
    ANY = "any"  # whatever the value itself is


class Schema:
    """One place. Two of them are the same place only if they are the same object."""

    def __init__(self, raw: Json, definitions: Json, *, custom: bool = False) -> None:
        self.custom = custom
        self._definitions = definitions
        name = raw.get("$ref", "").removeprefix(REFERENCE)
        self.name: str = name
        self.local = raw  # what is said at the place itself, beside a reference to a named shape
        self.raw: Json = {**definitions[name], **raw} if name else raw
        self._fields: dict[str, Schema | None] = {}

    @classmethod
    def from_crd(cls, open_api_v3_schema: Json) -> Schema:
        """Of a custom kind; the API server itself puts these three fields in, whatever the definition says."""
        definitions = _builtin_definitions()
        properties = {
            **open_api_v3_schema.get("properties", {}),
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": f"{REFERENCE}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
        }
        return cls({**open_api_v3_schema, "type": "object", "properties": properties}, definitions, custom=True)

    @cached_property
    def form(self) -> Form:
        raw = self.raw
        if raw.get("x-kubernetes-int-or-string") or ("oneOf" in raw and "properties" not in raw):
            return Form.SCALAR
        kind = raw.get("type")
        if kind == "array":
            return Form.LIST
        if kind == "object" or "properties" in raw or "additionalProperties" in raw:
            return Form.STRUCT if raw.get("properties") else Form.MAP
        if kind in ("string", "integer", "number", "boolean"):
            return Form.SCALAR
        return Form.ANY

    @property
    def type(self) -> str:
        """`string`, `integer`, `number`, `boolean`, or nothing where several will do."""
        if (
            self.raw.get("x-kubernetes-int-or-string")
            or "oneOf" in self.raw
            or self.raw.get("format") == "int-or-string"
        ):
            return ""
        return str(self.raw.get("type", ""))

    @property
    def format(self) -> str:
        return str(self.raw.get("format", ""))

    @cached_property
    def field_names(self) -> tuple[str, ...]:
        return tuple(self.raw.get("properties", {}))

    @cached_property
    def ever_present(self) -> tuple[str, ...]:
        """Fields that the API server writes whether or not anybody set them."""
        places = ((name, self.field(name)) for name in self.field_names)
        return tuple(name for name, place in places if place and (place.is_inline_struct or place.always_written))

    @property
    def default(self) -> Any:
        return self.raw.get("default")

    @property
    def is_inline_struct(self) -> bool:
        """A struct that is always there, if empty, in objects as the API server writes them."""
        return self.local.get("default") == {} and self.form is Form.STRUCT

    @property
    def keeps_zero(self) -> bool:
        """Whether an empty text, 0 or false is told apart from nothing."""
        return bool(self.local.get("zero"))

    @property
    def always_written(self) -> str:
        """As `null` or as a `zero`, if it is written even when there is nothing to write."""
        return str(self.local.get("always", ""))

    @property
    def preserves_unknown(self) -> bool:
        return bool(self.raw.get("x-kubernetes-preserve-unknown-fields"))

    @property
    def is_embedded(self) -> bool:
        return bool(self.raw.get("x-kubernetes-embedded-resource"))

    @cached_property
    def is_atomic(self) -> bool:
        """One owner for the whole of it, and merged as a whole."""
        if self.form is Form.LIST:
            return self.list_type == "atomic"
        if not self.custom and (self.form is Form.ANY or self._is_free):
            return True
        return self.raw.get("x-kubernetes-map-type") == "atomic"

    @property
    def _is_free(self) -> bool:
        return self.form is Form.MAP and "additionalProperties" not in self.raw

    @cached_property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`; where only the older words for patches stand, they decide."""
        stated = self.raw.get("x-kubernetes-list-type")
        if stated:
            return str(stated)
        if "merge" in self.patch_strategies:
            return "map" if self.merge_key else "set"
        return "atomic"

    @cached_property
    def list_keys(self) -> tuple[str, ...]:
        keys = self.raw.get("x-kubernetes-list-map-keys")
        return tuple(keys) if keys else (self.merge_key,)

    @cached_property
    def patch_strategies(self) -> tuple[str, ...]:
        return tuple(part for part in self.raw.get("x-kubernetes-patch-strategy", "").split(",") if part)

    @property
    def merge_key(self) -> str:
        return str(self.raw.get("x-kubernetes-patch-merge-key", ""))

    def field(self, name: str) -> Schema | None:
        """A field that the shape names."""
        if name not in self._fields:
            raw = self.raw.get("properties", {}).get(name)
            self._fields[name] = None if raw is None else self._at(raw)
        return self._fields[name]

    @cached_property
    def items(self) -> Schema:
        return self._at(self.raw.get("items") or {})

    @cached_property
    def values(self) -> Schema | None:
        """Of what is not a named field; nothing if there may not be such."""
        more = self.raw.get("additionalProperties")
        if isinstance(more, Mapping):
            return self._at(more)
        if more or self.preserves_unknown or (more is None and not self.raw.get("properties")):
            return ANY
        return None

    def child(self, name: str) -> Schema | None:
        return self.field(name) or self.values

    def _at(self, raw: Json) -> Schema:
        if self.preserves_unknown and raw.get("type") == "object" and "$ref" not in raw:
            raw = {"x-kubernetes-preserve-unknown-fields": True, **raw}  # what is below is as free
        if set(raw) == {"$ref"} and not self.custom:
            return _named(raw["$ref"].removeprefix(REFERENCE))
        return Schema(raw, self._definitions, custom=self.custom and "$ref" not in raw)


ANY = Schema({}, {}, custom=True)


def _packed() -> bytes:
    return files("talosmith_lab.kube").joinpath("data/schemas.json.gz").read_bytes()


@cache
def _builtin_definitions() -> Json:
    definitions: Json = json.loads(gzip.decompress(_packed()))["schemas"]
    return definitions


@cache
def fingerprint() -> str:
    """Changes when a builtin shape does."""
    return hashlib.sha256(_packed()).hexdigest()


@cache
def _named(name: str) -> Schema:
    return Schema({"$ref": REFERENCE + name}, _builtin_definitions())


@cache
def _by_kind() -> Mapping[tuple[str, str, str], str]:
    found: dict[tuple[str, str, str], str] = {}
    for name, raw in _builtin_definitions().items():
        for kind in raw.get("x-kubernetes-group-version-kind", ()):
            found.setdefault((kind["group"], kind["version"], kind["kind"]), name)
    return found


def schema_of(group: str, version: str, kind: str) -> Schema | None:
    """Of a builtin kind; nothing if there is no such."""
    name = _by_kind().get((group, version, kind))
    return None if name is None else _named(name)


def schema_for(obj: Obj) -> Schema | None:
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    return schema_of(group, version, str(obj.get("kind", "")))


def definitions() -> Json:
    """All named shapes, as the document of an API would have them."""
    return _builtin_definitions()
