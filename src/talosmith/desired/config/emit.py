"""Documents to text: fields in Talos' order, empty ones left out where Talos leaves them out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from talosmith.desired.config.schema.documents import MAIN, Document, struct_of
from talosmith.desired.config.schema.notation import Field, ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema.scalars import Scalar
from talosmith.yaml import goyaml
from talosmith.yaml.goyaml_scalar import Octal

_SECTIONS = {key: MAIN.fields[key].type.fields for key in ("machine", "cluster")}  # type: ignore[union-attr]


class Fragments:
    """Text of parts that many configs share, found again by the identity of the part.

    Only what `keep` was given is remembered: it must outlive the fragments, so that no other object can take its
    place in memory.
    """

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str, int], str] = {}  # by section, key and identity
        self._alive: list[Any] = []

    def keep(self, documents: Iterable[Document]) -> None:
        for document in documents:
            self._alive.append(document)
            self._kept["", "", id(document)] = self.document(document)
            for section, fields in _SECTIONS.items() if "kind" not in document else ():
                for key, value in (document.get(section) or {}).items():
                    self._kept[section, key, id(value)] = _field_text(fields[key], value)

    def text(self, documents: Iterable[Document]) -> str:
        return "---\n".join([self._kept.get(("", "", id(one))) or self.document(one) for one in documents])

    def document(self, document: Document) -> str:
        if "kind" in document:
            return goyaml.dump(canonical(document))
        parts = [goyaml.dump(_fields(MAIN, document, skip=tuple(_SECTIONS)))]
        for section, fields in _SECTIONS.items():
            content = document.get(section)
            if content is None:
                parts.append(f"{section}: null\n")
                continue
            texts = [
                self._kept.get((section, key, id(value))) or _field_text(field, value)
                for key, field in fields.items()
                if (value := content.get(key)) is not None or field.always
            ]
            parts += [f"{section}:\n", *texts] if any(texts) else [f"{section}: {{}}\n"]
        return "".join(parts)


def emit(documents: Iterable[Document]) -> str:
    """The documents as `talosctl` writes them without comments."""
    return Fragments().text(documents)


def canonical(document: Document) -> dict[str, Any]:
    """The document with its fields in order and the empty ones either written out or left out."""
    return _fields(struct_of(document), document)


def is_empty(of: Type, value: Any) -> bool:
    """Whether Talos would leave the value out."""
    if value is None:
        return True
    if isinstance(of, Scalar):
        return bool(value == of.zero)
    if isinstance(of, Struct):
        judged = of.judged_by or of.fields
        return all(
            (value.get(key) is None)
            if of.fields[key].nullable or of.fields[key].kept
            else is_empty(of.fields[key].type, value.get(key))
            for key in judged
        )
    return not value


def _fields(struct: Struct, value: Mapping[str, Any], skip: tuple[str, ...] = ()) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, field in struct.fields.items():
        inner = value.get(key)
        if key in skip or (inner is None and not field.always):
            continue
        if inner is None:
            made[key] = None if field.nullable else _written(field.type, _nothing(field.type))
        elif field.always or field.nullable or field.kept or not is_empty(field.type, inner):
            made[key] = _written(field.type, inner)
    return made


def _written(of: Type, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(of, Scalar):
        return Octal(value) if of.octal else value
    if isinstance(of, Struct):
        return _fields(of, value)
    if isinstance(of, ListOf):
        return list(value) if isinstance(of.item, Scalar) else [_written(of.item, item) for item in value]
    if isinstance(of, MapOf):
        return {key: _written(of.value, value[key]) for key in goyaml.sort_keys(dict.fromkeys(value))}
    return goyaml.sort_keys(value)


def _nothing(of: Type) -> Any:
    return of.zero if isinstance(of, Scalar) else [] if isinstance(of, ListOf) else {}


def _field_text(field: Field, value: Any) -> str:
    """A field of a section, where it stands in its document."""
    made = _fields(Struct("", {field.key: field}), {field.key: value})
    if not made:
        return ""
    return goyaml.dump({"": made}).partition("\n")[2]
