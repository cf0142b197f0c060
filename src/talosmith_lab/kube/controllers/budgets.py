"""PodDisruptionBudgets: how many pods are healthy, how many have to be, how many may go."""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.cluster import seconds_of
from talosmith_lab.kube.controllers.objects import (
    BUDGET,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    controller_of,
    going,
    is_active,
    is_ready,
    key_of,
    labels_of,
    share,
    split,
    with_condition,
)
from talosmith_lab.kube.controllers.work import Controller
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.selectors import selects

_FORGOTTEN = 120.0  # seconds after which a pod that was let go and is still there counts again


class Budgets(Controller):
    name = "budgets"
    watches = (BUDGET, POD)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == BUDGET.root:
            if now is not None:
                yield key_of(now)
            return
        if before is not None and now is not None and _counts(before) == _counts(now):
            return
        pod = now or before or {}
        for budget in self.api.items(BUDGET, pod["metadata"]["namespace"]):
            if selects(budget["spec"].get("selector"), labels_of(pod)):
                yield key_of(budget)

    def reconcile(self, key: str) -> None:
        budget = self.api.find(BUDGET, *split(key))
        if budget is None:
            return
        spec, before = budget["spec"], budget.get("status") or {}
        pods = [
            pod
            for pod in self.api.items(POD, budget["metadata"]["namespace"])
            if selects(spec.get("selector"), labels_of(pod)) and is_active(pod)
        ]
        letting_go = self._letting_go(before, pods)
        healthy = sum(1 for pod in pods if is_ready(pod) and pod["metadata"]["name"] not in letting_go)
        expected = self._expected(pods, spec)
        if spec.get("maxUnavailable") is not None:
            needed = max(0, expected - share(spec["maxUnavailable"], expected, up=True))
        else:
            needed = share(spec.get("minAvailable", 1), expected, up=True)
        allowed = max(0, healthy - needed) if expected else 0
        words = {"reason": "SufficientPods" if allowed else "InsufficientPods", "message": ""}
        told = {"type": "DisruptionAllowed", "status": "True" if allowed else "False", **words}
        told["observedGeneration"] = budget["metadata"].get("generation", 1)
        status: Obj = {
            "observedGeneration": budget["metadata"].get("generation", 1),
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": needed,
            "expectedPods": expected,
            "conditions": with_condition(before.get("conditions"), told, self.work.now),
        }
        if letting_go:
            status["disruptedPods"] = letting_go
        self.work.set_status(BUDGET, budget, status)

    def _letting_go(self, before: Obj, pods: list[Obj]) -> Obj:
        """Pods that an eviction was granted for, and that do not know it yet."""
        names, now = {pod["metadata"]["name"] for pod in pods if not going(pod)}, self.work.world.now()
        return {
            name: at
            for name, at in (before.get("disruptedPods") or {}).items()
            if name in names and seconds_of(at) > now - _FORGOTTEN
        }

    def _expected(self, pods: list[Obj], spec: Obj) -> int:
        """As many as their controllers want, where the budget is a share of that."""
        given = spec.get("maxUnavailable", spec.get("minAvailable"))
        if isinstance(given, int) and spec.get("maxUnavailable") is None:
            return len(pods)
        total, seen = 0, set()
        for pod in pods:
            owner = controller_of(pod)
            kind = {"ReplicaSet": REPLICA_SET, "StatefulSet": STATEFUL_SET}.get(owner["kind"]) if owner else None
            found = self.api.find(kind, owner["name"], pod["metadata"]["namespace"]) if kind and owner else None
            if found is None:
                total += 1
            elif found["metadata"]["uid"] not in seen:
                seen.add(found["metadata"]["uid"])
                total += int(found["spec"].get("replicas", 1))
        return total


def _counts(pod: Obj) -> tuple[object, ...]:
    return is_active(pod), is_ready(pod), pod["metadata"].get("labels")
