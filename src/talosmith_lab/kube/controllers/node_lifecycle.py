"""What the control plane does with nodes: assigns pod networks, taints lost nodes, evicts their pods."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from talosmith_lab.kube.controllers import node_objects as shape
from talosmith_lab.kube.controllers import pod_status
from talosmith_lab.kube.controllers.kubelets import Kubelets
from talosmith_lab.kube.controllers.objects import NODE, POD, condition, going, is_mirror, is_over, is_ready, phase
from talosmith_lab.kube.controllers.pods import behaviour
from talosmith_lab.kube.controllers.settings import settings_of
from talosmith_lab.kube.controllers.work import MANAGER, Controller, Work
from talosmith_lab.kube.kinds import Kind, Obj

_SOURCE = "node-controller"
_PREFIX = 24  # of a node's part of the pods' network
_USUAL = 300  # seconds that pods stay on a lost node, unless they say otherwise
_OURS = (shape.NOT_READY, shape.UNREACHABLE, shape.UNSCHEDULABLE)


class NodeLifecycle(Controller):
    name = "node-lifecycle"
    watches = (NODE,)

    def __init__(self, work: Work, kubelets: Kubelets) -> None:
        super().__init__(work)
        self._kubelets = kubelets
        self._networks: dict[str, str] = {}  # given to nodes, by network
        self._next = 0

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if before is not None and now is None:
            self._networks.pop(before["spec"].get("podCIDR", ""), None)
        if now is not None and now["spec"].get("podCIDR"):
            self._networks[now["spec"]["podCIDR"]] = now["metadata"]["name"]
        yield (now or before or {})["metadata"]["name"]

    def machine_changed(self, name: str) -> Iterable[str]:
        node = self._kubelets.nodes.get(name)
        if node is not None:
            yield node

    def reconcile(self, key: str) -> None:
        node = self.api.find(NODE, key)
        if node is None:
            self._forget_pods(key)
            return
        if not node["spec"].get("podCIDR"):
            node = self._give_network(node)
        alive = self._kubelets.alive(key)
        if alive:
            self.work.cancel(self, "lost", key)
            self._cancel_evictions(key)
            self._back(node)
        elif not _is_lost(node):
            self.work.after(self, "lost", key, "node-grace")
        else:
            self._arm_evictions(key)
        self._keep_taints(node)

    def elapsed(self, what: str, key: str) -> None:
        name, _, seconds = key.partition("@")
        node = self.api.find(NODE, name)
        if node is None or self._kubelets.alive(name):
            return
        if what == "lost" and not _is_lost(node):
            self._lose(node)
        elif what == "evict" and _is_lost(node):
            self._evict(name, int(seconds))

    # Networks

    def _give_network(self, node: Obj) -> Obj:
        planes = self.work.control_planes
        if not planes:
            return node
        subnet = ipaddress.ip_network(settings_of(self.work.world, planes[0]).pod_subnet)
        size = max(_PREFIX, subnet.prefixlen)
        count = 1 << (size - subnet.prefixlen)
        step = 1 << (subnet.max_prefixlen - size)
        for number in range(self._next, self._next + count):
            network = f"{subnet[number % count * step]}/{size}"
            if network not in self._networks:
                self._next = (number + 1) % count
                spec = {"podCIDR": network, "podCIDRs": [network], **node["spec"]}
                made = self.work.put(NODE, {**node, "spec": spec})
                told = (
                    f"Node {node['metadata']['name']} event: Registered Node {node['metadata']['name']} in Controller"
                )
                self.work.event(made, "RegisteredNode", told, source=_SOURCE)
                return made
        name = node["metadata"]["name"]
        if condition(node, "Ready") is None:
            told = f"Node {name} status is now: CIDRNotAvailable"
            self.work.event(node, "CIDRNotAvailable", told, source="cidrAllocator")
        return node

    # Lost and found

    def _lose(self, node: Obj) -> None:
        work, name = self.work, node["metadata"]["name"]
        status = node.get("status") or {}
        lost = shape.lost_conditions(status.get("conditions"), work.now)
        work.set_status(NODE, node, {**status, "conditions": lost})
        work.event(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady", source=_SOURCE)
        for pod in list(work.index.pods_on(name).all.values()):
            if is_ready(pod) and not is_over(pod):
                work.set_status(POD, pod, pod_status.unready(pod, work.now))
                work.event(pod, "NodeNotReady", "Node is not ready", source=_SOURCE, type="Warning")
        self._arm_evictions(name)

    def _back(self, node: Obj) -> None:
        """Pods that only their node's silence made unready are ready again with it."""
        ready = condition(node, "Ready")
        if ready is None or ready["status"] != "True":
            return
        for pod in list(self.work.index.pods_on(node["metadata"]["name"]).all.values()):
            parts = condition(pod, "ContainersReady")
            if phase(pod) != "Running" or is_ready(pod) or parts is None or parts["status"] != "True":
                continue
            if behaviour(pod) != "never-ready":
                self.work.set_status(POD, pod, pod_status.ready_again(pod, self.work.now))

    def _arm_evictions(self, name: str) -> None:
        for seconds in self._stays_on(name):
            self.work.after(self, "evict", f"{name}@{seconds}", "node-eviction", factor=seconds / _USUAL)

    def _cancel_evictions(self, name: str) -> None:
        for seconds in self._stays_on(name):
            self.work.cancel(self, "evict", f"{name}@{seconds}")

    def _stays_on(self, name: str) -> list[int]:
        pods = self.work.index.pods_on(name).all.values()
        return sorted({seconds for pod in pods if (seconds := _stays(pod)) is not None})

    def _evict(self, name: str, seconds: int) -> None:
        for pod in list(self.work.index.pods_on(name).all.values()):
            if _stays(pod) == seconds and not going(pod):
                metadata = pod["metadata"]
                self.work.event(
                    pod,
                    "TaintManagerEviction",
                    f"Marking for deletion Pod {metadata['namespace']}/{metadata['name']}",
                    source="taint-eviction-controller",
                )
                self.api.delete(POD, metadata["name"], metadata["namespace"], how=MANAGER)

    def _forget_pods(self, name: str) -> None:
        for pod in list(self.work.index.pods_on(name).all.values()):
            metadata = pod["metadata"]
            options = {"gracePeriodSeconds": 0}
            self.api.delete(POD, metadata["name"], metadata["namespace"], options=options, how=MANAGER)

    # Taints

    def _keep_taints(self, node: Obj) -> None:
        found = self.api.find(NODE, node["metadata"]["name"])
        if found is None:
            return
        ready = condition(found, "Ready")
        wanted: list[tuple[str, str]] = []
        if ready is None:
            wanted.append((shape.NOT_READY, "NoSchedule"))
        elif ready["status"] == "False":
            wanted += [(shape.NOT_READY, "NoSchedule"), (shape.NOT_READY, "NoExecute")]
        elif ready["status"] == "Unknown":
            wanted += [(shape.UNREACHABLE, "NoSchedule"), (shape.UNREACHABLE, "NoExecute")]
        if found["spec"].get("unschedulable"):
            wanted.append((shape.UNSCHEDULABLE, "NoSchedule"))
        taints = list(found["spec"].get("taints") or ())
        mine = {(one["key"], one["effect"]) for one in taints if one["key"] in _OURS}
        if mine == set(wanted):
            return
        kept = [one for one in taints if one["key"] not in _OURS or (one["key"], one["effect"]) in wanted]
        for key, effect in wanted:
            if (key, effect) not in mine:
                since = {"timeAdded": self.work.now} if (key, effect) != (shape.NOT_READY, "NoSchedule") else {}
                kept.append({"key": key, "effect": effect, **since})
        spec = {**found["spec"], "taints": kept}
        if not kept:
            del spec["taints"]
        self.work.put(NODE, {**found, "spec": spec})


def _is_lost(node: Obj) -> bool:
    ready = condition(node, "Ready")
    return ready is not None and ready["status"] == "Unknown"


def _stays(pod: Obj) -> int | None:
    """Seconds that a pod stays on a lost node; None: until it is deleted."""
    if is_mirror(pod):
        return None
    for one in pod["spec"].get("tolerations") or ():
        if one.get("key") in (None, "", shape.UNREACHABLE) and one.get("effect") in (None, "", "NoExecute"):
            seconds = one.get("tolerationSeconds")
            return None if seconds is None else int(seconds)
    return 0
