"""Makes the list of objects that an API server has from its first start: `python -m tools.kube_first_objects`.

A real etcd and kube-apiserver (peers) are started on loopback and asked for the roles, bindings and priorities that
they made by themselves. The result is committed.
"""

from __future__ import annotations

import gzip
import json
from typing import Any

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
    objects: list[dict[str, Any]] = []
    with api_server() as (fetch, _):
        for path, kind in PATHS.items():
            version = path.removeprefix("/apis/").rpartition("/")[0]
            objects += [_bare(version, kind, item) for item in fetch(path, "application/json")["items"]]
    text = json.dumps(objects, separators=(",", ":"), sort_keys=True)
    (FOLDER / "first_objects.json.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(f"{len(objects)} objects")


def _bare(version: str, kind: str, item: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in item["metadata"].items() if name in _KEPT}
    rest = {name: value for name, value in item.items() if name not in ("metadata", "status")}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


if __name__ == "__main__":
    main()
