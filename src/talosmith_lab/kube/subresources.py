"""Parts of objects with ways of their own: scale, eviction, binding, logs, tokens."""

from __future__ import annotations

from typing import Any

from talosmith.model.secret import Secret
from talosmith_lab.kube import patching, tokens
from talosmith_lab.kube.api import Api, How
from talosmith_lab.kube.cluster import stamp
from talosmith_lab.kube.errors import (
    ApiError,
    bad_request,
    conflict,
    invalid_value,
    modified,
    success,
    too_many_requests,
)
from talosmith_lab.kube.kinds import Kind, Obj, find
from talosmith_lab.kube.selectors import selects
from talosmith_lab.kube.storage import Stored
from talosmith_lab.kube.writing import copied

POD = find("v1", "Pod")
BUDGET = find("policy/v1", "PodDisruptionBudget")
_BROKEN = "Cannot evict pod as it would violate the pod's disruption budget."
_TWO = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_LATER = 10  # seconds after which a budget will be known


# Scale


def scale_of(api: Api, kind: Kind, name: str, namespace: str) -> Obj:
    obj = api.stored(kind, name, namespace).obj
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    selector = spec.get("selector")
    shown = _selector_text(selector.get("matchLabels", selector) if isinstance(selector, dict) else {})
    told: Obj = {"replicas": status.get("replicas", 0)}
    if shown:
        told["selector"] = shown
    replicas = spec.get("replicas", 0 if kind.custom else 1)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in kept if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": told,
    }


def _selector_text(labels: Obj) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def set_scale(api: Api, kind: Kind, name: str, namespace: str, scale: Obj, how: How) -> Obj:
    live = api.stored(kind, name, namespace)
    wanted = (scale.get("metadata") or {}).get("resourceVersion")
    if wanted and int(wanted) != live.revision:
        raise modified(kind, name)
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if not isinstance(replicas, int) or replicas < 0:
        problem = invalid_value("spec.replicas", replicas, "must be greater than or equal to 0")
        details = {"name": name, "group": "autoscaling", "kind": "Scale", "causes": [problem]}
        message = f'Scale.autoscaling "{name}" is invalid: {problem["field"]}: {problem["message"]}'
        raise ApiError(422, "Invalid", message, details)
    obj = copied(live.obj)
    obj.setdefault("spec", {})["replicas"] = replicas
    api.replace(kind, live, obj, how, "scale")
    return scale_of(api, kind, name, namespace)


def patch_scale(api: Api, kind: Kind, name: str, namespace: str, content_type: str, body: Any, how: How) -> Obj:
    before = scale_of(api, kind, name, namespace)
    before["metadata"].pop("resourceVersion", None)
    content = patching.content_of(content_type, body)
    after = patching.patched(_plain(content_type), before, content)
    return set_scale(api, kind, name, namespace, after, how)


def _plain(content_type: str) -> str:
    """A scale has no lists to be merged with care."""
    return patching.MERGE if content_type in (patching.STRATEGIC, patching.APPLY) else content_type


# Eviction


def evict(api: Api, name: str, namespace: str, eviction: Obj, how: How) -> Obj:
    """Delete a pod if the budgets allow it."""
    if (eviction.get("metadata") or {}).get("name", name) != name:
        raise bad_request("name in URL does not match name in Eviction object")
    live = api.stored(POD, name, namespace)
    options = eviction.get("deleteOptions") or {}
    dry = how.dry_run or bool(options.get("dryRun"))
    how = How(manager=how.manager, user=how.user, groups=how.groups, dry_run=dry)
    if not _goes_anyway(live.obj):
        budgets = [
            one
            for one in api.items(BUDGET, namespace)
            if selects(one["spec"].get("selector"), live.obj["metadata"].get("labels") or {})
        ]
        if len(budgets) > 1:
            raise ApiError(500, "", _TWO)
        if budgets and not _spared(live, budgets[0]):
            _take_from(api, budgets[0], name, dry)
    if not dry:
        _tell_why(api, live)
    api.delete(POD, name, namespace, options=options, how=how)
    return success(code=201)


def _tell_why(api: Api, live: Stored) -> None:
    """The pod's status says that it was evicted while it ends."""
    obj = copied(live.obj)
    status = obj.setdefault("status", {})
    others = [one for one in status.get("conditions") or () if one["type"] != "DisruptionTarget"]
    told = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": api.kubernetes.now(),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    status["conditions"] = [*others, told]
    api.part_changed(POD, live.obj, obj, "status")


def _goes_anyway(pod: Obj) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def _spared(live: Stored, budget: Obj) -> bool:
    """A pod that is not ready does not count, where the budget says so or has enough without it."""
    conditions = (live.obj.get("status") or {}).get("conditions") or ()
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    status = budget.get("status") or {}
    if ready:
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired = int(status.get("desiredHealthy", 0))
    return int(status.get("currentHealthy", 0)) >= desired and desired > 0


def _take_from(api: Api, budget: Obj, pod: str, dry: bool) -> None:
    """One less that may go, until the controller has counted again."""
    metadata, status = budget["metadata"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        message = f"The disruption budget {metadata['name']} is still being processed by the server."
        raise too_many_requests(_BROKEN, _LATER, [{"reason": "DisruptionBudget", "message": message}])
    if int(status.get("disruptionsAllowed", 0)) < 0:
        raise ApiError(403, "Forbidden", "pdb disruptions allowed is negative")
    if int(status.get("disruptionsAllowed", 0)) == 0:
        needs, has = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        message = f"The disruption budget {metadata['name']} needs {needs} healthy pods and has {has} currently"
        raise too_many_requests(_BROKEN, 0, [{"reason": "DisruptionBudget", "message": message}])
    if dry:
        return
    obj = copied(budget)
    obj["status"]["disruptionsAllowed"] -= 1
    obj["status"].setdefault("disruptedPods", {})[pod] = api.kubernetes.now()
    api.put(BUDGET, BUDGET.key(metadata["namespace"], metadata["name"]), obj)


# Binding


def bind(api: Api, name: str, namespace: str, binding: Obj, how: How) -> Obj:
    """Give a pod its node."""
    live = api.stored(POD, name, namespace)
    node = (binding.get("target") or {}).get("name", "")
    if live.obj["spec"].get("nodeName"):
        why = f'pod {name} is already assigned to node "{live.obj["spec"]["nodeName"]}"'
        raise conflict(POD, name, why, "binding")
    if live.obj["metadata"].get("deletionTimestamp"):
        raise conflict(POD, name, f"pod {name} is being deleted, cannot be assigned to a host", "binding")
    obj = copied(live.obj)
    obj["spec"]["nodeName"] = node
    for what in ("annotations", "labels"):
        added = (binding.get("metadata") or {}).get(what)
        if added:
            obj["metadata"][what] = {**(obj["metadata"].get(what) or {}), **added}
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": api.kubernetes.now(),
    }
    status = obj.setdefault("status", {})
    others = [one for one in status.get("conditions") or () if one["type"] != "PodScheduled"]
    status["conditions"] = [*others, scheduled]
    if not how.dry_run:
        api.put(POD, POD.key(namespace, name), obj)
    return success(code=201)


# Tokens


def token(api: Api, key: Secret, name: str, namespace: str, body: Obj) -> Obj:
    api.kubernetes.check(api.via)
    return tokens.request(api.kubernetes, key, namespace, name, body)


# Logs


def container_of(pod: Obj, asked: str) -> str:
    """Which container's log is meant; raises what a client did wrong."""
    name = pod["metadata"]["name"]
    spec = pod.get("spec") or {}
    parts = ("containers", "initContainers", "ephemeralContainers")
    names = [one["name"] for part in parts for one in spec.get(part) or ()]
    mains = [one["name"] for one in spec.get("containers") or ()]
    if not asked:
        asked = (pod["metadata"].get("annotations") or {}).get("kubectl.kubernetes.io/default-container", "")
        if not asked and len(mains) == 1 and len(names) == len(mains):
            asked = mains[0]
        if not asked:
            choices = f"choose one of: [{' '.join(mains)}]"
            inits = [one["name"] for one in spec.get("initContainers") or ()]
            if inits:
                choices += f" or one of the init containers: [{' '.join(inits)}]"
            raise bad_request(f"a container name must be specified for pod {name}, {choices}")
    if asked not in names:
        raise bad_request(f"container {asked} is not valid for pod {name}")
    return str(asked)


def waits_for_a_node(api: Api, name: str, namespace: str, container: str) -> bool:
    """Whether there is no kubelet to ask for the log yet, which is no mistake of the client's."""
    pod = api.stored(POD, name, namespace).obj
    container_of(pod, container)
    return not (pod.get("spec") or {}).get("nodeName")


def log_lines(
    api: Api, name: str, namespace: str, container: str, *, previous: bool = False
) -> list[tuple[float, str]]:
    """What the container has said, each line with its time."""
    pod = api.stored(POD, name, namespace).obj
    chosen = container_of(pod, container)
    status = pod.get("status") or {}
    states = [
        one
        for part in ("containerStatuses", "initContainerStatuses")
        for one in status.get(part) or ()
        if one["name"] == chosen
    ]
    state = (states[0].get("state") or {}) if states else {}
    if previous and not (states and states[0].get("restartCount")):
        raise bad_request(f'previous terminated container "{chosen}" in pod "{name}" not found')
    if "running" not in state and "terminated" not in state:
        reason = (state.get("waiting") or {}).get("reason", "ContainerCreating")
        raise bad_request(f'container "{chosen}" in pod "{name}" is waiting to start: {reason}')
    if api.kubernetes.logs is None:
        return []
    return api.kubernetes.logs(pod, chosen)


def log_text(lines: list[tuple[float, str]], query: dict[str, str], now: float) -> str:
    """As the client wants to see it: the last ones only, those since a time, with times."""
    if query.get("sinceSeconds"):
        lines = [line for line in lines if line[0] >= now - int(query["sinceSeconds"])]
    if query.get("tailLines"):
        count = int(query["tailLines"])
        lines = lines[-count:] if count else []
    times = query.get("timestamps") in ("true", "1")
    text = "".join(f"{_precise(at)} {line}\n" if times else f"{line}\n" for at, line in lines)
    limit = query.get("limitBytes")
    return text[: int(limit)] if limit else text


def _precise(at: float) -> str:
    return f"{stamp(at)[:-1]}.{int(at % 1 * 1e9):09d}Z"
