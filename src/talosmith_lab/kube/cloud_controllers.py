"""What cloud controller managers do to nodes: they initialise those that wait for it, and approve certificates.

Kubelets of clusters with an external cloud provider register their Node with a taint that keeps ordinary pods away
until a cloud controller manager (talos-ccm, aws-ccm, proxmox-ccm) has looked at it.
"""

from __future__ import annotations

from collections.abc import Iterable

from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kube.operators import containers_of, images_of, is_available

UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
TAINT: Obj = {"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
_MANAGER = "cloud-controller-manager"
_INITIALISES, _APPROVES = "cloud-node", "node-csr-approval"


def is_manager(workload: Obj) -> bool:
    return str(workload["metadata"]["name"]).endswith(_MANAGER) or any(
        image.endswith(_MANAGER) for image in images_of(workload)
    )


def initialiser(workloads: Iterable[Obj]) -> Obj | None:
    """The one that is available and initialises nodes: all do, unless their arguments leave that controller out."""
    for one in workloads:
        named = _argument(one, "controllers").split(",")
        if is_manager(one) and is_available(one) and {"", "*", _INITIALISES}.intersection(named):
            return one
    return None


def approver(workloads: Iterable[Obj]) -> Obj | None:
    """The one that is available and approves serving certificates of kubelets, which only talos-ccm does."""
    named = (one for one in workloads if is_manager(one) and is_available(one))
    return next((one for one in named if _APPROVES in _argument(one, "controllers").split(",")), None)


def initialised(node: Obj, manager: Obj) -> Obj | None:
    """The node's spec after the manager has looked at it; None: it does not wait for that."""
    spec = node["spec"]
    taints = [one for one in spec.get("taints") or () if one["key"] != UNINITIALIZED]
    if len(taints) == len(spec.get("taints") or ()):
        return None
    rest = {name: value for name, value in spec.items() if name != "taints"}
    return {"providerID": _provider_id(node, manager), **rest, **({"taints": taints} if taints else {})}


def _provider_id(node: Obj, manager: Obj) -> str:
    """In the form of talos-ccm: a lab's machine is known to no cloud."""
    provider = _argument(manager, "cloud-provider") or str(manager["metadata"]["name"]).partition("-")[0]
    addresses = (node.get("status") or {}).get("addresses") or ()
    address = next((one["address"] for one in addresses if one["type"] == "InternalIP"), node["metadata"]["name"])
    return f"{provider}://lab/{address}"


def _argument(workload: Obj, name: str) -> str:
    """The value of `--name=value`."""
    for container in containers_of(workload):
        for word in [*(container.get("command") or ()), *(container.get("args") or ())]:
            key, _, value = str(word).partition("=")
            if key == f"--{name}":
                return value
    return ""
