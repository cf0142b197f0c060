"""Pods on nodes: pulled, started, ready, done, stopped, each after the time it takes.

What is not simulated can be asked for by the annotation `lab.talosmith.dev/behaviour` on a pod (or a template):
`never-ready` (it runs, and is never ready), `fails` (its containers end with an error as soon as they run), `slow`
(ten times as long to start) and `unpullable` (its image does not exist). An image whose name says that it does not
exist, and a command that is an error by itself (`false`, `exit 3`), need no annotation.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable

from talosmith_lab import kubernetes
from talosmith_lab.kube.controllers import pod_status
from talosmith_lab.kube.controllers.kubelets import Kubelets
from talosmith_lab.kube.controllers.objects import (
    NODE,
    POD,
    annotations_of,
    going,
    has,
    is_mirror,
    is_over,
    key_of,
    phase,
    split,
)
from talosmith_lab.kube.controllers.work import MANAGER, Controller, Work
from talosmith_lab.kube.kinds import Kind, Obj

BEHAVIOUR = "lab.talosmith.dev/behaviour"
RESTARTS = 5  # of a container that fails; then it stays as it is, for the lab is to come to rest
_MISSING = re.compile(r"does-?not-?exist|non-?existent|no-such-image")
_EXIT = re.compile(r"\bexit\s+(\d+)")
_SLEEP = re.compile(r"\bsleep\s+(\d+|inf\w*)")
_SLOW = 10.0
_CNI = ("/etc/cni", "/opt/cni")
_ELSEWHERE = ipaddress.ip_network("100.64.0.0/10")  # addresses of pods where the node has no network of its own


def behaviour(pod: Obj) -> str:
    told = str(annotations_of(pod).get(BEHAVIOUR, ""))
    if not told and any(_MISSING.search(one.get("image", "")) for one in pod["spec"].get("containers") or ()):
        return "unpullable"
    return told


def exit_code(pod: Obj) -> int:
    """With which its containers end, if they do."""
    if behaviour(pod) == "fails":
        return 1
    for words in _commands(pod):
        found = _EXIT.search(words)
        if found:
            return int(found[1])
        if words.split("/")[-1] == "false":
            return 1
    return 0


def _commands(pod: Obj) -> Iterable[str]:
    for one in pod["spec"].get("containers") or ():
        yield " ".join([*(one.get("command") or ()), *(one.get("args") or ())])


def brings_network(pod: Obj) -> bool:
    """Whether it is a CNI: only those write to these places of a node."""
    return any(
        str((one.get("hostPath") or {}).get("path", "")).startswith(_CNI) for one in pod["spec"].get("volumes") or ()
    )


class Pods(Controller):
    name = "pods"
    watches = (POD, NODE)

    def __init__(self, work: Work, kubelets: Kubelets) -> None:
        super().__init__(work)
        self._kubelets = kubelets
        self._alive: dict[str, int] = {}  # machines, in the boot in which their kubelet last reached the API

    def noticed(self, kind: Kind, before: Obj | None, now: Obj | None) -> Iterable[str]:
        if kind.root == NODE.root:
            if now is not None and has(now, "Ready") and (before is None or not has(before, "Ready")):
                yield from self._pods_on(now["metadata"]["name"])
            return
        if now is None or not now["spec"].get("nodeName"):
            return
        fresh = before is None or not before["spec"].get("nodeName")
        if fresh and phase(now) == "Running" and brings_network(now):
            self._network(now["spec"]["nodeName"])
        if fresh or (going(now) and before is not None and not going(before)) or phase(now) == "Pending":
            yield key_of(now)

    def machine_changed(self, name: str) -> Iterable[str]:
        node, machine = self._kubelets.nodes.get(name), self.work.world.machines.get(name)
        if node is None:
            return
        alive = machine.boots if machine is not None and self._kubelets.alive(node) else 0
        if self._alive.get(name, 0) != alive:
            self._alive[name] = alive
            if alive:
                yield from self._pods_on(node)

    def _pods_on(self, node: str) -> Iterable[str]:
        for pod in self.work.index.pods_on(node).all.values():
            yield key_of(pod)

    def reconcile(self, key: str) -> None:
        pod = self.api.find(POD, *split(key))
        if pod is None or not pod["spec"].get("nodeName") or not self._kubelets.alive(pod["spec"]["nodeName"]):
            return
        if is_mirror(pod):
            if going(pod):
                self.api.remove(POD, *split(key))
        elif going(pod):
            self._stop(pod, key)
        elif phase(pod) == "Pending":
            self._start(pod, key)
        elif phase(pod) == "Running":
            self._go_on(pod, key)

    def elapsed(self, what: str, key: str) -> None:
        pod = self.api.find(POD, *split(key))
        if pod is None or not self._kubelets.alive(pod["spec"].get("nodeName", "")):
            return
        if what == "stop" and going(pod):
            self.api.delete(POD, *split(key), options={"gracePeriodSeconds": 0}, how=MANAGER)
        elif going(pod) or is_over(pod):
            return
        elif what == "start" and phase(pod) == "Pending":
            self._started(pod)
        elif what == "end":
            self._ended(pod)
        elif what == "restart":
            self._started(pod, restarts=_restarts(pod) + 1)

    # Starting

    def _start(self, pod: Obj, key: str) -> None:
        node, how = pod["spec"]["nodeName"], behaviour(pod)
        if how == "unpullable":
            self._unpullable(pod, node)
            return
        if not (pod.get("status") or {}).get("containerStatuses"):
            self.work.set_status(POD, pod, pod_status.creating(pod, self.work.now, self._host(node)))
        if pod["spec"].get("hostNetwork") or self._networked(node):
            factor = _SLOW if how == "slow" else 1.0
            self.work.after(self, "start", key, "pod-start", pod["metadata"]["uid"], factor=factor)

    def _unpullable(self, pod: Obj, node: str) -> None:
        image = pod["spec"]["containers"][0].get("image", "")
        status = pod_status.creating(
            pod, self.work.now, self._host(node), "ImagePullBackOff", f'Back-off pulling image "{image}"'
        )
        if (pod.get("status") or {}).get("containerStatuses") == status["containerStatuses"]:
            return
        self.work.set_status(POD, pod, status)
        wrong = f'Failed to pull image "{image}": failed to resolve reference: {image}: not found'
        for reason, message, kind in (
            ("Pulling", f'Pulling image "{image}"', "Normal"),
            ("Failed", wrong, "Warning"),
            ("Failed", "Error: ErrImagePull", "Warning"),
            ("BackOff", f'Back-off pulling image "{image}"', "Normal"),
            ("Failed", "Error: ImagePullBackOff", "Warning"),
        ):
            self._tell(pod, reason, message, type=kind)

    def _started(self, pod: Obj, restarts: int = 0) -> None:
        node, work = pod["spec"]["nodeName"], self.work
        host = self._host(node)
        address = host if pod["spec"].get("hostNetwork") else self._address(pod, node)
        how = behaviour(pod)
        ready = how != "never-ready" and exit_code(pod) == 0
        work.set_status(POD, pod, pod_status.running(pod, work.now, host, address, ready=ready, restarts=restarts))
        for container in pod["spec"].get("containers") or ():
            name, image = container["name"], container.get("image", "")
            present = f'Container image "{image}" already present on machine'
            self._tell(pod, "Pulled", present if restarts else _pulled(image), name)
            self._tell(pod, "Created", "Container created", name)
            self._tell(pod, "Started", "Container started", name)
        if brings_network(pod):
            self._network(node)
        found = self.api.find(POD, pod["metadata"]["name"], pod["metadata"]["namespace"])
        if found is not None:
            self._go_on(found, key_of(found))

    # Running

    def _go_on(self, pod: Obj, key: str) -> None:
        """What will end, ends; what has failed is started again."""
        waiting = _waits(pod)
        if waiting:
            if _restarts(pod) < RESTARTS:
                factor = float(2 ** _restarts(pod))
                self.work.after(self, "restart", key, "pod-restart", pod["metadata"]["uid"], factor=factor)
            return
        if self._runs_out(pod):
            self.work.after(self, "end", key, "pod-work", pod["metadata"]["uid"], factor=self._lasts(pod))

    def _runs_out(self, pod: Obj) -> bool:
        """Pods that are to run for ever do so, unless they fail."""
        if exit_code(pod):
            return True
        if pod["spec"].get("restartPolicy") in (None, "Always"):
            return False
        return self._lasts(pod) > 0

    def _lasts(self, pod: Obj) -> float:
        """How much longer than others; 0: for ever."""
        for words in _commands(pod):
            found = _SLEEP.search(words)
            if found:
                return float(found[1]) / 10 if found[1].isdigit() and int(found[1]) < 600 else 0.0
        return 1.0

    def _ended(self, pod: Obj) -> None:
        code, work = exit_code(pod), self.work
        policy = pod["spec"].get("restartPolicy") or "Always"
        if policy == "Always" or (policy == "OnFailure" and code):
            work.set_status(POD, pod, pod_status.crashed(pod, work.now, code))
            for container in pod["spec"]["containers"]:
                metadata = pod["metadata"]
                where = f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"
                message = f"Back-off restarting failed container {container['name']} in pod {where}"
                self._tell(pod, "BackOff", message, container["name"], type="Warning")
            found = self.api.find(POD, pod["metadata"]["name"], pod["metadata"]["namespace"])
            if found is not None:
                self._go_on(found, key_of(found))
            return
        work.set_status(POD, pod, pod_status.ended(pod, work.now, code))

    def rebooted(self, node: str) -> None:
        """Everything on the node has been started again."""
        for pod in list(self.work.index.pods_on(node).all.values()):
            if phase(pod) != "Running" or going(pod):
                continue
            crashed = {**pod, "status": pod_status.crashed(pod, self.work.now, 255)}
            host = self._host(node)
            address = host if pod["spec"].get("hostNetwork") else (pod["status"].get("podIP") or host)
            restarts, ready = _restarts(pod) + 1, behaviour(pod) not in ("never-ready", "fails")
            status = pod_status.running(crashed, self.work.now, host, address, ready=ready, restarts=restarts)
            self.work.set_status(POD, pod, status)

    # Stopping

    def _stop(self, pod: Obj, key: str) -> None:
        grace = float(pod["metadata"].get("deletionGracePeriodSeconds") or 0)
        if self.work.waits(self, "stop", key) and grace > 0:
            return
        if is_over(pod) or phase(pod) == "Pending" or grace == 0:
            self.elapsed("stop", key)
            return
        for container in pod["spec"].get("containers") or ():
            self._tell(pod, "Killing", f"Stopping container {container['name']}", container["name"])
        seconds = self.work.world.pace.duration("pod-stop", key, pod["metadata"]["uid"])
        self.work.wait(self, "stop", key, min(seconds, grace))

    # Where

    def _host(self, node: str) -> str:
        found = self.api.find(NODE, node) or {}
        addresses = (found.get("status") or {}).get("addresses") or [{}]
        return str(addresses[0].get("address", ""))

    def _address(self, pod: Obj, node: str) -> str:
        """The first free one of the node's own range."""
        known = (pod.get("status") or {}).get("podIP")
        if known:
            return str(known)
        found = (self.api.find(NODE, node) or {}).get("spec") or {}
        used = {
            (one.get("status") or {}).get("podIP")
            for one in self.work.index.pods_on(node).all.values()
            if not is_over(one)
        }
        if not found.get("podCIDR"):
            number = int(pod["metadata"]["uid"].replace("-", "")[:8], 16)
            return str(_ELSEWHERE[1 + number % (_ELSEWHERE.num_addresses - 2)])
        hosts = ipaddress.ip_network(found["podCIDR"])
        return next(text for number in range(2, hosts.num_addresses) if (text := str(hosts[number])) not in used)

    def _networked(self, node: str) -> bool:
        machine = self._kubelets.machine(node)
        config = self.work.world.config(machine) if machine is not None else None
        return machine is not None and config is not None and kubernetes.has_network(self.work.world, machine, config)

    def _network(self, node: str) -> None:
        """There is a CNI on the node from now on."""
        machine = self._kubelets.machine(node)
        if machine is not None and machine.name not in self.work.world.networked:
            self.work.world.networked.add(machine.name)
            self.work.world.unsettled[machine.name] = None

    def _tell(self, pod: Obj, reason: str, message: str, container: str = "", type: str = "Normal") -> None:  # noqa: A002
        field = f"spec.containers{{{container}}}" if container else ""
        self.work.event(pod, reason, message, host=pod["spec"]["nodeName"], field=field, type=type)


def _pulled(image: str) -> str:
    size = 20_000_000 + 100_000 * (sum(image.encode()) % 500)
    return f'Successfully pulled image "{image}" in 1.2s (1.2s including waiting). Image size: {size} bytes.'


def _restarts(pod: Obj) -> int:
    return max((one["restartCount"] for one in (pod.get("status") or {}).get("containerStatuses") or ()), default=0)


def _waits(pod: Obj) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any("waiting" in (one.get("state") or {}) for one in statuses)
