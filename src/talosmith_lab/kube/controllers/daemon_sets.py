"""DaemonSets: a pod on each node that takes it. Nodes are looked at one by one, as they change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from talosmith_lab.kube.controllers import fitting, revisions
from talosmith_lab.kube.controllers.making_pods import delete_pod, make_pod
from talosmith_lab.kube.controllers.objects import (
    DAEMON_SET,
    NODE,
    POD,
    controller_of,
    going,
    is_over,
    is_ready,
    key_of,
    labels_of,
    share,
    split,
)
from talosmith_lab.kube.controllers.work import Controller
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kind, Obj

_SOURCE = "daemonset-controller"
_AT = "@"
_CROWD = 50  # pods, from which on changes are gathered for a moment
_MOMENT = 0.1
_TOLERATED = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


class DaemonSets(Controller):
    name = "daemon-sets"
    watches = (DAEMON_SET, NODE, POD)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == DAEMON_SET.root:
            if now is not None and (before is None or _differs(before, now)):
                yield key_of(now)
        elif kind.root == NODE.root:
            if now is None or before is None or _matters(before) != _matters(now):
                name = (now or before or {})["metadata"]["name"]
                for one in self.api.items(DAEMON_SET):
                    yield f"{key_of(one)}{_AT}{name}"
        else:
            for pod in filter(None, (now or before,)):
                owner = controller_of(pod)
                if owner is not None and owner["kind"] == "DaemonSet":
                    yield f"{pod['metadata']['namespace']}/{owner['name']}{_AT}{_node_of(pod)}"

    def reconcile(self, key: str) -> None:
        place, _, node = key.partition(_AT)
        found = self.api.find(DAEMON_SET, *split(place))
        if found is None:
            return
        nodes = [node] if node else [one["metadata"]["name"] for one in self.api.items(NODE)]
        if not going(found):
            revision = revisions.current(self.work, DAEMON_SET, found)
            for name in nodes:
                self._sync(found, name, revision)
        if node and len(self.work.index.pods_of(found["metadata"]["uid"]).all) > _CROWD:
            self.work.wait(self, "count", place, _MOMENT)
        else:
            self._count(found)

    def elapsed(self, what: str, key: str) -> None:
        found = self.api.find(DAEMON_SET, *split(key))
        if found is not None:
            self._count(found)

    def _count(self, found: Obj) -> None:
        """All pods are looked at, so where there are many, not after each change."""
        if not going(found):
            self._update(found, revisions.current(self.work, DAEMON_SET, found))
        self._report(found)

    def _pods(self, owner: Obj, node: str) -> Iterator[Obj]:
        pods = self.work.index.pods_of(owner["metadata"]["uid"]).all
        if len(pods) < 16 or node not in self.work.index.on_node:
            yield from (pod for pod in list(pods.values()) if _node_of(pod) == node)
            return
        uid = owner["metadata"]["uid"]
        for pod in list(self.work.index.on_node[node].all.values()):
            if (controller_of(pod) or {}).get("uid") == uid:
                yield pod

    def _sync(self, owner: Obj, name: str, revision: str) -> None:
        node = self.api.find(NODE, name)
        wanted = node is not None and runs_on(owner, node)
        there = list(self._pods(owner, name))
        for pod in there:
            if going(pod):
                continue
            drives_away = node is not None and fitting.why_not(_spec(owner), node, scheduled=False)
            if is_over(pod) or node is None or not fitting.selected(_spec(owner), node) or drives_away:
                delete_pod(self.work, pod)
                told = f"Deleted pod: {pod['metadata']['name']}"
                self.work.event(owner, "SuccessfulDelete", told, source=_SOURCE)
        if wanted and not there:
            self._make(owner, name, revision)

    def _make(self, owner: Obj, node: str, revision: str) -> None:
        spec = owner["spec"]["template"]["spec"]
        term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
        affinity = {**(spec.get("affinity") or {})}
        affinity["nodeAffinity"] = {fitting.REQUIRED: {"nodeSelectorTerms": [term]}}
        labels = {
            revisions.HASH: revision,
            "pod-template-generation": str(owner["metadata"].get("generation", 1)),
        }
        changes = {"affinity": affinity, "tolerations": _spec(owner)["tolerations"]}
        try:
            made = make_pod(self.work, DAEMON_SET, owner, labels=labels, spec=changes)
        except ApiError as refused:
            told = f"Error creating: {refused.message}"
            self.work.event(owner, "FailedCreate", told, source=_SOURCE, type="Warning")
            return
        self.work.event(owner, "SuccessfulCreate", f"Created pod: {made['metadata']['name']}", source=_SOURCE)

    def _update(self, owner: Obj, revision: str) -> None:
        """Old pods are replaced, as few at a time as may be missing."""
        strategy = owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        pods = self.work.index.pods_of(owner["metadata"]["uid"]).all
        old = [pod for pod in pods.values() if labels_of(pod).get(revisions.HASH) != revision and not going(pod)]
        if not old:
            return
        missing = share((strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1), len(pods), up=True)
        down = sum(1 for pod in pods.values() if going(pod) or not is_ready(pod))
        for pod in sorted(old, key=lambda pod: (is_ready(pod), key_of(pod))):
            if is_ready(pod):
                if down >= max(1, missing):
                    return
                down += 1
            delete_pod(self.work, pod)
            self.work.event(owner, "SuccessfulDelete", f"Deleted pod: {pod['metadata']['name']}", source=_SOURCE)

    def _report(self, owner: Obj) -> None:
        found = self.api.find(DAEMON_SET, *split(key_of(owner)))
        if found is None:
            return
        pods = [pod for pod in self.work.index.pods_of(owner["metadata"]["uid"]).all.values() if not going(pod)]
        revision = revisions.current(self.work, DAEMON_SET, found)
        wanted = sum(1 for node in self.api.items(NODE) if runs_on(found, node))
        placed = [pod for pod in pods if pod["spec"].get("nodeName")]
        ready = sum(map(is_ready, placed))
        updated = sum(1 for pod in placed if labels_of(pod).get(revisions.HASH) == revision)
        status: Obj = {
            "currentNumberScheduled": min(len(placed), wanted),
            "numberMisscheduled": max(0, len(placed) - wanted),
            "desiredNumberScheduled": wanted,
            "numberReady": ready,
            "observedGeneration": found["metadata"].get("generation", 1),
        }
        counts = {
            "updatedNumberScheduled": updated,
            "numberAvailable": ready,
            "numberUnavailable": max(0, wanted - ready),
        }
        status |= {name: count for name, count in counts.items() if count}
        self.work.set_status(DAEMON_SET, found, status)


def runs_on(owner: Obj, node: Obj) -> bool:
    return not fitting.why_not(_spec(owner), node)


def _spec(owner: Obj) -> Obj:
    """Of its pods, with what all of them put up with."""
    spec: Obj = owner["spec"]["template"]["spec"]
    tolerated: list[Obj] = [{"key": key, "operator": "Exists", "effect": effect} for key, effect in _TOLERATED]
    if spec.get("hostNetwork"):
        unavailable = {"key": "node.kubernetes.io/network-unavailable", "operator": "Exists", "effect": "NoSchedule"}
        tolerated.append(unavailable)
    return {**spec, "tolerations": [*(spec.get("tolerations") or ()), *tolerated]}


def _node_of(pod: Obj) -> str:
    """Where it is, or is to be."""
    if pod["spec"].get("nodeName"):
        return str(pod["spec"]["nodeName"])
    affinity = ((pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}).get(fitting.REQUIRED) or {}
    for term in affinity.get("nodeSelectorTerms") or ():
        for one in term.get("matchFields") or ():
            return str(one["values"][0])
    return ""


def _differs(before: Obj, now: Obj) -> bool:
    return before["spec"] != now["spec"] or going(before) != going(now)


def _matters(node: Obj) -> tuple[object, ...]:
    return node["metadata"].get("labels"), node["spec"].get("taints"), node["spec"].get("unschedulable")
