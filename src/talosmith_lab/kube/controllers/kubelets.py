"""Kubelets: each registers its machine as a node, says whether it is ready, and what it runs there by itself.

A node belongs to the machine whose id it tells (`systemUUID`), so that they are found again from the objects alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from talosmith_lab import kubernetes
from talosmith_lab.kube.controllers import node_objects as shape
from talosmith_lab.kube.controllers import serving_requests, static_pods
from talosmith_lab.kube.controllers.objects import NODE, POD, annotations_of, condition, has
from talosmith_lab.kube.controllers.settings import Settings, settings_of
from talosmith_lab.kube.controllers.work import Controller, Work
from talosmith_lab.kube.how import How
from talosmith_lab.kube.kinds import Kind, Obj, find
from talosmith_lab.machine import Machine
from talosmith_lab.naming import hostname, main_address
from talosmith_lab.nodeconfig import NodeConfig
from talosmith_lab.world import World

LEASE = find("coordination.k8s.io/v1", "Lease")
_LEASED = 40  # seconds


def how_of(node: str) -> How:
    return How(
        manager="kubelet",
        user=f"system:node:{node}",
        groups=("system:nodes", "system:authenticated"),
    )


def is_alive(world: World, machine: Machine) -> bool:
    """Whether its kubelet runs and reaches the API."""
    config = world.config(machine)
    return (
        config is not None
        and machine.runs("kubelet")
        and not world.active("hang", machine.name)
        and kubernetes.reaches_api(world, machine, config.cluster_id)
    )


class Kubelets(Controller):
    name = "kubelets"
    watches = (NODE, POD)

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.on_reboot: Callable[[str], None] = lambda node: None
        self.machines: dict[str, str] = {}  # by the names of their nodes
        self.nodes: dict[str, str] = {}  # and the other way round

    def machine(self, node: str) -> Machine | None:
        return self.work.world.machines.get(self.machines.get(node, ""))

    def alive(self, node: str) -> bool:
        machine = self.machine(node)
        return machine is not None and is_alive(self.work.world, machine)

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == NODE.root:
            name = (now or before or {})["metadata"]["name"]
            if now is None:
                self.nodes.pop(self.machines.pop(name, ""), None)
            elif name not in self.machines:
                self._found(now)
            return
        if now is None and before is not None and static_pods.of_node(before):
            machine = self.machines.get(before["spec"].get("nodeName", ""))
            if machine:
                yield machine

    def _found(self, node: Obj) -> None:
        uuid = ((node.get("status") or {}).get("nodeInfo") or {}).get("systemUUID")
        for machine in self.work.world.machines.values():
            if machine.uuid == uuid:
                self._know(node["metadata"]["name"], machine)

    def _know(self, node: str, machine: Machine) -> None:
        self.machines[node] = machine.name
        self.nodes[machine.name] = node

    def machine_changed(self, name: str) -> Iterable[str]:
        yield name

    # One machine

    def reconcile(self, key: str) -> None:
        world, machine = self.work.world, self.work.world.machines.get(key)
        config = world.config(machine) if machine is not None else None
        if machine is None or config is None or config.skip_node_registration or not is_alive(world, machine):
            return
        if config.cluster_id != self.work.kubernetes.cluster.talos_id:
            return
        name, settings = hostname(world, machine), settings_of(world, machine)
        node = self.api.find(NODE, name)
        if node is None:
            node = self._register(name, machine, config, settings)
        if node is None or machine.run is None:
            return
        machine.run.registered = True
        self._know(name, machine)
        node = self._keep_owned(node, config, settings)
        self._report(node, machine, config, settings)
        if settings.rotates_certificates:
            serving_requests.ask(self.work, name, main_address(world, machine), how_of(name))
        if config.is_controlplane and machine.run is not None and machine.run.static_pods:
            static_pods.keep(self.work, node, machine, config, settings)

    def _register(self, name: str, machine: Machine, config: NodeConfig, settings: Settings) -> Obj | None:
        """A kubelet does that once: who deletes the node of one that runs will not see it again until it restarts."""
        if machine.run is None or machine.run.registered:
            return None
        machine.run.registered = True
        self.work.world.changed.add(machine.name)  # so that it is kept
        self._know(name, machine)
        self.api.create(NODE, shape.first_node(name, machine, config, settings), how=how_of(name))
        node = self.api.find(NODE, name)
        if node is not None:
            self.work.event(node, "Starting", "Starting kubelet.", host=name)
        return node

    def _keep_owned(self, node: Obj, config: NodeConfig, settings: Settings) -> Obj:
        """What the machine config says of labels, annotations and taints, without touching what others have added."""
        metadata, name = node["metadata"], node["metadata"]["name"]
        wanted = shape.new_node(name, self.work.world.machines[self.machines[name]], config, settings)
        had = annotations_of(node)
        labels = owned_values(metadata.get("labels"), wanted["metadata"]["labels"], had.get("talos.dev/owned-labels"))
        annotations = owned_values(had, wanted["metadata"]["annotations"], had.get("talos.dev/owned-annotations"))
        for part in ("talos.dev/owned-labels", "talos.dev/owned-annotations", "talos.dev/owned-taints"):
            if part not in wanted["metadata"]["annotations"]:
                annotations.pop(part, None)
        taints = owned_taints(node["spec"].get("taints"), wanted["spec"]["taints"], had.get("talos.dev/owned-taints"))
        if (labels, annotations, taints) == (metadata.get("labels"), had, node["spec"].get("taints") or []):
            return node
        spec = {**node["spec"], "taints": taints}
        if not taints:
            del spec["taints"]
        return self.work.put(
            NODE, {**node, "metadata": {**metadata, "labels": labels, "annotations": annotations}, "spec": spec}
        )

    def _report(self, node: Obj, machine: Machine, config: NodeConfig, settings: Settings) -> None:
        """Written only if something is different; heartbeats alone are not."""
        work, run = self.work, machine.run
        assert run is not None  # noqa: S101 - it is alive
        name, before = node["metadata"]["name"], node.get("status") or {}
        images = list(dict.fromkeys(run.images))[:50]
        status = {**before, **shape.status_of(work.world, machine, name, settings, images)}
        ready = run.node_ready
        told = condition(node, "Ready")
        networked = kubernetes.has_network(work.world, machine, config)
        now = shape.conditions(before.get("conditions"), work.now, ready=ready, networked=networked)
        new = next(one for one in now if one["type"] == "Ready")
        if told is None or any(told[part] != new[part] for part in ("status", "reason", "message")):
            status["conditions"] = now
        if status == before:
            return
        work.set_status(NODE, node, status)
        self._lease(name)
        if ready and not has(node, "Ready"):
            work.event(node, "NodeReady", f"Node {name} status is now: NodeReady", host=name)
        boots = (before.get("nodeInfo") or {}).get("bootID")
        if boots and boots != run.boot_id:
            message = f"Node {name} has been rebooted, boot id: {run.boot_id}"
            work.event(node, "Rebooted", message, type="Warning", host=name)
            self.on_reboot(name)

    def _lease(self, name: str) -> None:
        now = f"{self.work.now[:-1]}.000000Z"
        found = self.api.find(LEASE, name, "kube-node-lease")
        if found is not None:
            self.work.put(LEASE, {**found, "spec": {**found["spec"], "renewTime": now}})
            return
        node = self.api.find(NODE, name)
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": node["metadata"]["uid"] if node else ""}
        metadata = {"name": name, "namespace": "kube-node-lease", "ownerReferences": [owner]}
        spec = {"holderIdentity": name, "leaseDurationSeconds": _LEASED, "renewTime": now}
        lease = {"apiVersion": LEASE.api_version, "kind": "Lease", "metadata": metadata, "spec": spec}
        self.api.create(LEASE, lease, "kube-node-lease", how=how_of(name))


def owned_values(now: Obj | None, wanted: Obj, owned: str | None) -> Obj:
    """Without what the config no longer has, with what it has."""
    kept = {key: value for key, value in (now or {}).items() if key in wanted or f'"{key}"' not in (owned or "")}
    return {**kept, **wanted}


def owned_taints(now: list[Obj] | None, wanted: list[Obj], owned: str | None) -> list[Obj]:
    keys = {taint["key"] for taint in wanted}
    kept = [one for one in now or () if one["key"] not in keys and f'"{one["key"]}"' not in (owned or "")]
    return [*wanted, *kept]
