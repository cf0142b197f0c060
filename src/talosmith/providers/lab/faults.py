"""What can be made to go wrong in a lab: the names that its control socket takes, and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

FaultKind = Literal[
    "power-loss", "hang", "slow", "refuse", "reset", "time-out", "fail", "partition", "full-disk", "boot-failure",
    "rollback", "clock-skew", "lost-network", "unlisted", "kube-down", "kube-slow", "kube-busy", "kube-time-out",
    "watch-cut",
]  # fmt: skip
KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
US = "client"  # the far side of a partition that is us, not another node

MEANINGS: Mapping[FaultKind, str] = {
    "power-loss": "the machine loses power",
    "hang": "the machine answers nothing, connections stay open",
    "slow": "calls take longer by --by",
    "refuse": "connections to the API are refused",
    "reset": "connections to the API are reset when they are made",
    "time-out": "the call is executed, but no answer comes",
    "fail": "calls fail as unavailable, and are not executed",
    "partition": "no traffic between the machines and those of --from",
    "full-disk": "the disk is full: etcd raises its alarm, nothing can be installed or pulled",
    "boot-failure": "the machine hangs at its next --times boots",
    "rollback": "an upgraded Talos does not come up, the machine falls back to the one before",
    "clock-skew": "the clock is off by --by and not synchronized",
    "lost-network": "the machine has no addresses",
    "kube-down": "the Kubernetes API server does not run: connections to it are refused",
    "kube-slow": "requests to the Kubernetes API take longer by --by",
    "kube-busy": "the Kubernetes API answers 429 Too Many Requests, with Retry-After --by",
    "kube-time-out": "a request to the Kubernetes API is executed, but no answer comes",
    "watch-cut": "watches of the Kubernetes API break off after their first events",
    "unlisted": "new machines are listed only after --by",
}
