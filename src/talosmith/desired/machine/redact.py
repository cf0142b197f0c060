"""Documents without their secrets: for the terminal, for diffs, for reports.

What users put into free-form fields (files, manifests, environment variables) is theirs to keep apart; Talos does not
hide it either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from talosmith.desired.config.notation import ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema import Document, identity, struct_of

HIDDEN = "***"
OURS, THEIRS = "*** (ours)", "*** (theirs)"

Hide = Callable[[Any, Any], str]  # given the secret, and what stands in its place on the other side


def redact(documents: Sequence[Document]) -> list[dict[str, Any]]:
    """Every secret is `***`; an empty one stays empty."""
    return [_struct(struct_of(document), document, None, lambda _, __: HIDDEN) for document in documents]


def redact_pair(
    ours: Sequence[Document], theirs: Sequence[Document]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Both sides redacted so that a secret which differs still differs, without showing it."""
    return _against(ours, theirs, OURS), _against(theirs, ours, THEIRS)


def _against(documents: Sequence[Document], others: Sequence[Document], differs: str) -> list[dict[str, Any]]:
    other = {identity(document): document for document in others}
    return [
        _struct(
            struct_of(document),
            document,
            other.get(identity(document)),
            lambda secret, counterpart: HIDDEN if secret == counterpart else differs,
        )
        for document in documents
    ]


def _struct(struct: Struct, value: Any, other: Any, hide: Hide) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, item in value.items():
        field = struct.fields[key]
        counterpart = other.get(key) if isinstance(other, dict) else None
        if field.secret:
            made[key] = hide(item, counterpart) if item else item
        else:
            made[key] = _value(field.type, item, counterpart, hide)
    return made


def _value(of: Type, value: Any, other: Any, hide: Hide) -> Any:
    if value is None:
        return None
    if isinstance(of, Struct):
        return _struct(of, value, other, hide)
    if isinstance(of, ListOf):
        others = other if isinstance(other, list) else []
        return [
            _value(of.item, item, others[index] if index < len(others) else None, hide)
            for index, item in enumerate(value)
        ]
    if isinstance(of, MapOf):
        beside = other if isinstance(other, dict) else {}
        return {key: _value(of.value, item, beside.get(key), hide) for key, item in value.items()}
    return value
