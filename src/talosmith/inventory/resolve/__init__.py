"""From what an inventory says to what it means: every default filled in, every name, address and number known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from talosmith.inventory.findings import Finding
from talosmith.inventory.parse import Path
from talosmith.inventory.resolve.network import chosen_provider, resolve_endpoint, resolve_network
from talosmith.inventory.resolve.nodes import GROUP, Place, entries, resolve_nodes
from talosmith.inventory.schema import Inventory
from talosmith.model.cluster import Cluster, Patch, Role
from talosmith.model.services import Services

__all__ = [
    "GROUP",
    "PatchSource",
    "Place",
    "Resolved",
    "Unresolvable",
    "chosen_provider",
    "entries",
    "resolve",
]

PatchSource = Callable[[str, Path, list[object]], tuple[Patch, ...]]
"""Patches of a scope (`global`, a role, `nodes/<name>`): its files, then the entries at a path of the inventory."""


@dataclass(frozen=True)
class Resolved:
    """The cluster, what it was made from, and where each of its nodes stands in the inventory."""

    cluster: Cluster
    inventory: Inventory
    places: tuple[Place, ...]  # in the order of the cluster's nodes


class Unresolvable(Exception):
    """Something was not given and cannot be derived."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(findings[0].what)
        self.findings = findings


def resolve(inventory: Inventory, patches: PatchSource) -> Resolved:
    findings: list[Finding] = []
    provider = chosen_provider(inventory)
    network = resolve_network(inventory, provider)
    placed = list(resolve_nodes(inventory, provider, network, patches, findings))
    nodes = tuple(node for node, _ in placed)
    endpoint = resolve_endpoint(inventory, provider, network, nodes, findings)
    if endpoint is None or findings:
        raise Unresolvable(findings)
    cluster = Cluster(
        name=inventory.cluster_name,
        talos_version=inventory.talos_version,
        kubernetes_version=inventory.kubernetes_version,
        endpoint=endpoint,
        network=network,
        provider=provider,
        nodes=nodes,
        services=Services.model_construct(**{name: getattr(inventory, name) for name in Services.model_fields}),
        patches=patches("global", ("patches",), inventory.patches),
        role_patches={role: _role_patches(inventory, role, patches) for role in GROUP},
    )
    return Resolved(cluster, inventory, tuple(place for _, place in placed))


def _role_patches(inventory: Inventory, role: Role, patches: PatchSource) -> tuple[Patch, ...]:
    group = getattr(inventory, GROUP[role])
    return patches(role, (GROUP[role], "patches"), group.patches or [])
