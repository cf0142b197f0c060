"""The list of all peers."""

from __future__ import annotations

from tools.peers.bench_recipes import TOFU, TOFU_AWS, TOFU_LIBVIRT, TOFU_PROXMOX
from tools.peers.helm_recipes import HELM, REGISTRY
from tools.peers.node_recipes import CNI, CONTAINERD, ETCD, KUBERNETES, MACHINED, NODE_SERVICES, RUNC
from tools.peers.recipe import Recipe
from tools.peers.tool_recipes import AGE, KUSTOMIZE, SOPS, TALHELPER, TALOSCTL


def _by_name(*recipes: Recipe) -> dict[str, Recipe]:
    return {recipe.name: recipe for recipe in recipes}


# Tools that say their version when they are asked.
RECIPES = _by_name(
    TALOSCTL,
    TALHELPER,
    SOPS,
    AGE,
    CONTAINERD,
    RUNC,
    CNI,
    NODE_SERVICES,
    ETCD,
    KUBERNETES,
    HELM,
    REGISTRY,
    KUSTOMIZE,
    TOFU,
    TOFU_PROXMOX,
    TOFU_LIBVIRT,
    TOFU_AWS,
)

# Parts of a node that must not be run by themselves: machined would stop every process and reboot the machine.
PARTS = _by_name(MACHINED)

# For benches alone, and long to build: only when they are asked for by name. None at present.
ON_DEMAND = _by_name()

BINARIES = {name: one for one in (RECIPES | PARTS | ON_DEMAND).values() for name in one.names}
