"""Releases of Talos and Kubernetes with a defect that concerns a whole cluster, each with its public source.

Few and certain: an entry needs a statement of the people who made the release. What concerns some hardware only, or
was reported and not confirmed, is not listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from talosmith.model.versions import Version

Component = Literal["talos", "kubernetes"]
NAMES: dict[Component, str] = {"talos": "Talos", "kubernetes": "Kubernetes"}


@dataclass(frozen=True, slots=True)
class KnownBad:
    """Versions from `first` to `last`, both of them included."""

    component: Component
    first: str
    last: str
    what: str
    fix: str
    source: str
    refused: bool  # must not be used at all; else it may run, and what to do with it is told

    def __contains__(self, version: Version) -> bool:
        return Version.parse(self.first) <= version <= Version.parse(self.last)

    @property
    def versions(self) -> str:
        """`Talos v1.13.1`, `Talos v1.8.0 to v1.10.8`"""
        several = f" to {self.last}" if self.last != self.first else ""
        return f"{NAMES[self.component]} {self.first}{several}"


KNOWN_BAD: tuple[KnownBad, ...] = (
    KnownBad(
        "talos",
        "v1.13.1",
        "v1.13.1",
        "withdrawn release: kernel modules of system extensions do not load",
        "use v1.13.2 or later",
        "https://github.com/siderolabs/talos/issues/13312",
        refused=True,
    ),
    KnownBad(
        "talos",
        "v1.8.0",
        "v1.10.8",
        "an upgrade to Talos 1.11 or later takes etcd from 3.5 to 3.6, where removed etcd members can reappear",
        "upgrade to Talos v1.10.9 (etcd 3.5.26) before Talos 1.11",
        "https://github.com/siderolabs/talos/issues/12467",
        refused=False,
    ),
)


def known_bad(talos: Version, kubernetes: Version) -> tuple[KnownBad, ...]:
    """The entries that a pair of versions falls under."""
    pair = {"talos": talos, "kubernetes": kubernetes}
    return tuple(one for one in KNOWN_BAD if pair[one.component] in one)
