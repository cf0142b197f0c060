"""The control plane's own pods: the kubelet runs them from files, and shows the API what it runs."""

from __future__ import annotations

from talosmith_lab.kube.api import SYSTEM
from talosmith_lab.kube.controllers import pod_status
from talosmith_lab.kube.controllers.objects import POD, annotations_of, is_mirror
from talosmith_lab.kube.controllers.settings import Settings, tag
from talosmith_lab.kube.controllers.work import Work
from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kubernetes import STATIC_PODS
from talosmith_lab.machine import Machine
from talosmith_lab.naming import main_address
from talosmith_lab.nodeconfig import NodeConfig

NAMESPACE = "kube-system"
_PORTS = {"kube-apiserver": 6443, "kube-controller-manager": 10257, "kube-scheduler": 10259}
VERSION = "talos.dev/config-version"  # Talos has the version of a resource there; here it is a digest
_SECRETS = "/system/secrets/kubernetes"


def of_node(pod: Obj) -> bool:
    return is_mirror(pod)


def keep(work: Work, node: Obj, machine: Machine, config: NodeConfig, settings: Settings) -> None:
    """Mirrors of all that run there, and of nothing else."""
    name = node["metadata"]["name"]
    for component in STATIC_PODS:
        image = config.images.get(component, "")
        found = work.api.find(POD, f"{component}-{name}", NAMESPACE)
        wanted = None
        if component not in settings.disabled and image:
            wanted = mirror(component, image, node, machine, config.component_version)
        if found is not None and (wanted is None or _differs(found, wanted)):
            work.api.remove(POD, f"{component}-{name}", NAMESPACE)
            found = None
        if found is None and wanted is not None:
            made = work.api.create(POD, wanted, NAMESPACE, how=SYSTEM)
            address = main_address(work.world, machine)
            work.set_status(POD, made, pod_status.running(made, work.now, address, address))


def _differs(found: Obj, wanted: Obj) -> bool:
    hashes = [annotations_of(one).get("kubernetes.io/config.hash") for one in (found, wanted)]
    return hashes[0] != hashes[1] or found["metadata"]["ownerReferences"] != wanted["metadata"]["ownerReferences"]


def mirror(component: str, image: str, node: Obj, machine: Machine, version: str) -> Obj:
    name = node["metadata"]["name"]
    digest = pod_status.image_id(f"{component} {image} {machine.uuid} {version}").rpartition(":")[2][:32]
    port = _PORTS[component]
    labels = {
        "app.kubernetes.io/component": "control-plane",
        "app.kubernetes.io/managed-by": "Talos",
        "app.kubernetes.io/name": component,
        "app.kubernetes.io/version": tag(image),
        "component": component,
        "k8s-app": component,
        "tier": "control-plane",
    }
    annotations = {
        "kubernetes.io/config.hash": digest,
        "kubernetes.io/config.mirror": digest,
        "kubernetes.io/config.source": "file",
        VERSION: version,
    }
    probe = {"httpGet": {"host": "localhost", "path": "/livez", "port": port, "scheme": "HTTPS"}}
    mount = f"{_SECRETS}/{component}"
    container = {
        "name": component,
        "image": image,
        "command": [f"/usr/local/bin/{component}"],
        "ports": [{"name": "https", "containerPort": port, "hostPort": port}],
        "livenessProbe": {**probe, "timeoutSeconds": 15},
        "volumeMounts": [{"name": "secrets", "mountPath": mount, "readOnly": True}],
        "resources": {"requests": {"cpu": "50m", "memory": "256Mi"}},
    }
    owner = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": name,
        "uid": node["metadata"]["uid"],
        "controller": True,
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{component}-{name}",
            "namespace": NAMESPACE,
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": {
            "nodeName": name,
            "hostNetwork": True,
            "priorityClassName": "system-cluster-critical",
            "containers": [container],
            "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
            "volumes": [{"name": "secrets", "hostPath": {"path": mount, "type": "DirectoryOrCreate"}}],
        },
    }
