"""The nodes as Kubernetes sees them, and what is changed on them from outside: schedulable or not, labels, taints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from talosmith.kube import errors
from talosmith.kube.client import KubeClient
from talosmith.kube.conditions import Awaited, has, ready
from talosmith.kube.objects import Object, Ref, labels, metadata, spec, status, uid

_ROLE = "node-role.kubernetes.io/"
_TRIES = 5  # kubelets and controllers write to nodes too
CORDON_ANNOTATION = "talosmith.dev/cordoned"  # marks a cordon as ours, so that we may end it
_TALOS_CORDON = "talos.dev/cordoned"  # Talos cordons a node that it reboots, and ends that itself

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
CordonedBy = Literal["", "talosmith", "Talos", "other"]  # empty: schedulable


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """What keeps pods away that do not tolerate it."""

    key: str
    effect: str
    value: str = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class KubeNode:
    """A node, as read from the API."""

    name: str
    uid: str
    ready: bool
    reason: str  # why it is not ready, or that it is
    cordoned_by: CordonedBy
    kubelet: str  # versions, as the node gives them
    os: str
    kernel: str
    runtime: str
    roles: tuple[str, ...]
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    addresses: tuple[tuple[str, str], ...]  # kind and address

    @classmethod
    def of(cls, item: Object) -> KubeNode:
        verdict = has(item, "Ready")
        info = status(item).get("nodeInfo") or {}
        return cls(
            name=Ref.of(item).name,
            uid=uid(item),
            ready=verdict.ok,
            reason=verdict.reason,
            cordoned_by=_cordoned_by(item),
            kubelet=str(info.get("kubeletVersion") or ""),
            os=str(info.get("osImage") or ""),
            kernel=str(info.get("kernelVersion") or ""),
            runtime=str(info.get("containerRuntimeVersion") or ""),
            roles=tuple(sorted(key.removeprefix(_ROLE) for key in labels(item) if key.startswith(_ROLE))),
            labels=dict(labels(item)),
            taints=tuple(_taint(one) for one in spec(item).get("taints") or ()),
            addresses=tuple((str(one["type"]), str(one["address"])) for one in status(item).get("addresses") or ()),
        )


def node_ref(name: str) -> Ref:
    return Ref("v1", "Node", name)


async def list_nodes(client: KubeClient) -> dict[str, KubeNode]:
    """All nodes by their names."""
    listed = await client.list("v1", "Node")
    return {node.name: node for node in sorted(map(KubeNode.of, listed.items), key=lambda node: node.name)}


async def find_node(client: KubeClient, name: str) -> KubeNode | None:
    found = await client.find(node_ref(name))
    return KubeNode.of(found) if found is not None else None


def nodes_ready(names: Iterable[str]) -> list[Awaited]:
    """For `wait`."""
    return [ready(node_ref(name)) for name in names]


async def cordon(client: KubeClient, name: str) -> None:
    """Cordon the node, marked as ours. A node that is cordoned already stays whose it is. Raises `NotFound`."""
    mark = {"metadata": {"annotations": {CORDON_ANNOTATION: "true"}}, "spec": {"unschedulable": True}}
    await _change(client, name, lambda item: None if spec(item).get("unschedulable") else mark)


async def uncordon(client: KubeClient, name: str) -> bool:
    """False if there is no such node, which is fine: it may have been removed in the meantime."""
    try:
        await client.patch(
            node_ref(name), {"metadata": {"annotations": {CORDON_ANNOTATION: None}}, "spec": {"unschedulable": None}}
        )
    except errors.NotFound:
        return False
    return True


async def delete_node(client: KubeClient, name: str) -> bool:
    """False if it was gone already."""
    return await client.delete(node_ref(name))


async def set_labels(client: KubeClient, name: str, changes: Mapping[str, str | None]) -> KubeNode:
    """None removes a label."""
    return KubeNode.of(await client.patch(node_ref(name), {"metadata": {"labels": dict(changes)}}))


async def add_taint(client: KubeClient, name: str, taint: Taint) -> None:
    """In place of one of the same key and effect."""
    new = {"key": taint.key, "effect": taint.effect, **({"value": taint.value} if taint.value else {})}
    await _set_taints(client, name, lambda taints: [*_without(taints, taint), new])


async def remove_taint(client: KubeClient, name: str, taint: Taint) -> None:
    await _set_taints(client, name, lambda taints: _without(taints, taint))


async def _set_taints(
    client: KubeClient, name: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> None:
    """The list is written as a whole."""

    def changed(item: Object) -> Object | None:
        before = list(spec(item).get("taints") or ())
        after = change(before)
        return None if sorted(map(str, before)) == sorted(map(str, after)) else {"spec": {"taints": after}}

    await _change(client, name, changed)


async def _change(client: KubeClient, name: str, change: Callable[[Object], Object | None]) -> None:
    """Patch the node by what it is, and only if it has not changed since; None: nothing to change."""
    for attempt in range(1, _TRIES + 1):
        item = await client.get(node_ref(name))
        patch = change(item)
        if patch is None:
            return
        seen = {**(patch.get("metadata") or {}), "resourceVersion": metadata(item)["resourceVersion"]}
        try:
            await client.patch(node_ref(name), {**patch, "metadata": seen})
        except errors.Changed:
            if attempt == _TRIES:
                raise
        else:
            return


def _cordoned_by(item: Object) -> CordonedBy:
    if not spec(item).get("unschedulable"):
        return ""
    marks = metadata(item).get("annotations") or {}
    return "talosmith" if CORDON_ANNOTATION in marks else "Talos" if _TALOS_CORDON in marks else "other"


def _without(taints: list[dict[str, Any]], taint: Taint) -> list[dict[str, Any]]:
    return [one for one in taints if (one.get("key"), one.get("effect")) != (taint.key, taint.effect)]


def _taint(one: Mapping[str, Any]) -> Taint:
    return Taint(str(one.get("key", "")), str(one.get("effect", "")), str(one.get("value") or ""))
