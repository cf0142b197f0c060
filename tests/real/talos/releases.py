"""The Talos versions that real nodes can run, each with its Kubernetes and etcd and the peers that they are made of.

Every test runs on the newest unless it says otherwise; one bring-up is kept on the one before.
"""

from __future__ import annotations

from dataclasses import dataclass

from tools.peers.kubernetes_recipes import (
    ETCD,
    ETCD_3_6,
    ETCD_VERSION,
    KUBERNETES,
    KUBERNETES_1_36,
    KUBERNETES_VERSION,
    KUBERNETES_VERSION_1_36,
)
from tools.peers.recipe import Recipe
from tools.peers.talos_recipes import MACHINED, MACHINED_1_13, TALOS, TALOS_1_13, TALOSCTL, TALOSCTL_1_13


@dataclass(frozen=True)
class Release:
    line: str  # by which the lab knows it
    talos: str
    kubernetes: str
    etcd: str  # tag of the image that its nodes ask for
    ending: str  # of the files that are kept beside machined
    talosctl: str  # peers from here on
    machined: str
    etcd_program: str
    kubelet: str

    @property
    def is_split(self) -> bool:
        """Whether its machine configs consist of a document for each subject, as since Talos 1.14."""
        return self.line != "1.13"


def _program(recipe: Recipe) -> str:
    return next(iter(recipe.binaries))


NEWEST = Release(
    line="1.14",
    talos=TALOS,
    kubernetes=KUBERNETES_VERSION,
    etcd=ETCD_VERSION.removeprefix("v"),
    ending="",
    talosctl=_program(TALOSCTL),
    machined=_program(MACHINED),
    etcd_program=_program(ETCD),
    kubelet=_program(KUBERNETES),
)
BEFORE = Release(
    line="1.13",
    talos=TALOS_1_13,
    kubernetes=KUBERNETES_VERSION_1_36,
    etcd="v3.6.12",  # not published as a whole; the last of its series is, and takes its place
    ending="-1.13",
    talosctl=_program(TALOSCTL_1_13),
    machined=_program(MACHINED_1_13),
    etcd_program=_program(ETCD_3_6),
    kubelet=_program(KUBERNETES_1_36),
)
RELEASES = {release.line: release for release in (NEWEST, BEFORE)}
