"""Every table of the product is what Talos' own library says of itself: fields, types, and which Talos knows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from talosmith.desired.config.check.together import CONTROL_PLANE_ONLY
from talosmith.desired.config.schema.documents import KINDS, MAIN, RIVALS
from talosmith.desired.config.schema.notation import Arguments, Free, ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema.scalars import Scalar
from tools import config_since
from tools.config_schema import Described, ask, fields_of, notation_of

# Leading blank lines of a manifest are trimmed when a config is loaded; the library has no type of its own for it.
OWN_SCALARS = {"v1alpha1.cluster.inlineManifests.contents": "manifest"}
Row = tuple[str, str, bool, bool, bool]  # path, type, written when empty, replaced by patches, kept when empty


@pytest.fixture(scope="module")
def answer(peer: Callable[[str], Path]) -> Mapping[str, Any]:
    peer("talos-machinery")
    return ask()


def _ours(struct: Struct, path: str) -> Iterator[Row]:
    for key, field in struct.fields.items():
        notation, inner = _notation(field.type)
        pointer = field.nullable and not (isinstance(field.type, Scalar) and field.type.pointer)
        yield f"{path}.{key}", "*" * pointer + notation, field.always, field.replace, field.kept
        if inner is not None:
            yield from _ours(inner, f"{path}.{key}")


def _notation(of: Type) -> tuple[str, Struct | None]:
    if isinstance(of, Struct):
        return (f"@{of.name}", None) if of.atomic else (".", of)
    if isinstance(of, ListOf | MapOf):
        inner, struct = _notation(of.item if isinstance(of, ListOf) else of.value)
        opening, closing = "[]" if isinstance(of, ListOf) else "{}"
        return f"{opening}{'*' * of.nullable}{closing}{inner}", struct
    if isinstance(of, Free | Arguments):
        return ("free" if isinstance(of, Free) else "args"), None
    return of.name, None


def _theirs(described: Described, path: str) -> Iterator[Row]:
    for field in fields_of(described):
        place = f"{path}.{field['key']}"
        notation, inner = notation_of(field["type"])
        kept = field["type"]["shape"] == "list" and bool(field["type"].get("hasZero"))
        yield (
            place,
            OWN_SCALARS.get(place, notation),
            not field["omitEmpty"],
            "replace" in field.get("merge", ""),
            kept,
        )
        if inner is not None:
            yield from _theirs(inner, place)


def test_same_kinds(answer: Mapping[str, Any]) -> None:
    assert {"v1alpha1", *KINDS} == answer.keys()


@pytest.mark.parametrize("kind", ["v1alpha1", *KINDS])
def test_same_fields_in_the_same_order(kind: str, answer: Mapping[str, Any]) -> None:
    head = (f"{kind}.apiVersion", f"{kind}.kind")  # of every document, and written by hand
    ours = [row for row in _ours(KINDS.get(kind, MAIN), kind) if row[0] not in head]
    theirs = [row for row in _theirs(answer[kind]["type"], kind) if row[0] not in head]
    assert ours == theirs


def test_same_documents_have_names(answer: Mapping[str, Any]) -> None:
    assert {kind for kind in KINDS if "name" in KINDS[kind].fields} == {
        kind for kind, described in answer.items() if described["named"]
    }


def test_same_kinds_exclude_each_other(answer: Mapping[str, Any]) -> None:
    theirs = {kind: set(described["excludes"]) for kind, described in answer.items() if described.get("excludes")}
    assert {kind: set(rivals) for kind, rivals in RIVALS.items()} == theirs


def test_same_kinds_are_for_control_planes_only(answer: Mapping[str, Any]) -> None:
    assert {kind for kind, described in answer.items() if described.get("controlPlaneOnly")} == CONTROL_PLANE_ONLY


def test_which_talos_knows_which_field_is_up_to_date() -> None:
    assert config_since.TARGET.read_text(encoding="utf-8") == config_since.written()
