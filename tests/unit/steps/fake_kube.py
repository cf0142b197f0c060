"""The Kubernetes API as steps see it: Node objects, pods, evictions, and whether each control plane is ready."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from talosmith.kube import Ref, errors

if TYPE_CHECKING:
    from tests.unit.steps.fake_world import Box, World


class FakeKube:
    """A client of some control planes, and its own caller. The first that is ready answers."""

    def __init__(self, world: World, boxes: list[Box], credentials: Any) -> None:
        self._world = world
        self._boxes = boxes
        self.server = boxes[0].name
        self.caller = self
        self.closed = False
        self.credentials = credentials

    async def close(self) -> None:
        self.closed = True

    async def exchange(self, credentials: Any) -> None:
        self.credentials = credentials

    def _check(self) -> None:
        if all(box.api or box.stage == "off" for box in self._boxes):
            raise errors.NoConnection("", f"no connection to a control plane: {self._boxes[0].api or 'refused'}")

    async def find(self, ref: Ref) -> dict[str, Any] | None:
        self._check()
        assert ref.kind == "Node"
        return self._world.nodes.get(ref.name)

    async def get(self, ref: Ref) -> dict[str, Any]:
        found = await self.find(ref)
        if found is None:
            raise errors.NotFound(self.server, "not found", about=str(ref))
        return found

    async def patch(self, ref: Ref, change: dict[str, Any], **options: Any) -> None:
        item = await self.get(ref)
        cordons = change["spec"]["unschedulable"]

        def merge() -> None:
            item["spec"] = {"unschedulable": True} if cordons else {}
            marks = {**(item["metadata"].get("annotations") or {}), **change["metadata"].get("annotations", {})}
            item["metadata"]["annotations"] = {key: value for key, value in marks.items() if value is not None}

        verb = "cordon" if cordons else "uncordon"
        await self._world.act(f"{ref.name} kube:{verb}", merge, each_checked=False)

    async def delete(self, ref: Ref) -> bool:
        self._check()
        assert ref.kind == "Node"
        gone: list[Any] = []
        await self._world.act(
            f"{ref.name} kube:delete", lambda: gone.append(self._world.nodes.pop(ref.name, None)), each_checked=False
        )
        return gone[0] is not None

    async def list(self, api_version: str, kind: str, *, fields: str = "") -> Any:
        self._check()
        if kind == "PodDisruptionBudget":
            return SimpleNamespace(items=())
        assert kind == "Pod"
        return SimpleNamespace(items=tuple(pod for pod in self._world.pods if pod["spec"]["nodeName"] in fields))

    async def ask(self, method: str, path: str, **options: Any) -> Any:
        if path == "/readyz":
            (box, *_) = self._boxes
            if box.api or box.stage == "off":
                raise errors.NotReady(box.name, "not ready", said=f"[-]{box.api} failed", code=500)
            return SimpleNamespace(server=box.name)
        if path == "/api/v1/namespaces/kube-system/pods":
            return SimpleNamespace(item={"items": self._world.pods})
        assert method == "POST" and path.endswith("/eviction"), path
        name = path.split("/")[-2]
        if name in self._world.protected:
            raise errors.Protected(self.server, "refused", said="would violate the pod's disruption budget")
        if options["params"]:
            return None
        pod = next(pod for pod in self._world.pods if pod["metadata"]["name"] == name)
        node = pod["spec"]["nodeName"]
        return await self._world.act(
            f"{node} kube:evict {name}", lambda: self._world.pods.remove(pod), each_checked=False
        )


def pod(name: str, node: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "uid": name},
        "spec": {"nodeName": node},
    }
