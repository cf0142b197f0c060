"""Drift: one thing in which a node differs from the inventory, with both values. The one meaning of “not in sync”."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

DriftKind = Literal[
    "machine",  # does not exist, or is powered off
    "not-configured",  # in maintenance mode
    "config",
    "pending-reboot",  # runs with another machine config than the one it boots with
    "talos-version",
    "kubernetes-version",
    "size",  # CPUs, memory, disks
    "machine-setting",  # only a new machine gets it, such as `spot` on AWS
    "address",
    "foreign",  # another cluster's node, or another node, answers at its address
    "not-in-inventory",
    "unknown",  # could not be read: what is not known is not in sync
]


_TEXTS: Mapping[str, str] = {
    "talos-version": "Talos {values}",
    "kubernetes-version": "Kubernetes {values}",
    "machine": "machine: {values}",
    "not-configured": "{values}",
    "config": "machine config differs",  # both values are digests
    "pending-reboot": "{live}, and needs a reboot",
    "size": "machine: {values}",
    "machine-setting": "machine: {values}",
    "address": "address {values}",
    "foreign": "{live}",
    "not-in-inventory": "not in the inventory",
    "unknown": "unknown: {live}",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    node: str
    kind: DriftKind
    live: str = ""  # what was found, or why it could not be read
    wanted: str = ""  # what the inventory says

    def __str__(self) -> str:
        return drift_text(self.kind, self.live, self.wanted)


def drift_text(kind: str, live: str, wanted: str) -> str:
    """How people read it, without the node: `Talos v1.13.8 → v1.13.9`. `kind` may be a later version's."""
    return _TEXTS.get(kind, "{values}").format(values=" → ".join(filter(None, (live, wanted))), live=live)
