"""The inventory's JSON Schema: for editors, and for looking up which keys are known at a path."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, Literal

from talosmith.inventory.parse import Path
from talosmith.inventory.schema import Inventory
from talosmith.model.section import Section

NODES_KEYS = ("controlplane", "workers")


@cache
def full_schema() -> dict[str, Any]:
    return Inventory.model_json_schema(mode="validation")


@cache
def _texts(model: type[Section]) -> dict[str, str]:
    """The texts that stand below fields; reading them from the source at every start would cost too much."""
    found = ast.parse(textwrap.dedent(inspect.getsource(model))).body[0]
    texts = {}
    for statement, following in pairwise(getattr(found, "body", [])):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                texts[name] = " ".join(text.split())
    return texts


def _describe(schema: dict[str, Any], model: type[Section]) -> None:
    for name, text in _texts(model).items():
        if name in schema.get("properties", {}):
            schema["properties"][name]["description"] = text


def _sections(model: type[Section]) -> Iterator[type[Section]]:
    for below in model.__subclasses__():
        yield below
        yield from _sections(below)


def editor_schema(part: Literal["cluster", "nodes"] = "cluster") -> dict[str, Any]:
    """The schema an editor checks one file with.

    A file of an environment changes a few values of another inventory, so a section in it may be incomplete:
    `required` is kept only where a list's items need it, and at the top unless the file extends another.
    """
    schema = copy.deepcopy(full_schema())
    for model in _sections(Section):
        found = schema["$defs"].get(model.__name__, {})
        for ancestor in reversed(model.__mro__):
            if issubclass(ancestor, Section) and ancestor is not Section:
                _describe(schema if model is Inventory else found, ancestor)
    required = schema.pop("required", [])
    for name, definition in schema["$defs"].items():
        if name not in ("NodeEntry",):
            definition.pop("required", None)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "talosmith inventory"
    if part == "nodes":
        schema["title"] = "talosmith nodes"
        schema["properties"] = {key: schema["properties"][key] for key in NODES_KEYS}
    else:
        schema["if"] = {"not": {"required": ["extends"]}}
        schema["then"] = {"required": required}
    return schema


def keys_at(path: Path) -> set[str]:
    """The keys that may stand at a path of the inventory."""
    found = [full_schema()]
    for step in path:
        found = [below for schema in found for below in _below(schema, step)]
    return {key for schema in found for option in _options(schema) for key in option.get("properties", {})}


@cache
def _places() -> dict[str, list[str]]:
    places: dict[str, list[str]] = {}
    for section, schema in full_schema()["properties"].items():
        for option in _options(schema):
            for key in option.get("properties", {}):
                places.setdefault(key, []).append(f"{section}.{key}")
    return places


def places_of(key: str) -> list[str]:
    """Where else a key would be known: `network.vip` for `vip`."""
    return _places().get(key, [])


def _options(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "$ref" in schema:
        yield from _options(full_schema()["$defs"][schema["$ref"].rpartition("/")[2]])
    elif "anyOf" in schema:
        for option in schema["anyOf"]:
            yield from _options(option)
    else:
        yield schema


def _below(schema: dict[str, Any], step: str | int) -> Iterator[dict[str, Any]]:
    for option in _options(schema):
        if isinstance(step, int):
            if isinstance(option.get("items"), dict):
                yield option["items"]
        elif step in option.get("properties", {}):
            yield option["properties"][step]
        elif isinstance(option.get("additionalProperties"), dict):
            yield option["additionalProperties"]
        else:
            yield from option.get("patternProperties", {}).values()
