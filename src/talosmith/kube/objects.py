"""Kubernetes objects as plain data: how they are named, and the small questions that every caller asks of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True, order=True)
class Ref:
    """Which object: its kind, and its name. The namespace is empty for kinds that have none."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""

    @classmethod
    def of(cls, item: Object) -> Ref:
        metadata = item.get("metadata") or {}
        return cls(
            str(item.get("apiVersion") or ""),
            str(item.get("kind") or ""),
            str(metadata.get("name") or ""),
            str(metadata.get("namespace") or ""),
        )

    @property
    def group(self) -> str:
        """`apps` of `apps/v1`; empty for the core."""
        return self.api_version.rpartition("/")[0]

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """The same object has the same, whichever version of its API it is read by."""
        return self.group, self.kind, self.namespace, self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def metadata(item: Object) -> Mapping[str, Any]:
    return item.get("metadata") or {}


def labels(item: Object) -> Mapping[str, str]:
    return metadata(item).get("labels") or {}


def notes(item: Object) -> Mapping[str, str]:
    """The annotations."""
    return metadata(item).get("annotations") or {}


def uid(item: Object) -> str:
    return str(metadata(item).get("uid") or "")


def version(item: Object) -> str:
    """Changes with every change of the object."""
    return str(metadata(item).get("resourceVersion") or "")


def spec(item: Object) -> Mapping[str, Any]:
    return item.get("spec") or {}


def status(item: Object) -> Mapping[str, Any]:
    return item.get("status") or {}


def condition(item: Object, kind: str) -> Mapping[str, Any] | None:
    """The condition of this type, where the object has it."""
    return next((one for one in status(item).get("conditions") or () if one.get("type") == kind), None)


def controller(item: Object) -> Mapping[str, Any] | None:
    """Who made the object and looks after it."""
    return next((one for one in metadata(item).get("ownerReferences") or () if one.get("controller")), None)


def selects(selector: Mapping[str, Any] | None, of: Mapping[str, str]) -> bool:
    """Whether a label selector matches; none at all matches nothing, an empty one everything."""
    if selector is None:
        return False
    if any(of.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_meets(one, of) for one in selector.get("matchExpressions") or ())


def _meets(expression: Mapping[str, Any], of: Mapping[str, str]) -> bool:
    key, operator, values = expression.get("key", ""), expression.get("operator"), expression.get("values") or ()
    if operator == "In":
        return of.get(key) in values
    if operator == "NotIn":
        return of.get(key) not in values
    return (key in of) == (operator == "Exists")
