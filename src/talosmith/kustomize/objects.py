"""Kubernetes objects out of YAML or JSON text, with the line of what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from talosmith.kustomize.errors import ManifestError
from talosmith.yaml.go_words import Scalar, Timestamp, resolve_for_kubernetes, resolve_for_sops
from talosmith.yaml.kubernetes import load_all
from talosmith.yaml.limits import LimitExceeded

MAX_OBJECTS = 5_000

Object = dict[str, Any]


def resolve_for_kustomize(word: str) -> Scalar:
    """An unquoted word as kustomize reads it: `yes` is text, unlike for kubectl, and a date a time."""
    value = resolve_for_sops(word)
    return str(value) if isinstance(value, Timestamp) else value


def documents(text: str, file: Path, resolve: Callable[[str], Scalar] = resolve_for_kubernetes) -> list[Any]:
    """Every document that is not empty."""
    try:
        return [copied(one) for one in load_all(text, refuse_twice=True, resolve=resolve) if one is not None]
    except LimitExceeded as wrong:
        raise ManifestError(wrong.what, file=file, line=wrong.line) from None
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        cause = getattr(wrong, "problem", None) or str(wrong).splitlines()[0]
        raise ManifestError(f"not YAML ({cause})", file=file, line=mark.line + 1 if mark else 0) from None


def copied(value: Any) -> Any:
    """A copy in which no part stands twice: an alias in YAML is the same list or map, and would change with it."""
    if isinstance(value, dict):
        return {key: copied(one) for key, one in value.items()}
    return [copied(one) for one in value] if isinstance(value, list) else value


def objects(text: str, file: Path, resolve: Callable[[str], Scalar] = resolve_for_kubernetes) -> list[Object]:
    """The objects of a file; the items of a List one by one."""
    found: list[Object] = []
    for number, document in enumerate(documents(text, file, resolve), 1):
        found += _objects(document, file, f"document {number}")
    return found


def _objects(document: Any, file: Path, where: str) -> list[Object]:
    if not isinstance(document, dict):
        raise ManifestError(f"{where} is not a Kubernetes object", file=file)
    kind, version = document.get("kind"), document.get("apiVersion")
    if not isinstance(kind, str) or not kind or not isinstance(version, str) or not version:
        missing = "kind" if not isinstance(kind, str) or not kind else "apiVersion"
        raise ManifestError(
            f"{where} is not a Kubernetes object: {missing} is missing or not text",
            file=file,
            hint="remove the file, or hide it by a name that starts with a dot",
        )
    if kind.endswith("List") and isinstance(document.get("items"), list):
        return [one for item in document["items"] for one in _objects(item, file, f"an item of {where}")]
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise ManifestError(
            f"{where} ({kind}) has no metadata.name", file=file, hint="generateName cannot be applied"
        )
    return [document]
