"""The scheduler: gives each pod the least busy of the nodes that take it, or says why there is none."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable

from talosmith_lab.clock import fraction
from talosmith_lab.kube import subresources
from talosmith_lab.kube.controllers import fitting
from talosmith_lab.kube.controllers.node_objects import PODS
from talosmith_lab.kube.controllers.objects import (
    NODE,
    POD,
    condition,
    controller_of,
    going,
    is_active,
    key_of,
    split,
    with_condition,
)
from talosmith_lab.kube.controllers.work import Controller, Work
from talosmith_lab.kube.how import How
from talosmith_lab.kube.kinds import Kind, Obj

_SCHEDULER = "default-scheduler"
_HOW = How(manager="kube-scheduler", user="system:kube-scheduler")
_NO_VICTIMS = "No preemption victims found for incoming pod."
_NO_HELP = "Preemption is not helpful for scheduling."


class Scheduler(Controller):
    name = "scheduler"
    watches = (POD, NODE)

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self._pending: dict[str, None] = {}
        self._fitting: dict[str, tuple[list[str], Counter[str]]] = {}  # by what pods ask for

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == NODE.root:
            if before is None or now is None or _matters(before) != _matters(now):
                self._fitting.clear()
                yield from self._pending
            return
        if now is None and before is not None:
            self._pending.pop(key_of(before), None)
        left = before is not None and is_active(before) and before["spec"].get("nodeName")
        if left and (now is None or not is_active(now)):
            yield from self._pending  # there is room again
        if before is None and now is not None and not now["spec"].get("nodeName") and is_active(now):
            yield key_of(now)

    def reconcile(self, key: str) -> None:
        pod = self.api.find(POD, *split(key))
        self._pending.pop(key, None)
        if pod is None or pod["spec"].get("nodeName") or going(pod) or not _mine(pod):
            return
        nodes, problems = self._nodes_for(pod)
        chosen = self._choose(pod, nodes)
        if chosen is None:
            self._pending[key] = None
            full = len(nodes)
            self._tell_why(pod, problems + Counter({"Too many pods": full} if full else {}))
            return
        metadata = pod["metadata"]
        subresources.bind(self.api, metadata["name"], metadata["namespace"], {"target": {"name": chosen}}, _HOW)
        told = f"Successfully assigned {key} to {chosen}"
        self.work.event(pod, "Scheduled", told, source=_SCHEDULER)

    def _nodes_for(self, pod: Obj) -> tuple[list[str], Counter[str]]:
        spec = pod["spec"]
        asked = json.dumps(
            [spec.get("nodeSelector"), (spec.get("affinity") or {}).get("nodeAffinity"), spec.get("tolerations")]
        )
        found = self._fitting.get(asked)
        if found is None:
            nodes, problems = [], Counter[str]()
            for node in self.api.items(NODE):
                why = fitting.why_not(spec, node)
                if why:
                    problems[why] += 1
                else:
                    nodes.append(node["metadata"]["name"])
            found = self._fitting[asked] = nodes, problems
        return found

    def _choose(self, pod: Obj, nodes: list[str]) -> str | None:
        """Where the fewest of the same controller are, and then the fewest of all."""
        index, owner = self.work.index, controller_of(pod)
        spread = index.spread.get(owner["uid"], {}) if owner else {}
        counts = {name: (spread.get(name, 0), index.on_node[name].active if name in index.on_node else 0)
                  for name in nodes}  # fmt: skip
        free = [name for name in nodes if counts[name][1] < PODS and self._apart(pod, name)]
        if not free:
            return None
        least = min(counts[name] for name in free)
        best = [name for name in free if counts[name] == least]
        seed = self.work.world.seed
        return min(best, key=lambda name: fraction(seed, "scheduled", pod["metadata"]["name"], name))

    def _apart(self, pod: Obj, node: str) -> bool:
        """Whether required anti-affinity within nodes lets it there."""
        terms = ((pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}).get(fitting.REQUIRED)
        if not terms:
            return True
        there = self.work.index.pods_on(node).all.values()
        return not any(fitting.keeps_apart(pod, term, other) for term in terms for other in there if is_active(other))

    def _tell_why(self, pod: Obj, problems: Counter[str]) -> None:
        count = sum(problems.values())
        if not count:
            message = "no nodes available to schedule pods"
        else:
            reasons = ", ".join(sorted(f"{number} {why}" for why, number in problems.items()))
            fixed = all("pods" not in why for why in problems)
            help_ = f"{count} {_NO_HELP if fixed else _NO_VICTIMS}"
            message = f"0/{count} nodes are available: {reasons}. preemption: 0/{count} nodes are available: {help_}"
        old = condition(pod, "PodScheduled")
        if old is not None and old["status"] == "False" and old.get("message") == message:
            return
        told = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "reason": "Unschedulable",
            "message": message,
        }
        status = pod.get("status") or {}
        conditions = with_condition(status.get("conditions"), told, self.work.now)
        self.work.set_status(POD, pod, {**status, "conditions": conditions})
        self.work.event(pod, "FailedScheduling", message, source=_SCHEDULER, type="Warning")


def _mine(pod: Obj) -> bool:
    gates = pod["spec"].get("schedulingGates")
    return not gates and pod["spec"].get("schedulerName", _SCHEDULER) == _SCHEDULER


def _matters(node: Obj) -> tuple[object, ...]:
    """What decides whether pods go there."""
    return node["metadata"].get("labels"), node["spec"].get("taints"), node["spec"].get("unschedulable")
