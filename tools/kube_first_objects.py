"""Makes the list of objects that an API server has from its first start: `python -m tools.kube_first_objects`.

A real etcd and kube-apiserver (peers) are started on loopback and asked for the roles, bindings and priorities that
they made by themselves. Each is then made once in a lab, so that starting one need not do it again and again. The
result is committed.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator

from talosmith_lab.clock import ManualClock
from talosmith_lab.etcd import Cluster
from talosmith_lab.kube.bootstrap import NAMESPACES, THEN
from talosmith_lab.kube.cluster import Kubernetes, seconds_of
from talosmith_lab.kube.how import SYSTEM
from talosmith_lab.kube.kinds import Obj, find
from talosmith_lab.kube.selectors import selects
from talosmith_lab.kube.writing import NAMESPACE, copied, for_creation
from talosmith_lab.kv import KeyValues
from talosmith_lab.world import World
from tools.kube_schemas import FOLDER, api_server

PATHS = {
    "/apis/apiregistration.k8s.io/v1/apiservices": "APIService",
    "/apis/scheduling.k8s.io/v1/priorityclasses": "PriorityClass",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles": "ClusterRole",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings": "ClusterRoleBinding",
    "/apis/rbac.authorization.k8s.io/v1/roles": "Role",
    "/apis/rbac.authorization.k8s.io/v1/rolebindings": "RoleBinding",
    "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations": "PriorityLevelConfiguration",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas": "FlowSchema",
}
_KEPT = ("name", "namespace", "labels", "annotations")


def main() -> None:
    with api_server() as (fetch, _):
        found = {path: fetch(path, "application/json")["items"] for path in PATHS}
    objects = made(found)
    text = json.dumps(objects, separators=(",", ":"))
    (FOLDER / "first_objects.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(objects)} objects")


def made(found: dict[str, list[Obj]]) -> list[Obj]:
    """From what a real server lists under each path: as a lab that makes them `THEN` has them, without their uids."""
    objects = [_bare(path, item) for path, items in found.items() for item in items]
    roles = [obj for obj in objects if obj["kind"] == "ClusterRole"]
    kubernetes = _kubernetes()
    return [_ready(kubernetes, _aggregated(obj, roles)) for obj in objects]


def _bare(path: str, item: Obj) -> Obj:
    metadata = {name: value for name, value in item["metadata"].items() if name in _KEPT}
    rest = {name: value for name, value in item.items() if name not in ("metadata", "status")}
    version = path.removeprefix("/apis/").rpartition("/")[0]
    return {"apiVersion": version, "kind": PATHS[path], "metadata": metadata, **rest}


def _aggregated(obj: Obj, roles: list[Obj]) -> Obj:
    """Roles such as `view` are the sum of others; a controller adds them up."""
    selectors = (obj.get("aggregationRule") or {}).get("clusterRoleSelectors")
    return {**obj, "rules": list(_rules_of(selectors, roles))} if selectors else obj


def _rules_of(selectors: list[Obj], roles: list[Obj]) -> Iterator[Obj]:
    for role in roles:
        labels = role["metadata"].get("labels") or {}
        if not any(selects(selector, labels) for selector in selectors):
            continue
        inner = (role.get("aggregationRule") or {}).get("clusterRoleSelectors")
        yield from _rules_of(inner, roles) if inner else role.get("rules") or ()


def _kubernetes() -> Kubernetes:
    """One with nothing in it but the first namespaces."""
    kubernetes = Kubernetes(World(now=ManualClock(seconds_of(THEN))), Cluster(uid="", talos_id=""))

    def write(change: Callable[[KeyValues], object]) -> None:
        change(kubernetes.cluster.store)

    for name in NAMESPACES:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        kubernetes.storage.put(NAMESPACE.root, NAMESPACE.key("", name), namespace, write)
    return kubernetes


def _ready(kubernetes: Kubernetes, obj: Obj) -> Obj:
    kind = find(obj["apiVersion"], obj["kind"])
    ready = for_creation(kubernetes, kind, copied(obj), obj["metadata"].get("namespace", ""), SYSTEM)
    del ready["metadata"]["uid"]
    return ready


if __name__ == "__main__":
    main()
