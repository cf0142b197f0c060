"""The client of a Kubernetes API: how talosmith, or any program, applies objects to a cluster and waits for them.

    async with KubeClient.from_bundle(bundle, ["10.5.0.2", "10.5.0.3"]) as client:
        await apply(client, manifests, name="addons", prune=True)
        await wait(client, [ready(Ref("apps/v1", "Deployment", "coredns", "kube-system"))], timeout=300)

- `KubeClient`: objects of any kind as plain data (get, find, list, create, apply, patch, replace, delete), by any
  control plane that answers; `follow` for changes as they come.
- `apply`: manifests in the right order, by server-side apply, with conflicts named, pruning, and a dry run.
- `recorded`, `live_objects`, `compare`, `unwanted`: what was applied, and what an apply would change, with few calls.
- `wait`: named conditions (`ready`, `condition_met`, `established`, `exists`, `gone`), with word of what is missing.
- `simulate_drain`, `drain`, `cordon`, `uncordon`: emptying a node, by the eviction API.
- `list_nodes`, `find_node`, `nodes_ready`, `delete_node`, `set_labels`, `add_taint`, `remove_taint`: nodes.
- `api_health`: whether an API server is ready by its own account.
- `approve_serving_certificates`: kubelets' certificates, for nodes of ours only.

Every call has a deadline and raises `KubeError`s only, each either `Temporary` or `Permanent`. What failed for now is
tried again where asking twice is harmless, of the next control plane.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talosmith.lazy import lookup

if TYPE_CHECKING:
    from talosmith.kube.applying import *
    from talosmith.kube.caller import *
    from talosmith.kube.client import *
    from talosmith.kube.comparing import *
    from talosmith.kube.conditions import *
    from talosmith.kube.credentials import *
    from talosmith.kube.draining import *
    from talosmith.kube.errors import *
    from talosmith.kube.health import *
    from talosmith.kube.inventory import *
    from talosmith.kube.manifests import *
    from talosmith.kube.nodes import *
    from talosmith.kube.objects import *
    from talosmith.kube.owners import *
    from talosmith.kube.pods import *
    from talosmith.kube.serving_certificates import *
    from talosmith.kube.waiting import *
    from talosmith.kube.watching import *

_HOMES = {  # which module has which names
    "applying": "Applied Change NotApplied apply digest_of placed wait_until_kind wait_until_served",
    "caller": "Limits",
    "client": "FIELD_MANAGER HELM_MANAGER KubeClient Listed Written",
    "comparing": "belongs_to compare live_objects settled unwanted",
    "conditions": "Awaited Verdict condition_met established exists gone ready",
    "credentials": "Credentials",
    "draining": "Blocked Drained Forecast NotDrained drain simulate_drain",
    "errors": (
        "AlreadyExists Changed ClockMismatch Conflict Denied Expired Failed FieldConflict Invalid KubeError "
        "NoConnection NotFound NotInTime NotKubernetes NotReady NotServed NotTrusted Protected Refused TooLarge "
        "TooSlow Unreachable"
    ),
    "health": "ApiHealth api_health",
    "inventory": "ObjectSet find_set forget record recorded",
    "manifests": "read",
    "nodes": (
        "KubeNode Taint add_taint cordon delete_node find_node list_nodes nodes_ready remove_taint set_labels "
        "uncordon"
    ),
    "objects": "Object Ref",
    "owners": "other_manager",
    "pods": "Budget Pod budgets_of pods_on",
    "serving_certificates": "ExpectedNode Judged approve_serving_certificates judge",
    "waiting": "Progress wait",
    "watching": "Event Snapshot follow",
}
__getattr__ = lookup(__name__, _HOMES)
