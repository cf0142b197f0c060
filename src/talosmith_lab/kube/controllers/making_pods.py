"""How controllers make pods from templates, and which they take away first."""

from __future__ import annotations

from talosmith_lab.kube.controllers.objects import POD, is_ready, key_of, phase, reference
from talosmith_lab.kube.controllers.work import MANAGER, Work
from talosmith_lab.kube.kinds import Kind, Obj


def make_pod(
    work: Work,
    kind: Kind,
    owner: Obj,
    *,
    name: str = "",
    labels: Obj | None = None,
    annotations: Obj | None = None,
    spec: Obj | None = None,
    template: Obj | None = None,
) -> Obj:
    """Raises what the API refuses."""
    template = template or owner["spec"]["template"]
    given = template.get("metadata") or {}
    metadata: Obj = {
        "labels": {**(given.get("labels") or {}), **(labels or {})},
        "ownerReferences": [reference(kind, owner)],
    }
    noted = {**(given.get("annotations") or {}), **(annotations or {})}
    if noted:
        metadata["annotations"] = noted
    if given.get("finalizers"):
        metadata["finalizers"] = given["finalizers"]
    if name:
        metadata["name"] = name
    else:
        metadata["generateName"] = f"{owner['metadata']['name']}-"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**template["spec"], **(spec or {})}}
    return work.api.create(POD, pod, owner["metadata"]["namespace"], how=MANAGER)


def delete_pod(work: Work, pod: Obj) -> None:
    work.api.delete(POD, pod["metadata"]["name"], pod["metadata"]["namespace"], how=MANAGER)


def worth(pod: Obj, spread: dict[str, int]) -> tuple[object, ...]:
    """What is not placed, not running or not ready goes first; then what shares its node with most others, then
    the newest."""
    cost = int((pod["metadata"].get("annotations") or {}).get("controller.kubernetes.io/pod-deletion-cost", 0))
    node = pod["spec"].get("nodeName")
    stages = ("Pending", "Unknown", "Running")
    place = stages.index(phase(pod)) if phase(pod) in stages else 0
    newest = tuple(-ord(letter) for letter in pod["metadata"]["creationTimestamp"])
    return bool(node), place, is_ready(pod), cost, -spread.get(node or "", 0), newest, key_of(pod)
