"""From rendered text to objects: documents are parted, hooks set apart, and both put into Helm's order."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from talosmith.helm import yaml_in
from talosmith.helm.errors import ChartError

MAX_OBJECTS = 5_000  # of one chart
_SEPARATOR = re.compile(r"^---[ \t]*", re.MULTILINE)
_ANNOTATION = "helm.sh/hook"
_EVENTS = {
    "pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade",
    "pre-rollback", "post-rollback", "test", "test-success",
}  # fmt: skip
_KINDS = (
    "PriorityClass", "Namespace", "NetworkPolicy", "ResourceQuota", "LimitRange", "PodSecurityPolicy",
    "PodDisruptionBudget", "ServiceAccount", "Secret", "SecretList", "ConfigMap", "StorageClass",
    "PersistentVolume", "PersistentVolumeClaim", "CustomResourceDefinition", "ClusterRole", "ClusterRoleList",
    "ClusterRoleBinding", "ClusterRoleBindingList", "Role", "RoleList", "RoleBinding", "RoleBindingList",
    "Service", "DaemonSet", "Pod", "ReplicationController", "ReplicaSet", "Deployment",
    "HorizontalPodAutoscaler", "StatefulSet", "Job", "CronJob", "IngressClass", "Ingress", "APIService",
    "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
)  # fmt: skip
_ORDER = {kind: place for place, kind in enumerate(_KINDS)}


@dataclass(frozen=True)
class RenderedObject:
    """One object and the template it comes from."""

    source: str
    text: str
    content: Mapping[str, Any]

    @property
    def kind(self) -> str:
        return str(self.content.get("kind") or "")

    @property
    def name(self) -> str:
        return str((self.content.get("metadata") or {}).get("name") or "")


@dataclass(frozen=True)
class Hook(RenderedObject):
    """An object that Helm would create at certain moments of a release's life, and only then."""

    events: tuple[str, ...] = ()
    weight: int = 0
    delete_policies: tuple[str, ...] = ()


def split(text: str) -> list[str]:
    """The documents of the text that are not blank."""
    return [part.lstrip() for part in _SEPARATOR.split(text.lstrip()) if part.strip()]


def sort(rendered: Mapping[str, str]) -> tuple[list[RenderedObject], list[Hook]]:
    """Objects in the order they should be created in, and hooks in the order that Helm runs them in."""
    objects: list[RenderedObject] = []
    hooks: list[Hook] = []
    for source in sorted(rendered):
        for text in split(rendered[source]):
            one = parse(source, text)
            if len(objects) + len(hooks) >= MAX_OBJECTS:
                raise ChartError(f"{source}: the chart renders more than {MAX_OBJECTS:,} objects")
            if isinstance(one, Hook):
                hooks.append(one)
            elif one is not None and one.content:  # a comment alone is no object
                objects.append(one)
    return sorted(objects, key=_order), sorted(hooks, key=lambda hook: (hook.weight, hook.name))


def objects_of(sources: Iterable[tuple[str, bytes]]) -> list[RenderedObject]:
    """The objects of plain files."""
    found = []
    for source, content in sources:
        for text in split(content.decode(errors="replace")):
            one = parse(source, text)
            if one is not None and one.content:
                found.append(one)
            if len(found) > MAX_OBJECTS:
                raise ChartError(f"{source}: the chart has more than {MAX_OBJECTS:,} objects in crds/ folders")
    return found


def parse(source: str, text: str) -> RenderedObject | None:
    """The object of a document; nothing for a hook that Helm does not know, and leaves out."""
    try:
        content = yaml_in.load(text + "\n", whole_numbers=True)  # Helm ends each document with a line break
    except ChartError as problem:
        raise ChartError(f"YAML parse error on {source}: {problem}") from None
    if content is None:
        content = {}
    if not isinstance(content, dict):
        raise ChartError(f"YAML parse error on {source}: a document is no table but {type(content).__name__}")
    annotations = (content.get("metadata") or {}).get("annotations") or {}
    if _ANNOTATION not in annotations:
        return RenderedObject(source, text, content)
    events = _listed(annotations, _ANNOTATION)
    if not _EVENTS.issuperset(events):
        return None
    events = ["test" if event == "test-success" else event for event in events]
    weight = str(annotations.get(f"{_ANNOTATION}-weight", ""))
    return Hook(
        source,
        text,
        content,
        events=tuple(events),
        weight=int(weight) if re.fullmatch(r"[-+]?[0-9]+", weight) else 0,
        delete_policies=tuple(_listed(annotations, f"{_ANNOTATION}-delete-policy")),
    )


def _listed(annotations: Mapping[str, Any], name: str) -> list[str]:
    return [part.strip().lower() for part in str(annotations[name]).split(",")] if name in annotations else []


def _order(one: RenderedObject) -> tuple[int, str]:
    """Kinds that Helm does not know come last, by their name."""
    place = _ORDER.get(one.kind)
    return (len(_ORDER), one.kind) if place is None else (place, "")
