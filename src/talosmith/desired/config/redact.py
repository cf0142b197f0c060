"""Documents as they may be shown: every secret that Talos' schema knows is replaced by stars.

What users put into free-form fields (files, manifests, environment variables) is theirs to keep apart; Talos does not
hide it either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from talosmith.desired.config.notation import Field, ListOf, MapOf, Struct, Type
from talosmith.desired.config.scalars import REDACTED
from talosmith.desired.config.schema import Document, struct_of


def redact(documents: Sequence[Document]) -> list[Document]:
    """The documents without secrets. They can still be loaded and written."""
    return [_hidden(struct_of(document), document) for document in documents]


def _hidden(of: Type, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(of, Struct):
        return {key: _hidden_field(of.fields[key], inner) for key, inner in value.items()}
    if isinstance(of, ListOf):
        return [_hidden(of.item, item) for item in value]
    if isinstance(of, MapOf):
        return {key: _hidden(of.value, inner) for key, inner in value.items()}
    return value


def _hidden_field(field: Field, value: Any) -> Any:
    return REDACTED if field.secret and value else _hidden(field.type, value)
