"""A lab cluster in which controllers work, with a clock that the test moves."""

from __future__ import annotations

from typing import Any

from talosmith.providers.lab.process import PaceName
from talosmith_lab.kube import subresources
from talosmith_lab.kube.api import Api, How
from talosmith_lab.kube.cluster import kubernetes_of
from talosmith_lab.kube.kinds import Kind, Obj, find
from tests.lab.lab_worlds import Configs, Lab

HOW = How(manager="test", user="admin", groups=("system:masters",))
STRATEGIC = "application/strategic-merge-patch+json"
KINDS = {
    "Node": "v1", "Pod": "v1", "Service": "v1", "Namespace": "v1", "ConfigMap": "v1", "Secret": "v1", "Event": "v1",
    "ServiceAccount": "v1", "Endpoints": "v1", "PersistentVolumeClaim": "v1",
    "Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1",
    "ControllerRevision": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1",
    "PodDisruptionBudget": "policy/v1", "EndpointSlice": "discovery.k8s.io/v1", "Lease": "coordination.k8s.io/v1",
    "CertificateSigningRequest": "certificates.k8s.io/v1",
}  # fmt: skip


def kind_of(name: str) -> Kind:
    return find(KINDS[name], name)


class KubeCluster:
    """`cluster.create("Deployment", {...})`, then `cluster.run()` until all that follows has happened."""

    def __init__(self, configs: Configs, *names: str, pace: PaceName = "fast", lab: Lab | None = None) -> None:
        self.lab = lab or Lab(configs, pace)
        if names:
            self.lab.cluster_of(*names)

    @property
    def api(self) -> Api:
        return Api(kubernetes_of(self.lab.world, self.lab.etcd))

    def run(self, seconds: float = 1e9) -> None:
        self.lab.run(seconds)

    def create(self, kind: str, obj: Obj, namespace: str = "default") -> Obj:
        whole = {"apiVersion": KINDS[kind], "kind": kind, **obj}
        return self.api.create(kind_of(kind), whole, namespace if kind_of(kind).namespaced else "", how=HOW)

    def get(self, kind: str, name: str, namespace: str = "default") -> Obj:
        return self.api.get(kind_of(kind), name, namespace if kind_of(kind).namespaced else "")

    def find(self, kind: str, name: str, namespace: str = "default") -> Obj | None:
        return self.api.find(kind_of(kind), name, namespace if kind_of(kind).namespaced else "")

    def list(self, kind: str, namespace: str = "default", **how: str) -> list[Obj]:
        return list(self.api.items(kind_of(kind), namespace, **how))

    def patch(self, kind: str, name: str, patch: Any, namespace: str = "default", subresource: str = "") -> Obj:
        space = namespace if kind_of(kind).namespaced else ""
        return self.api.patch(kind_of(kind), name, space, STRATEGIC, patch, subresource=subresource, how=HOW)

    def delete(self, kind: str, name: str, namespace: str = "default", **options: Any) -> Obj:
        space = namespace if kind_of(kind).namespaced else ""
        return self.api.delete(kind_of(kind), name, space, options=options, how=HOW)

    def evict(self, pod: str, namespace: str = "default") -> Obj:
        return subresources.evict(self.api, pod, namespace, {}, HOW)

    def events(self, name: str, namespace: str = "default") -> list[tuple[str, str]]:
        found = [one for one in self.list("Event", namespace) if one["involvedObject"]["name"] == name]
        return [(one["reason"], one["message"]) for one in found]


def workload(name: str, replicas: int | None = None, image: str = "nginx:1", **spec: Any) -> Obj:
    """The better part of a Deployment, ReplicaSet, StatefulSet or DaemonSet."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}
    made = {"selector": {"matchLabels": labels}, "template": template, **spec}
    if replicas is not None:
        made["replicas"] = replicas
    return {"metadata": {"name": name, "labels": labels}, "spec": made}


def condition(obj: Obj, kind: str) -> Obj:
    return next(one for one in obj["status"]["conditions"] if one["type"] == kind)


def is_ready(obj: Obj) -> bool:
    return bool(condition(obj, "Ready")["status"] == "True")


def names(objects: list[Obj]) -> list[str]:
    return [one["metadata"]["name"] for one in objects]
