"""A machine as Kubernetes sees it: the Node that its kubelet registers and keeps up to date."""

from __future__ import annotations

import json

from talosmith.model.versions import RECOMMENDED
from talosmith_lab.kube.cloud_controllers import TAINT
from talosmith_lab.kube.controllers.objects import with_condition
from talosmith_lab.kube.controllers.settings import Settings, tag
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.machine import Machine
from talosmith_lab.naming import main_address
from talosmith_lab.nodeconfig import NodeConfig
from talosmith_lab.versions import line_of
from talosmith_lab.world import World

PODS = 110  # that a kubelet runs at most
ROLE = "node-role.kubernetes.io/control-plane"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_NO_NETWORK = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized"
)
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_LOST = "Kubelet stopped posting node status."


def new_node(name: str, machine: Machine, config: NodeConfig, settings: Settings) -> Obj:
    labels = {
        "beta.kubernetes.io/arch": machine.arch,
        "beta.kubernetes.io/os": "linux",
        "kubernetes.io/arch": machine.arch,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        **owned_labels(config, settings),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": owned_annotations(config, settings)},
        "spec": {"taints": owned_taints(config, settings)},
    }


def first_node(name: str, machine: Machine, config: NodeConfig, settings: Settings) -> Obj:
    """The Node as its kubelet registers it: with an external cloud provider it waits to be initialised."""
    node = new_node(name, machine, config, settings)
    taints = [*node["spec"]["taints"], *([TAINT] if settings.external_cloud else [])]
    return {**node, "spec": {**node["spec"], "taints": taints}}


def owned_labels(config: NodeConfig, settings: Settings) -> dict[str, str]:
    """Those that Talos keeps as its config has them."""
    return dict(settings.labels)


def owned_annotations(config: NodeConfig, settings: Settings) -> dict[str, str]:
    found = {"volumes.kubernetes.io/controller-managed-attach-detach": "true", "node.alpha.kubernetes.io/ttl": "0"}
    if settings.annotations:
        found["talos.dev/owned-annotations"] = json.dumps(sorted(settings.annotations), separators=(",", ":"))
    labels = owned_labels(config, settings)
    if labels:
        found["talos.dev/owned-labels"] = json.dumps(sorted(labels), separators=(",", ":"))
    taints = owned_taints(config, settings)
    if taints:
        keys = sorted(taint["key"] for taint in taints)
        found["talos.dev/owned-taints"] = json.dumps(keys, separators=(",", ":"))
    return {**found, **settings.annotations}


def owned_taints(config: NodeConfig, settings: Settings) -> list[Obj]:
    found: list[Obj] = []
    for key, text in settings.taints.items():
        value, _, effect = text.rpartition(":")
        found.append({"key": key, **({"value": value} if value else {}), "effect": effect or "NoSchedule"})
    return found


def status_of(world: World, machine: Machine, name: str, settings: Settings, images: list[str]) -> Obj:
    """All but the conditions."""
    run = machine.run
    assert run is not None  # noqa: S101 - a kubelet runs on a machine that is on
    line, memory = line_of(run.version), machine.memory_mib * 1024
    disk = machine.disks[0].size if machine.disks else 0
    kubelet = tag(settings.kubelet) or RECOMMENDED.kubernetes
    return {
        "capacity": _resources(machine.cpu * 1000, memory, disk),
        "allocatable": _resources(machine.cpu * 1000 - 50, memory - 300 * 1024, disk * 9 // 10),
        "addresses": [
            {"type": "InternalIP", "address": main_address(world, machine)},
            {"type": "Hostname", "address": name},
        ],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": machine.uuid.replace("-", ""),
            "systemUUID": machine.uuid,
            "bootID": run.boot_id,
            "kernelVersion": f"{line.kernel}-talos",
            "osImage": f"Talos ({run.version})",
            "containerRuntimeVersion": f"containerd://{line.containerd}",
            "kubeletVersion": kubelet,
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": machine.arch,
        },
        "images": [{"names": [image], "sizeBytes": 10_000_000 + 1000 * len(image)} for image in images],
        "runtimeHandlers": [{"name": "", "features": {"recursiveReadOnlyMounts": True, "userNamespaces": True}}],
    }


def _resources(cpu: int, memory_kib: int, disk: int) -> Obj:
    return {
        "cpu": f"{cpu // 1000}" if cpu % 1000 == 0 else f"{cpu}m",
        "ephemeral-storage": str(disk),
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": f"{memory_kib}Ki",
        "pods": str(PODS),
    }


def conditions(before: list[Obj] | None, now: str, *, ready: bool, networked: bool) -> list[Obj]:
    """As the kubelet reports them."""
    found = list(before or ())
    for kind, reason, message in _PRESSURES:
        told = {"type": kind, "status": "False", "lastHeartbeatTime": now, "reason": reason, "message": message}
        found = with_condition(found, told, now)
    if ready:
        told = {"status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    else:
        message = "node is not ready yet" if networked else _NO_NETWORK
        told = {"status": "False", "reason": "KubeletNotReady", "message": message}
    return with_condition(found, {"type": "Ready", "lastHeartbeatTime": now, **told}, now)


def lost_conditions(before: list[Obj] | None, now: str) -> list[Obj]:
    """As the node's controller writes them when it hears no more of the kubelet."""
    found = list(before or ())
    for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready"):
        old = next((one for one in found if one["type"] == kind), {})
        told = {"type": kind, "status": "Unknown", "lastHeartbeatTime": old.get("lastHeartbeatTime", now)}
        found = with_condition(found, {**told, "reason": "NodeStatusUnknown", "message": _LOST}, now)
    return found
