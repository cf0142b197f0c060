"""Manifests, from YAML text or plain data, checked, flattened, and put into the order they are to be applied in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

import yaml

from talosmith.errors import UsageError
from talosmith.kube.errors import cleaned
from talosmith.kube.objects import Object, Ref
from talosmith.yaml import kubernetes
from talosmith.yaml.limits import LimitExceeded

Manifests = str | Iterable[Mapping[str, Any]]

CRD = "CustomResourceDefinition"
_MOST_VALUES = 1_000_000
# What others need comes first. Whatever is not named comes in the middle, custom resources among them.
_STAGES = (
    ("Namespace",),
    (CRD,),
    ("PriorityClass", "RuntimeClass", "StorageClass", "IngressClass", "GatewayClass", "ResourceQuota", "LimitRange"),
    ("ServiceAccount", "ClusterRole", "Role", "Secret", "ConfigMap", "PersistentVolume"),
    ("ClusterRoleBinding", "RoleBinding", "PersistentVolumeClaim", "Service", "NetworkPolicy"),
    ("Deployment", "DaemonSet", "StatefulSet", "ReplicaSet", "Pod", "PodDisruptionBudget"),
    (),
    # These change what the server does to other objects, so they wait until those are there.
    ("APIService", "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"),
    ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicyBinding"),
)
_STAGE_OF = {kind: number for number, kinds in enumerate(_STAGES) for kind in kinds}
_REST = _STAGES.index(())


def read(manifests: Manifests, source: str = "the manifests") -> list[dict[str, Any]]:
    """Every object, lists taken apart. Raises `UsageError` for what is no object."""
    documents = _documents(manifests, source) if isinstance(manifests, str) else list(manifests)
    found: list[dict[str, Any]] = []
    for number, document in enumerate(documents, 1):
        if document is not None:
            found += _objects(_plain(document, source, [_MOST_VALUES]), f"{source}, document {number}")
    refuse_twice(found, source)
    return found


def refuse_twice(items: Iterable[Object], source: str = "the manifests") -> None:
    seen: set[tuple[str, str, str, str]] = set()
    for ref in map(Ref.of, items):
        if ref.identity in seen:
            raise UsageError(f"{source}: {ref} is there twice", hint="Leave one of them out.")
        seen.add(ref.identity)


def stages(items: Iterable[Object]) -> list[list[Object]]:
    """In groups: all of one may be applied together, after all of those before it."""
    ordered = sorted(items, key=stage_of)
    return [list(group) for _, group in groupby(ordered, key=stage_of)]


def stage_of(item: Object) -> int:
    return _STAGE_OF.get(str(item.get("kind")), _REST)


def _documents(text: str, source: str) -> list[Any]:
    try:
        return list(kubernetes.load_all(text, refuse_twice=True))
    except LimitExceeded as wrong:
        raise UsageError(f"{source}: line {wrong.line}: {wrong.what}") from None
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark is not None else ""
        raise UsageError(f"{source}: not YAML: {place}{cleaned(getattr(wrong, 'problem', '') or '')}") from None


def _objects(document: Any, place: str) -> list[dict[str, Any]]:
    if not isinstance(document, dict) or not document.get("apiVersion") or not document.get("kind"):
        raise UsageError(f"{place}: not a Kubernetes object", hint="It needs apiVersion and kind.")
    if str(document["kind"]).endswith("List") and isinstance(document.get("items"), list):
        return [one for item in document["items"] for one in _objects(item, place)]
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise UsageError(f"{place}: {document['kind']} has no metadata.name", hint="Applying needs a fixed name.")
    return [document]


def _plain(value: Any, source: str, budget: list[int]) -> Any:
    """A copy with keys of text, as JSON has them."""
    budget[0] -= 1
    if budget[0] < 0:
        raise UsageError(f"{source}: more than {_MOST_VALUES} values", hint="Do aliases refer to each other?")
    if isinstance(value, Mapping):
        return {_key_text(key): _plain(inner, source, budget) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, source, budget) for inner in value]
    return value


def _key_text(key: Any) -> str:
    """Keys are text in JSON."""
    return json.dumps(key) if isinstance(key, bool | int | float | None) else str(key)
