"""Documents as they may be shown: every secret that Talos' schema knows is replaced by stars.

What users put into free-form fields (files, manifests, environment variables) is theirs to keep apart; Talos does not
hide it either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from talosmith.desired.config.problems import Path
from talosmith.desired.config.schema.documents import Document, identity, struct_of
from talosmith.desired.config.schema.notation import Field, Free, ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema.scalars import REDACTED

OTHER_SECRET = f"{REDACTED} (changed)"

Show = Callable[[Path, Any], Any]  # what stands for the secret at a path, which starts with the document's identity


def redact(documents: Sequence[Document]) -> list[Document]:
    """The documents without secrets. They can still be loaded and written."""
    return _shown(documents, lambda path, secret: REDACTED)


def secret_values(documents: Sequence[Document]) -> set[str]:
    """Every secret in the documents, for a search for places where one must not be."""
    found: set[str] = set()
    _shown(documents, lambda path, secret: found.add(str(secret)))
    return found


def redact_pair(ours: Sequence[Document], theirs: Sequence[Document]) -> tuple[list[Document], list[Document]]:
    """Two sets of documents without secrets, such that a secret that differs still makes them differ."""
    known: dict[Path, Any] = {}

    def remember(path: Path, secret: Any) -> str:
        known[path] = secret
        return REDACTED

    def compare(path: Path, secret: Any) -> str:
        return REDACTED if known.get(path, secret) == secret else OTHER_SECRET

    return _shown(ours, remember), _shown(theirs, compare)


def _shown(documents: Sequence[Document], show: Show) -> list[Document]:
    return [_hidden(struct_of(document), document, identity(document), show) for document in documents]


def _hidden(of: Type, value: Any, path: Path, show: Show) -> Any:
    if value is None:
        return None
    if isinstance(of, Struct):
        return {key: _field(of.fields[key], inner, (*path, key), show) for key, inner in value.items()}
    if isinstance(of, ListOf):
        return [_hidden(of.item, item, (*path, index), show) for index, item in enumerate(value)]
    if isinstance(of, MapOf):
        return {key: _hidden(of.value, inner, (*path, key), show) for key, inner in value.items()}
    return value


def _field(field: Field, value: Any, path: Path, show: Show) -> Any:
    if not field.secret or not value:
        return _hidden(field.type, value, path, show)
    return _keys_hidden(value, path, show) if isinstance(field.type, Free) else show(path, value)


def _keys_hidden(value: Any, path: Path, show: Show) -> Any:
    """A configuration of Kubernetes, where secrets stand below a key of this name, as Talos hides them."""
    if isinstance(value, Mapping):
        return {
            key: show((*path, str(key)), inner)
            if key == "secret" and inner
            else _keys_hidden(inner, (*path, str(key)), show)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_keys_hidden(item, (*path, index), show) for index, item in enumerate(value)]
    return value
