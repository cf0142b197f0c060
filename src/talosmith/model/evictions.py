"""What a reboot or a drain does to the pods of a node, as read when the plan was made."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Evictions:
    """Pods are named `namespace/name`. Pods of DaemonSets and static pods do not count: they stay with the node."""

    pods: int = 0
    blocking: tuple[str, ...] = ()  # PodDisruptionBudgets that allow no disruption now
    bare: tuple[str, ...] = ()  # pods without a controller: evicted, they are lost
    empty_dir: int = 0  # pods whose emptyDir data is lost when they are evicted
    unknown: str = ""  # why the pods could not be read
