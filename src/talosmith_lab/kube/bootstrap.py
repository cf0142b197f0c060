"""What an API server makes when it starts: namespaces, its own service, roles, priorities. Made again if missing."""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib import resources

from talosmith_lab.kube.addresses import SERVICE
from talosmith_lab.kube.api import SYSTEM, Api
from talosmith_lab.kube.kinds import Obj, find

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
ADDRESS = "10.96.0.1"
PORT = 6443
THEN = "2000-01-01T00:00:00Z"  # when they were made, in the list of them


def start(api: Api) -> None:
    """Raises what etcd refuses; then the next start tries again."""
    for name in NAMESPACES:
        _ensure(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for obj in first_objects(api.kubernetes.now()):
        _ensure_ready(api, obj)
    if api.find(SERVICE, "kubernetes", "default") is None:
        _ensure(api, _service())


def _ensure(api: Api, obj: Obj) -> None:
    kind = find(obj["apiVersion"], obj["kind"])
    metadata = obj["metadata"]
    if api.find(kind, metadata["name"], metadata.get("namespace", "")) is None:
        api.create(kind, obj, metadata.get("namespace", ""), how=SYSTEM)


def _ensure_ready(api: Api, obj: Obj) -> None:
    """Of one that lacks only its uid. There are many, and everybody waits for them."""
    kind = find(obj["apiVersion"], obj["kind"])
    metadata = obj["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace", "")
    if api.find(kind, name, namespace) is not None:
        return
    metadata["uid"] = api.kubernetes.world.unique("uid", kind.plural, name)
    api.put(kind, kind.key(namespace, name), obj)


def _service() -> Obj:
    port = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": PORT}
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {"type": "ClusterIP", "clusterIP": ADDRESS, "ports": [port]},
    }


def first_objects(now: str) -> list[Obj]:
    """As they are stored if they are made now, but without their uids."""
    found: list[Obj] = json.loads(_packed().replace(THEN, now))
    return found


@cache
def _packed() -> str:
    packed = resources.files("talosmith_lab.kube") / "data/first_objects.json.gz"
    return gzip.decompress(packed.read_bytes()).decode()
