"""What an API server makes when it starts: namespaces, its own service, roles, priorities. Made again if missing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from functools import cache
from importlib import resources

from talosmith.lab.kube.addresses import SERVICE
from talosmith.lab.kube.api import SYSTEM, Api
from talosmith.lab.kube.kinds import Obj, find
from talosmith.lab.kube.selectors import selects

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")
ADDRESS = "10.96.0.1"
PORT = 6443


def start(api: Api) -> None:
    """Raises what etcd refuses; then the next start tries again."""
    for name in NAMESPACES:
        _ensure(api, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    for obj in _first_objects():
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


@cache
def _first_objects() -> tuple[Obj, ...]:
    packed = (resources.files("talosmith.lab.kube") / "data/first_objects.json.gz").read_bytes()
    objects: list[Obj] = json.loads(gzip.decompress(packed))
    roles = [obj for obj in objects if obj["kind"] == "ClusterRole"]
    return tuple(_aggregated(obj, roles) for obj in objects)


def _aggregated(obj: Obj, roles: list[Obj]) -> Obj:
    """Roles such as `view` are the sum of others; a controller adds them up."""
    selectors = (obj.get("aggregationRule") or {}).get("clusterRoleSelectors")
    if not selectors:
        return obj
    return {**obj, "rules": list(_rules_of(selectors, roles))}


def _rules_of(selectors: list[Obj], roles: list[Obj]) -> Iterator[Obj]:
    for role in roles:
        labels = role["metadata"].get("labels") or {}
        if not any(selects(selector, labels) for selector in selectors):
            continue
        inner = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
        yield from _rules_of(inner, roles) if inner else role.get("rules") or ()
