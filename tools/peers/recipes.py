"""The list of all peers, in the order in which they are built: those first that most tests compare with."""

from __future__ import annotations

from tools.peers.bench_recipes import TOFU, TOFU_AWS, TOFU_LIBVIRT, TOFU_PROXMOX
from tools.peers.helm_recipes import HELM, REGISTRY
from tools.peers.kubernetes_recipes import ETCD, ETCD_3_6, KUBERNETES, KUBERNETES_1_36
from tools.peers.node_recipes import CNI, CONTAINERD, NODE_SERVICES, RUNC
from tools.peers.recipe import Recipe
from tools.peers.talos_recipes import MACHINED, MACHINED_1_13, MACHINERY, TALOSCTL, TALOSCTL_1_13
from tools.peers.tool_recipes import AGE, KUSTOMIZE, SOPS, TALHELPER


def _by_name(*recipes: Recipe) -> dict[str, Recipe]:
    return {recipe.name: recipe for recipe in recipes}


PEERS = _by_name(
    TALOSCTL,
    TALOSCTL_1_13,
    MACHINERY,
    ETCD,
    KUBERNETES,
    CONTAINERD,
    RUNC,
    CNI,
    NODE_SERVICES,
    MACHINED,
    MACHINED_1_13,
    ETCD_3_6,
    KUBERNETES_1_36,
    TALHELPER,
    SOPS,
    AGE,
    HELM,
    REGISTRY,
    KUSTOMIZE,
    TOFU,
    TOFU_PROXMOX,
    TOFU_LIBVIRT,
    TOFU_AWS,
)

# Those that say their version when they are asked. Machined must never run by itself: it would stop every process and
# reboot the machine.
RECIPES = {name: one for name, one in PEERS.items() if one.executable}

# For benches alone, and long to build: only when they are asked for by name. None at present.
ON_DEMAND = _by_name()

BINARIES = {name: one for one in (PEERS | ON_DEMAND).values() for name in one.names}
