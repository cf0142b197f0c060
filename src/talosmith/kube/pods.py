"""Which of a node's pods have to leave it, which stay, and which disruption budgets have a say in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from talosmith.kube.client import KubeClient
from talosmith.kube.objects import Object, Ref, controller, labels, metadata, notes, selects, spec, status, uid

MIRROR = "kubernetes.io/config.mirror"
BUDGET_API = "policy/v1"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of the node, and why it stays there; no reason: it has to leave."""

    ref: Ref
    uid: str
    stays: str = ""
    leaving: bool = False  # it is being deleted already
    labels: tuple[tuple[str, str], ...] = ()
    bare: bool = False  # no controller creates it again
    has_empty_dir: bool = False

    def __str__(self) -> str:
        return f"{self.ref.namespace}/{self.ref.name}"


@dataclass(frozen=True, slots=True)
class Budget:
    """A PodDisruptionBudget with pods on the node."""

    ref: Ref
    allowed: int
    healthy: int
    needed: int
    pods: tuple[Pod, ...]

    def __str__(self) -> str:
        return (
            f"the budget {self.ref.namespace}/{self.ref.name} "
            f"allows {self.allowed} disruptions now ({self.healthy} pods are healthy, {self.needed} have to be)"
        )


async def pods_on(client: KubeClient, node: str) -> list[Pod]:
    listed = await client.list("v1", "Pod", fields=f"spec.nodeName={node}")
    sets = await _daemon_sets(client, listed.items)
    return sorted((_pod(item, sets) for item in listed.items), key=lambda pod: pod.ref)


async def budgets_of(client: KubeClient, pods: Sequence[Pod]) -> list[Budget]:
    """Those that some of the pods fall under."""
    found = []
    for item in (await client.list(BUDGET_API, "PodDisruptionBudget")).items:
        ref = Ref.of(item)
        covered = tuple(
            pod
            for pod in pods
            if pod.ref.namespace == ref.namespace and selects(spec(item).get("selector"), dict(pod.labels))
        )
        if covered:
            now = status(item)
            found.append(
                Budget(
                    ref,
                    allowed=int(now.get("disruptionsAllowed") or 0),
                    healthy=int(now.get("currentHealthy") or 0),
                    needed=int(now.get("desiredHealthy") or 0),
                    pods=covered,
                )
            )
    return sorted(found, key=lambda budget: budget.ref)


def _pod(item: Object, daemon_sets: Set[str]) -> Pod:
    owner = controller(item) or {}
    stays = ""
    if MIRROR in notes(item):
        stays = "a static pod; the node's own kubelet keeps it"
    elif owner.get("kind") == "DaemonSet" and owner.get("uid") in daemon_sets:
        stays = f"of the DaemonSet {owner.get('name')}, which would put it back"
    return Pod(
        Ref.of(item),
        uid(item),
        stays,
        leaving=bool(metadata(item).get("deletionTimestamp")),
        labels=tuple(labels(item).items()),
        bare=not owner,
        has_empty_dir=any("emptyDir" in volume for volume in spec(item).get("volumes") or ()),
    )


async def _daemon_sets(client: KubeClient, pods: Iterable[Object]) -> set[str]:
    """The DaemonSets that are still there: the pods of one that is not have to leave like all others."""
    if not any((controller(pod) or {}).get("kind") == "DaemonSet" for pod in pods):
        return set()
    return {uid(item) for item in (await client.list("apps/v1", "DaemonSet")).items}
