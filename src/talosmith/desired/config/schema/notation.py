"""The small notation in which the shape of machine config documents is written down, and what it is read into.

A table has a line for each field, in the order in which Talos writes them: the key, the type, then marks. What is
indented below a struct are its fields.

    type:   a scalar's name (see `scalars`), `.` for a struct, `@Name` for one of the shared structs;
            before it `*` (may be null), `[]` (list), `[*]` (list, items may be null), `{}` or `{*}` (map)
    marks:  `!` written even when empty      `=` a patch replaces it instead of merging into it
            `?` a list that is written even when empty, if it is given
            `~key` list items of a patch merge with the item that has the same key; `~~key` they replace it
            `$` secret

A line `<Name` puts the fields of a shared struct in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from talosmith.desired.config.schema.scalars import SCALARS, Scalar


@dataclass(frozen=True, slots=True, eq=False)
class Free:
    """Whatever a mapping may hold; Talos hands it on without looking into it."""


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """Command line arguments: a map whose values are text or lists of text."""


@dataclass(frozen=True, slots=True, eq=False)
class ListOf:
    item: Type
    nullable: bool = False
    key: str = ""  # items of a patch go to the item with the same value here …
    replaces: bool = False  # … and take its place


@dataclass(frozen=True, slots=True, eq=False)
class MapOf:
    value: Type
    nullable: bool = False


@dataclass(slots=True, eq=False)
class Struct:
    """Fields by key. The rest follows from them."""

    name: str
    fields: dict[str, Field] = field(default_factory=dict)
    erasing: tuple[Field, ...] = ()  # a patch without them removes the old value
    frozen: bool = False  # Talos cannot merge two of them
    atomic: bool = False  # a patch replaces it as a whole
    judged_by: tuple[str, ...] = ()  # it counts as empty when these fields are, whatever the others say

    def settle(self) -> None:
        fields = self.fields.values()
        self.erasing = tuple(one for one in fields if not one.nullable and _erases(one.type))
        self.frozen = any(isinstance(one.type, Scalar) and one.type.merge == "frozen" for one in fields)


Type: TypeAlias = Scalar | Free | Arguments | ListOf | MapOf | Struct


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    key: str
    type: Type
    nullable: bool = False  # null is a value of its own: absent, and not the type's zero
    always: bool = False
    replace: bool = False
    secret: bool = False
    kept: bool = False  # given and empty is not the same as absent


_TYPE = re.compile(r"(\*|\[\*?\]|\{\*?\})?(\.|@\w+|[\w-]+)")
FREE, ARGUMENTS = Free(), Arguments()


def parse_table(name: str, table: str, shared: Mapping[str, Struct]) -> Struct:
    """The struct that a table describes."""
    struct = Struct(name)
    stack = [(-1, struct)]
    nested = [struct]
    for line in table.splitlines():
        if not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        while depth <= stack[-1][0]:
            stack.pop()
        owner = stack[-1][1]
        words = line.split()
        if words[0].startswith("<"):
            owner.fields |= shared[words[0][1:]].fields
            continue
        made, inner = _field(owner.name, words, shared)
        owner.fields[made.key] = made
        if inner is not None:
            stack.append((depth, inner))
            nested.append(inner)
    for one in reversed(nested):
        one.settle()
    return struct


def _field(owner: str, words: list[str], shared: Mapping[str, Struct]) -> tuple[Field, Struct | None]:
    key, spec, *marks = words
    match = _TYPE.fullmatch(spec)
    if match is None:
        raise ValueError(f"{owner}.{key}: {spec!r} is not a type")
    wrap, base = match.groups(default="")
    inner = Struct(f"{owner}.{key}") if base == "." else None
    of: Type = inner or _named(base, shared)
    nullable = "*" in wrap
    merging = next((mark for mark in marks if mark.startswith("~")), "")
    if wrap.startswith("["):
        of = ListOf(of, nullable, merging.lstrip("~"), merging.startswith("~~"))
    elif wrap.startswith("{"):
        of = MapOf(of, nullable)
    pointer = wrap == "*" or (isinstance(of, Scalar) and of.pointer)
    return Field(key, of, pointer, "!" in marks, "=" in marks, "$" in marks, "?" in marks), inner


def _named(base: str, shared: Mapping[str, Struct]) -> Type:
    if base.startswith("@"):
        return shared[base[1:]]
    special: dict[str, Type] = {"free": FREE, "args": ARGUMENTS}
    return special.get(base) or SCALARS[base]


def _erases(of: Type) -> bool:
    return of.merge == "erase" if isinstance(of, Scalar) else isinstance(of, Struct) and bool(of.erasing)
