"""What kubelets say of their nodes: that they are there, how they are, that they are still alive, what they run."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from talosmith_lab.kube.cluster import stamp
from talosmith_lab.kube.controllers import node_objects, static_pods
from talosmith_lab.kube.controllers.kubelets import owned_taints, owned_values
from talosmith_lab.kube.controllers.objects import annotations_of, condition
from talosmith_lab.kube.controllers.settings import Settings, settings_of
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kubernetes import STATIC_PODS
from talosmith_lab.machine import Machine
from talosmith_lab.naming import hostname
from talosmith_lab.nodeconfig import NodeConfig
from talosmith_lab.server.real_kubernetes.writing import Writer
from talosmith_lab.world import World

_LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
_LEASES = "kube-node-lease"
_HOLDS = 40  # seconds
_MOST_IMAGES = 50
_HASH = "kubernetes.io/config.hash"


@dataclass(slots=True)
class NodeKeeper:
    world: World
    writer: Writer
    beat: float  # seconds between two signs of life
    nodes: dict[str, Obj] = field(default_factory=dict)  # all there are, by name
    _renewed: dict[str, float] = field(default_factory=dict)  # when the last was given, by the node's uid
    _registered: dict[str, int] = field(default_factory=dict)  # the boot in which a machine did, by name

    async def tend(self, machine: Machine, config: NodeConfig, pods: dict[str, Obj]) -> None:
        """For a machine whose kubelet runs and reaches the API."""
        settings, name = settings_of(self.world, machine), hostname(self.world, machine)
        node = self.nodes.get(name)
        if node is None:
            await self._register(name, machine, config, settings)
            return  # its coming is told, and it is looked at again
        self._registered[machine.name] = machine.boots
        await self._keep_owned(node, machine, config, settings)
        await self._report(node, machine, settings)
        await self._renew(node)
        if config.is_controlplane and machine.run is not None and machine.run.static_pods:
            await self._mirror(node, machine, config, settings, pods)

    async def _register(self, name: str, machine: Machine, config: NodeConfig, settings: Settings) -> None:
        """Once a boot: who deletes the node of a kubelet that runs does not see it again until that restarts."""
        if self._registered.get(machine.name) == machine.boots:
            return
        await self.writer.create(node_objects.first_node(name, machine, config, settings))
        self._registered[machine.name] = machine.boots

    async def _keep_owned(self, node: Obj, machine: Machine, config: NodeConfig, settings: Settings) -> None:
        wanted = node_objects.new_node(node["metadata"]["name"], machine, config, settings)
        had, labels = annotations_of(node), node["metadata"].get("labels") or {}
        new_labels = owned_values(labels, wanted["metadata"]["labels"], had.get("talos.dev/owned-labels"))
        new_notes = owned_values(had, wanted["metadata"]["annotations"], had.get("talos.dev/owned-annotations"))
        taints = node["spec"].get("taints") or []
        new_taints = owned_taints(taints, wanted["spec"]["taints"], had.get("talos.dev/owned-taints"))
        change: Obj = {}
        if (new_labels, new_notes) != (labels, had):
            change["metadata"] = {"labels": _patch(labels, new_labels), "annotations": _patch(had, new_notes)}
        if _without_times(new_taints) != _without_times(taints):
            change["spec"] = {"taints": new_taints or None}
        if change:
            await self.writer.merge(node, change)

    async def _report(self, node: Obj, machine: Machine, settings: Settings) -> None:
        run = machine.run
        assert run is not None  # noqa: S101 - its kubelet runs
        before, now = node.get("status") or {}, stamp(self.world.now())
        images = list(dict.fromkeys(run.images))[:_MOST_IMAGES]
        name = node["metadata"]["name"]
        status = node_objects.status_of(self.world, machine, name, settings, images)
        change = {part: value for part, value in status.items() if before.get(part) != value}
        told = node_objects.conditions(before.get("conditions"), now, ready=run.node_ready, networked=run.node_ready)
        new, old = next(one for one in told if one["type"] == "Ready"), condition(node, "Ready")
        if old is None or any(old.get(part) != new[part] for part in ("status", "reason", "message")):
            change["conditions"] = told
        if change:
            await self.writer.merge(node, {"status": change}, "status")

    async def _renew(self, node: Obj) -> None:
        uid, since = node["metadata"]["uid"], self.world.now()
        if since - self._renewed.get(uid, 0.0) < self.beat / 2:
            return
        self._renewed[uid] = since
        now = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        name = node["metadata"]["name"]
        lease: Obj = {**_LEASE, "metadata": {"name": name, "namespace": _LEASES}}
        if await self.writer.merge(lease, {"spec": {"renewTime": now, "holderIdentity": name}}):
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"]}
        lease["metadata"]["ownerReferences"] = [owner]
        lease["spec"] = {"holderIdentity": name, "leaseDurationSeconds": _HOLDS, "renewTime": now}
        await self.writer.create(lease)

    async def _mirror(
        self, node: Obj, machine: Machine, config: NodeConfig, settings: Settings, pods: dict[str, Obj]
    ) -> None:
        name = node["metadata"]["name"]
        for component in STATIC_PODS:
            found, image = pods.get(f"kube-system/{component}-{name}"), config.images.get(component, "")
            wanted = None
            if image and component not in settings.disabled:
                wanted = static_pods.mirror(component, image, node, machine, config.component_version)
            if found is not None and (wanted is None or _differs(found, wanted)):
                await self.writer.remove(found)
            elif found is None and wanted is not None:
                await self.writer.create(wanted)


def _differs(found: Obj, wanted: Obj) -> bool:
    owners = [{one["uid"] for one in pod["metadata"].get("ownerReferences") or ()} for pod in (found, wanted)]
    return owners[0] != owners[1] or annotations_of(found).get(_HASH) != annotations_of(wanted).get(_HASH)


def _patch(before: Obj, now: Obj) -> Obj:
    """What a merge patch must say to make one of the other."""
    changed = {key: value for key, value in now.items() if before.get(key) != value}
    return {**changed, **{key: None for key in before if key not in now}}


def _without_times(taints: list[Obj]) -> list[Obj]:
    return [{key: value for key, value in taint.items() if key != "timeAdded"} for taint in taints]
