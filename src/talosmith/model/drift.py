"""Drift: one thing in which a node differs from the inventory, with both values. The one meaning of “not in sync”."""

from __future__ import annotations

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
    "address",
    "foreign",  # another cluster's node, or another node, answers at its address
    "not-in-inventory",
    "unknown",  # could not be read: what is not known is not in sync
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    node: str
    kind: DriftKind
    live: str = ""  # what was found, or why it could not be read
    wanted: str = ""  # what the inventory says
