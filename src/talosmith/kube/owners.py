"""Which other tool manages an object: Flux, Argo CD or Helm. What one of them manages is theirs to change.

What a chart brings is applied by the name under which Helm applies. Helm, which is refused where another manager owns
a field that the server stores otherwise than the chart has it, then takes the objects over as they are; our label,
which its manifests do not have, goes with that, and its absence shows that Helm manages the object.
"""

from __future__ import annotations

from typing import Any

from talosmith.kube import errors
from talosmith.kube.client import KubeClient
from talosmith.kube.inventory import SET_LABEL
from talosmith.kube.objects import Object, Ref, labels, metadata, notes, version

_FLUX = (("helm.toolkit.fluxcd.io", "HelmRelease"), ("kustomize.toolkit.fluxcd.io", "Kustomization"))
_ARGO_TRACKING = "argocd.argoproj.io/tracking-id"
_ARGO_LABEL = "argocd.argoproj.io/instance"
_HELM_RELEASE = "meta.helm.sh/release-name"
_HELM_SPACE = "meta.helm.sh/release-namespace"
_HELM_MANAGERS = ("helm", "Helm")
_REPLICAS = ".spec.replicas"
_TRIES = 3


def other_manager(item: Object) -> str:
    """`Flux (HelmRelease kube-system/cilium)`, by the object's labels and field managers; empty: none of them."""
    for prefix, kind in _FLUX:
        if name := labels(item).get(f"{prefix}/name"):
            return f"Flux ({kind} {labels(item).get(f'{prefix}/namespace', '')}/{name})"
    if tracked := notes(item).get(_ARGO_TRACKING) or labels(item).get(_ARGO_LABEL):
        return f"Argo CD (Application {tracked.split(':')[0]})"
    ours = SET_LABEL in labels(item)
    if any(_by_helm(one) and not (ours and _is_applied(one)) for one in _entries(item)):
        return f"Helm (release {notes(item).get(_HELM_SPACE, '')}/{notes(item).get(_HELM_RELEASE, '')})"
    return ""


def without_replicas(item: Object, conflict: errors.Conflict) -> Object | None:
    """The object without its number of replicas, if that is all that others have set: autoscalers, `kubectl scale`.

    None where they have set more: the rest of an object may not fit what others have made of it.
    """
    if {one.field for one in conflict.conflicts} != {_REPLICAS}:
        return None
    return {**item, "spec": {key: value for key, value in item["spec"].items() if key != "replicas"}}


async def take_over_fields(client: KubeClient, item: Object, manager: str) -> None:
    """What Helm has set by updates, as Helm 3 does, counts as applied by `manager` from now on.

    Otherwise the object would remain Helm's, and fields that are not wanted would never go.
    """
    for _ in range(_TRIES):
        entries = _taken_over(item, manager)
        if entries is None:
            return
        change = {"metadata": {"resourceVersion": version(item), "managedFields": entries}}
        try:
            await client.patch(Ref.of(item), change)
        except errors.Changed:
            item = await client.get(Ref.of(item))
        else:
            return


def _taken_over(item: Object, manager: str) -> list[Any] | None:
    entries = _entries(item)
    applied = [one for one in entries if one.get("manager") == manager and _is_applied(one)]
    theirs = [one for one in entries if _by_helm(one) and one not in applied and not one.get("subresource")]
    if not theirs:
        return None
    rest = [one for one in entries if one not in theirs]
    return rest if applied else [*rest, {**theirs[0], "manager": manager, "operation": "Apply"}]


def _entries(item: Object) -> list[Any]:
    return list(metadata(item).get("managedFields") or ())


def _by_helm(entry: Any) -> bool:
    return entry.get("manager") in _HELM_MANAGERS


def _is_applied(entry: Any) -> bool:
    return bool(entry.get("operation") == "Apply")
