"""Kubernetes objects out of YAML or JSON text, with the line of what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from talosmith.kustomize.errors import ManifestError
from talosmith.yaml.kubernetes import load_all
from talosmith.yaml.limits import LimitExceeded

MAX_OBJECTS = 5_000

Object = dict[str, Any]


def documents(text: str, file: Path) -> list[Any]:
    """Every document that is not empty, as Kubernetes reads it."""
    try:
        return [one for one in load_all(text, refuse_twice=True) if one is not None]
    except LimitExceeded as wrong:
        raise ManifestError(wrong.what, file=file, line=wrong.line) from None
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        cause = getattr(wrong, "problem", None) or str(wrong).splitlines()[0]
        raise ManifestError(f"not YAML ({cause})", file=file, line=mark.line + 1 if mark else 0) from None


def objects(text: str, file: Path) -> list[Object]:
    """The objects of a file; the items of a List one by one."""
    found: list[Object] = []
    for number, document in enumerate(documents(text, file), 1):
        found += _objects(document, file, f"document {number}")
    return found


def check_count(found: list[Object]) -> None:
    if len(found) > MAX_OBJECTS:
        raise ManifestError(f"more than {MAX_OBJECTS:,} objects", hint="split the manifests into several add-ons")


def _objects(document: Any, file: Path, where: str) -> list[Object]:
    if not isinstance(document, dict):
        raise ManifestError(f"{where} is not a Kubernetes object", file=file)
    check_not_encrypted(document, file)
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
        raise ManifestError(f"{where} ({kind}) has no metadata.name", file=file, hint="generateName cannot be applied")
    return [document]


def check_not_encrypted(document: Any, file: Path) -> None:
    if isinstance(document, dict) and isinstance(document.get("sops"), dict) and "mac" in document["sops"]:
        raise ManifestError(
            "encrypted by SOPS; manifests are not decrypted",
            file=file,
            hint="use a chart and name secrets by `sops:` in its values, or leave this Secret to Flux",
        )
