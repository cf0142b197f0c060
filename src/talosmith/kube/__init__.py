"""The client of a Kubernetes API: how talosmith, or anybody, brings things into a cluster and waits for them.

    async with KubeClient.from_bundle(bundle, ["10.5.0.2", "10.5.0.3"]) as client:
        await apply(client, manifests, name="addons", prune=True)
        await wait(client, [ready(Ref("apps/v1", "Deployment", "coredns", "kube-system"))], timeout=300)

- `KubeClient`: objects of any kind as plain data (get, find, list, create, apply, patch, replace, delete), by any
  control plane that answers; `follow` for changes as they come.
- `apply`: manifests in the right order, by server-side apply, with conflicts named, pruning, and a dry run.
- `wait`: named conditions (`ready`, `condition_met`, `established`, `exists`, `gone`), with word of what is missing.
- `simulate_drain`, `drain`, `cordon`, `uncordon`: emptying a node, by the eviction API.
- `list_nodes`, `find_node`, `nodes_ready`, `delete_node`, `set_labels`, `add_taint`, `remove_taint`: nodes.
- `api_health`: whether an API server is ready by its own account.
- `approve_serving_certificates`: kubelets' certificates, for nodes of ours only.

Every call has a deadline and raises `KubeError`s only, each either `Temporary` or `Permanent`. What failed for now is
tried again where asking twice is harmless, of the next control plane.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talosmith.kube.applying import Applied, Change, NotApplied, apply, wait_until_served
    from talosmith.kube.caller import Limits
    from talosmith.kube.client import KubeClient, Listed, Written
    from talosmith.kube.conditions import Awaited, Verdict, condition_met, established, exists, gone, ready
    from talosmith.kube.credentials import Credentials
    from talosmith.kube.draining import Blocked, Drained, Forecast, NotDrained, drain, simulate_drain
    from talosmith.kube.errors import (
        AlreadyExists,
        Changed,
        ClockMismatch,
        Conflict,
        Denied,
        Expired,
        Failed,
        FieldConflict,
        Invalid,
        KubeError,
        NoConnection,
        NotFound,
        NotInTime,
        NotKubernetes,
        NotReady,
        NotServed,
        NotTrusted,
        Protected,
        Refused,
        TooLarge,
        TooSlow,
        Unreachable,
    )
    from talosmith.kube.health import ApiHealth, api_health
    from talosmith.kube.manifests import read
    from talosmith.kube.nodes import (
        KubeNode,
        Taint,
        add_taint,
        cordon,
        delete_node,
        find_node,
        list_nodes,
        nodes_ready,
        remove_taint,
        set_labels,
        uncordon,
    )
    from talosmith.kube.objects import Object, Ref
    from talosmith.kube.pods import Budget, Pod
    from talosmith.kube.serving_certificates import ExpectedNode, Judged, approve_serving_certificates, judge
    from talosmith.kube.waiting import Progress, wait
    from talosmith.kube.watching import Event, Snapshot, follow

_HOMES = {  # which module has which names
    "applying": "Applied Change NotApplied apply wait_until_served",
    "caller": "Limits",
    "client": "KubeClient Listed Written",
    "conditions": "Awaited Verdict condition_met established exists gone ready",
    "credentials": "Credentials",
    "draining": "Blocked Drained Forecast NotDrained drain simulate_drain",
    "errors": (
        "AlreadyExists Changed ClockMismatch Conflict Denied Expired Failed FieldConflict Invalid KubeError "
        "NoConnection NotFound NotInTime NotKubernetes NotReady NotServed NotTrusted Protected Refused TooLarge "
        "TooSlow Unreachable"
    ),
    "health": "ApiHealth api_health",
    "manifests": "read",
    "nodes": (
        "KubeNode Taint add_taint cordon delete_node find_node list_nodes nodes_ready remove_taint set_labels "
        "uncordon"
    ),
    "objects": "Object Ref",
    "pods": "Budget Pod",
    "serving_certificates": "ExpectedNode Judged approve_serving_certificates judge",
    "waiting": "Progress wait",
    "watching": "Event Snapshot follow",
}
__all__ = [
    "AlreadyExists",
    "ApiHealth",
    "Applied",
    "Awaited",
    "Blocked",
    "Budget",
    "Change",
    "Changed",
    "ClockMismatch",
    "Conflict",
    "Credentials",
    "Denied",
    "Drained",
    "Event",
    "ExpectedNode",
    "Expired",
    "Failed",
    "FieldConflict",
    "Forecast",
    "Invalid",
    "Judged",
    "KubeClient",
    "KubeError",
    "KubeNode",
    "Limits",
    "Listed",
    "NoConnection",
    "NotApplied",
    "NotDrained",
    "NotFound",
    "NotInTime",
    "NotKubernetes",
    "NotReady",
    "NotServed",
    "NotTrusted",
    "Object",
    "Pod",
    "Progress",
    "Protected",
    "Ref",
    "Refused",
    "Snapshot",
    "Taint",
    "TooLarge",
    "TooSlow",
    "Unreachable",
    "Verdict",
    "Written",
    "add_taint",
    "api_health",
    "apply",
    "approve_serving_certificates",
    "condition_met",
    "cordon",
    "delete_node",
    "drain",
    "established",
    "exists",
    "find_node",
    "follow",
    "gone",
    "judge",
    "list_nodes",
    "nodes_ready",
    "read",
    "ready",
    "remove_taint",
    "set_labels",
    "simulate_drain",
    "uncordon",
    "wait",
    "wait_until_served",
]


def __getattr__(name: str) -> Any:
    """Imported when first asked for: who needs an error only does not wait for the rest."""
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
