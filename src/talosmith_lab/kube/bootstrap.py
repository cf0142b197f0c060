"""What an API server makes when it starts: namespaces, its own service, roles, priorities. Made again if missing."""

from __future__ import annotations

from talosmith_lab.kube.addresses import SERVICE
from talosmith_lab.kube.api import SYSTEM, Api
from talosmith_lab.kube.first_objects import first_objects
from talosmith_lab.kube.kinds import Obj, find

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
ADDRESS = "10.96.0.1"
PORT = 6443


def start(api: Api) -> None:
    """Raises what etcd refuses; then the next start tries again."""
    for name in NAMESPACES:
        _ensure(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for obj in first_objects():
        _ensure(api, obj)
    if api.find(SERVICE, "kubernetes", "default") is None:
        _ensure(api, _service())


def _ensure(api: Api, obj: Obj) -> None:
    kind = find(obj["apiVersion"], obj["kind"])
    metadata = obj["metadata"]
    if api.find(kind, metadata["name"], metadata.get("namespace", "")) is None:
        api.create(kind, obj, metadata.get("namespace", ""), how=SYSTEM)


def _service() -> Obj:
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": PORT}
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {"type": "ClusterIP", "clusterIP": ADDRESS, "ports": [port]},
    }
