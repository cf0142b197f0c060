"""A namespace in a world that is looked after: what controllers have made there, and a deployment to look at.

Pods ask for a scheduler that is not there. The tests say of them what a kubelet would.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.kube.kube_world import STRATEGIC_PATCH, KubeWorld, Obj, until


class KeptSpace:
    """A namespace in a world that is looked after."""

    def __init__(self, world: KubeWorld, name: str) -> None:
        self.world, self.name = world, name
        self.apps, self.core = f"/apis/apps/v1/namespaces/{name}", f"/api/v1/namespaces/{name}"

    def listed(self, path: str) -> list[Obj]:
        found: list[Obj] = self.world.get(path).ok()["items"]
        return found

    @property
    def pods(self) -> list[Obj]:
        """Those that are not on their way out."""
        return [one for one in self.listed(f"{self.core}/pods") if "deletionTimestamp" not in one["metadata"]]

    @property
    def sets(self) -> dict[str, Obj]:
        """Replica sets, by revision."""
        found = self.listed(f"{self.apps}/replicasets")
        return {one["metadata"]["annotations"]["deployment.kubernetes.io/revision"]: one for one in found}

    def deployment(self) -> Obj:
        found: Obj = self.world.get(f"{self.apps}/deployments/web").ok()
        return found

    def status(self, **wanted: int) -> Obj:
        """Of the deployment, once it has these numbers and is up to date."""

        def holds(found: Obj) -> bool:
            is_new = found["status"].get("observedGeneration") == found["metadata"]["generation"]
            return is_new and all(found["status"].get(name, 0) == number for name, number in wanted.items())

        status: Obj = until(self.deployment, holds)["status"]
        return status

    def report_ready(self, pod: Obj, ready: str = "True") -> None:
        conditions = [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}]
        path = f"{self.core}/pods/{pod['metadata']['name']}/status"
        self.world.patch(path, {"status": {"phase": "Running", "conditions": conditions}}, STRATEGIC_PATCH).ok()

    def known_to_controllers(self, app: str, pods: int) -> None:
        """Until they have heard of so many pods of this app: what they do after that, they do knowing them."""
        path = f"/apis/policy/v1/namespaces/{self.name}/poddisruptionbudgets"
        spec = {"minAvailable": 0, "selector": {"matchLabels": {"app": app}}}
        budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": f"count-{app}"}}
        self.world.create(path, {**budget, "spec": spec}).ok()

        def counted() -> int | None:
            found: int | None = (self.world.get(f"{path}/count-{app}").ok().get("status") or {}).get("expectedPods")
            return found

        until(counted, lambda count: count == pods)

    def events(self, kind: str) -> set[tuple[str, str, str]]:
        found = self.listed(f"{self.core}/events")
        return {
            (one["type"], one["reason"], one["message"]) for one in found if one["involvedObject"]["kind"] == kind
        }


@pytest.fixture(name="space")
def kept_space(kept_world: KubeWorld, unique: str) -> KeptSpace:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": unique}}
    kept_world.create("/api/v1/namespaces", namespace).ok()
    return KeptSpace(kept_world, unique)


def template(app: str = "web", **spec: Any) -> Obj:
    containers = [{"name": "c", "image": "example.org/c:1"}]
    labels = {"labels": {"app": app}}
    return {"metadata": labels, "spec": {"schedulerName": "nobody", "containers": containers, **spec}}


def workload(kind: str, replicas: int, **spec: Any) -> Obj:
    selector = {"matchLabels": {"app": "web"}}
    whole = {"replicas": replicas, "selector": selector, "template": template(), **spec}
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"}, "spec": whole}


@pytest.fixture(name="web")
def kept_web(space: KeptSpace) -> KeptSpace:
    """A deployment of two, whose pods are pending."""
    space.world.create(f"{space.apps}/deployments", workload("Deployment", 2)).ok()
    space.status(replicas=2)
    return space


def conditions(status: Obj) -> dict[str, tuple[str, str, str]]:
    found = status.get("conditions") or []
    return {one["type"]: (one["status"], one.get("reason", ""), one.get("message", "")) for one in found}
