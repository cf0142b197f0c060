"""What kubelets, Talos itself and operators write to the real API, under their own names."""

from __future__ import annotations

from typing import Any

from talosmith.kube import AlreadyExists, KubeClient, NotFound
from talosmith_lab.kube.kinds import Obj

MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
_ATTEMPTS = 2  # the next look comes soon enough
KUBELET, TALOS = "kubelet", "talos"


class Writer:
    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def create(self, obj: Obj, manager: str = KUBELET) -> bool:
        """False if there is one already."""
        try:
            await self._ask("POST", await self._path(obj, named=False), obj, manager=manager)
        except AlreadyExists:
            return False
        return True

    async def merge(self, obj: Obj, change: Obj, part: str = "", *, kind: str = MERGE) -> bool:
        """Into this very object; False if it is gone, or another has its name by now."""
        uid = obj["metadata"].get("uid")
        if uid:
            change = {**change, "metadata": {**change.get("metadata", {}), "uid": uid}}
        try:
            await self._ask("PATCH", await self._path(obj, part), change, kind)
        except NotFound:
            return False
        return True

    async def remove(self, obj: Obj) -> None:
        """At once, as a kubelet does with a pod that has ended."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        uid = obj["metadata"].get("uid")
        body: Obj = {**options, **({"preconditions": {"uid": uid}} if uid else {})}
        try:
            await self._ask("DELETE", await self._path(obj), body)
        except NotFound:
            return

    async def bind(self, pod: Obj, node: str) -> None:
        metadata = {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]}
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body: Obj = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        await self._ask("POST", await self._path(pod, "binding"), body, manager="kube-scheduler")

    async def _path(self, obj: Obj, part: str = "", *, named: bool = True) -> str:
        resource = await self._client.resource(obj["apiVersion"], obj["kind"])
        metadata = obj["metadata"]
        return resource.path(metadata.get("namespace", ""), metadata["name"] if named else "", part)

    async def _ask(
        self, method: str, path: str, body: Obj, kind: str = "application/json", manager: str = KUBELET
    ) -> Any:
        params = {"fieldManager": manager} if method != "DELETE" else {}
        asked = await self._client.caller.ask(
            method, path, params=params, body=body, content_type=kind, attempts=_ATTEMPTS
        )
        return asked.data
