"""What kubelets do with the pods of their nodes: run them, finish them, let them go."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field

from talosmith.providers.lab.process import PaceName
from talosmith_lab.kube.cluster import seconds_of, stamp
from talosmith_lab.kube.controllers import pod_status
from talosmith_lab.kube.controllers.objects import going, has, is_mirror, is_over, phase
from talosmith_lab.kube.controllers.pods import behaviour, brings_network, exit_code
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.machine import Machine
from talosmith_lab.server.real_kubernetes.writing import Writer

_START: dict[PaceName, float] = {"instant": 0.0, "fast": 0.2, "realistic": 4.0}
_END: dict[PaceName, float] = {"instant": 0.0, "fast": 0.3, "realistic": 3.0}
_LIFE: dict[PaceName, float] = {"instant": 0.5, "fast": 1.0, "realistic": 10.0}  # of what runs to its end
_FIRST_HOST = 2  # the first address is the bridge's


@dataclass(slots=True)
class PodKeeper:
    """`tend` does what is due now, and says how many seconds it is until the next thing is."""

    writer: Writer
    pace: PaceName
    networked: Callable[[Machine], None]  # told when a pod brings a node its network
    pods: dict[str, Obj] = field(default_factory=dict)  # all there are, by their key
    _noticed: dict[tuple[str, str], float] = field(default_factory=dict)  # when something was first seen, by uid

    async def tend(self, key: str, machine: Machine, node: Obj, now: float) -> float | None:
        pod = self.pods[key]
        if going(pod):
            wait = 0.0 if is_mirror(pod) else self._wait(pod, "end", _END[self.pace], now)
            if wait > 0:
                return wait
            await self.writer.remove(pod)
            return None
        if is_over(pod):
            return None
        if phase(pod) == "Pending":
            return await self._start(pod, machine, node, now)
        return await self._go_on(pod, machine, node, now)

    def forget(self, key: str) -> None:
        pod = self.pods.pop(key, None)
        if pod is not None:
            for stage in ("start", "end", "life"):
                self._noticed.pop((pod["metadata"]["uid"], stage), None)

    async def _start(self, pod: Obj, machine: Machine, node: Obj, now: float) -> float | None:
        if behaviour(pod) == "unpullable":
            status = pod_status.creating(pod, stamp(now), _host(node), "ImagePullBackOff", "the image does not exist")
            if (pod.get("status") or {}).get("containerStatuses") != status["containerStatuses"]:
                await self._write(pod, status)
            return None
        host_network = bool(pod["spec"].get("hostNetwork"))
        if not (host_network or (machine.run is not None and machine.run.node_ready)):
            return None  # without a network; looked at again when the node changes
        wait = self._wait(pod, "start", _START[self.pace], now)
        if wait > 0:
            return wait
        host = _host(node)
        address = host if host_network else self._address(pod, node)
        if not address:
            return None
        await self._write(pod, pod_status.running(pod, stamp(now), host, address, ready=_gets_ready(pod)))
        return None

    async def _go_on(self, pod: Obj, machine: Machine, node: Obj, now: float) -> float | None:
        if brings_network(pod):
            self.networked(machine)
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        began = [one["state"]["running"]["startedAt"] for one in statuses if "running" in one["state"]]
        if machine.run is not None and began and max(map(seconds_of, began)) < int(machine.run.since):
            # The machine was booted since: its containers are new ones.
            restarts = max(int(one["restartCount"]) for one in statuses) + 1
            address = pod["status"].get("podIP") or _host(node)
            await self._write(pod, pod_status.running(pod, stamp(now), _host(node), address, restarts=restarts))
        elif _gets_ready(pod) and not (has(pod, "Ready") and has(pod, "ContainersReady")):
            await self._write(pod, pod_status.ready_again(pod, stamp(now)))
        elif pod["spec"].get("restartPolicy", "Always") != "Always":
            wait = self._wait(pod, "life", _LIFE[self.pace], now)
            if wait > 0:
                return wait
            await self._write(pod, pod_status.ended(pod, stamp(now), exit_code(pod)))
        return None

    def _wait(self, pod: Obj, stage: str, seconds: float, now: float) -> float:
        return self._noticed.setdefault((pod["metadata"]["uid"], stage), now) + seconds - now

    async def _write(self, pod: Obj, status: Obj) -> None:
        await self.writer.merge(pod, {"status": status}, "status")

    def _address(self, pod: Obj, node: Obj) -> str:
        """A free one of the node's; empty while it has none to give."""
        told = (pod.get("status") or {}).get("podIP")
        network = node["spec"].get("podCIDR")
        if told or not network:
            return str(told or "")
        name = node["metadata"]["name"]
        taken = {
            (other.get("status") or {}).get("podIP")
            for other in self.pods.values()
            if other["spec"].get("nodeName") == name
        }
        hosts = ipaddress.ip_network(network)
        for number in range(_FIRST_HOST, hosts.num_addresses - 1):
            if str(hosts[number]) not in taken:
                found = str(hosts[number])
                # Known at once, for the next pod is looked at before the API has told of this one.
                self.pods[_key(pod)] = {**pod, "status": {**(pod.get("status") or {}), "podIP": found}}
                return found
        return ""


def _gets_ready(pod: Obj) -> bool:
    return behaviour(pod) not in ("never-ready", "fails")


def _host(node: Obj) -> str:
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((one["address"] for one in addresses if one["type"] == "InternalIP"), "")


def _key(pod: Obj) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
