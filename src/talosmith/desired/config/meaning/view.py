"""A machine config as sections look at it: the main document's two halves, and the other documents by kind.

Nothing is copied: a view of each node of a thousand must cost next to nothing.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Document = Mapping[str, Any]
Values = dict[str, Any]

_NOTHING: Mapping[str, Any] = {}


class View:
    """`main` is None where a config has no v1alpha1 document; `machine` and `cluster` are then empty."""

    def __init__(self, documents: Iterable[Document]) -> None:
        self.main: Document | None = None
        self.kinds: dict[str, list[Document]] = {}
        for document in documents:
            kind = document.get("kind")
            if kind:
                self.kinds.setdefault(kind, []).append(document)
            else:
                self.main = document
        main = self.main or _NOTHING
        self.machine: Mapping[str, Any] = main.get("machine") or _NOTHING
        self.cluster: Mapping[str, Any] = main.get("cluster") or _NOTHING

    @property
    def is_controlplane(self) -> bool:
        return self.machine.get("type") in ("controlplane", "init")

    def first(self, kind: str) -> Document | None:
        found = self.kinds.get(kind)
        return found[0] if found else None

    def every(self, kind: str) -> Sequence[Document]:
        return self.kinds.get(kind, ())

    def of_machine(self, *path: str) -> Mapping[str, Any]:
        return section(self.machine, *path)

    def of_cluster(self, *path: str) -> Mapping[str, Any]:
        return section(self.cluster, *path)


def section(value: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    """A mapping inside of a mapping; empty where it is absent or null."""
    for key in path:
        found = value.get(key)
        if not isinstance(found, Mapping):
            return _NOTHING
        value = found
    return value


def texts(value: Any) -> list[str]:
    return [str(one) for one in value or ()]


def arguments(value: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """Extra arguments, each as a list: one text means the same as a list of it."""
    made: dict[str, list[str]] = {}
    for name, given in (value or _NOTHING).items():
        made[str(name)] = (
            texts(given) if isinstance(given, list | tuple) else [] if given in (None, "") else [str(given)]
        )
    return made


def resources(value: Mapping[str, Any] | None) -> dict[str, dict[str, str]]:
    """Requests and limits of a pod: CPU and memory as text; nothing else counts for Talos."""
    made: dict[str, dict[str, str]] = {}
    for group in ("requests", "limits"):
        given = section(value or _NOTHING, group)
        kept = {key: str(given[key]) for key in ("cpu", "memory") if _is_amount(given.get(key))}
        if kept:
            made[group] = kept
    return made


def _is_amount(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool) and value != ""


def decoded(value: Any) -> str:
    """PEM text of a field that v1alpha1 holds in base64; documents hold it as it is."""
    text = str(value or "")
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        return text  # masked by stars, as a node shows its config to readers


def pair(value: Mapping[str, Any] | None) -> dict[str, str] | None:
    """A v1alpha1 certificate and key (`crt`, `key`), as documents name them."""
    if not value:
        return None
    return {"cert": decoded(value.get("crt")), "key": decoded(value.get("key"))}
