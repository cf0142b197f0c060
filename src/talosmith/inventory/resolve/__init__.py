"""Resolves an inventory: every default set, every name, address and number known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from talosmith.inventory.findings import Finding
from talosmith.inventory.layouts import layout_of
from talosmith.inventory.layouts.layout import Layout
from talosmith.inventory.parse import Path
from talosmith.inventory.resolve.addons import with_addons
from talosmith.inventory.resolve.network import chosen_provider, resolve_endpoint, resolve_network
from talosmith.inventory.resolve.nodes import Place, entries, resolve_nodes
from talosmith.inventory.schema import GROUP, Inventory
from talosmith.model.cluster import Cluster, Node, Patch, Role
from talosmith.model.services import Services
from talosmith.model.settings import KubernetesSettings

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
    """The cluster, its inventory, and the place of each of its nodes in that."""

    cluster: Cluster
    inventory: Inventory
    places: tuple[Place, ...]  # in the order of the cluster's nodes

    @property
    def layout(self) -> Layout[Any]:
        return layout_of(self.cluster.provider)


class Unresolvable(Exception):
    """A value is not set and cannot be derived."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(findings[0].what)
        self.findings = findings


def resolve(inventory: Inventory, patches: PatchSource) -> Resolved:
    findings: list[Finding] = []
    provider = chosen_provider(inventory)
    layout = layout_of(provider)
    network = resolve_network(inventory, layout)
    placed = list(resolve_nodes(inventory, layout, network, patches, findings))
    nodes = tuple(node for node, _ in placed)
    endpoint = resolve_endpoint(inventory, layout, network, nodes, findings)
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
        services=Services.model_construct(
            {*Services.model_fields} & inventory.model_fields_set,
            **{name: getattr(inventory, name) for name in Services.model_fields},
        ),
        kubernetes=_kubernetes(inventory, nodes),
        talos=inventory.talos,
        patches=patches("global", ("patches",), inventory.patches),
        role_patches={role: _role_patches(inventory, role, patches) for role in GROUP},
    )
    return Resolved(with_addons(cluster), inventory, tuple(place for _, place in placed))


def _kubernetes(inventory: Inventory, nodes: tuple[Node, ...]) -> KubernetesSettings:
    """Unset values follow from the rest of the inventory; `addons.py` sets those that follow from add-ons."""
    wanted = inventory.kubernetes
    if wanted.schedule_on_controlplanes is not None:
        return wanted
    no_workers = all(node.role == "controlplane" for node in nodes)
    return wanted.model_copy(update={"schedule_on_controlplanes": no_workers})


def _role_patches(inventory: Inventory, role: Role, patches: PatchSource) -> tuple[Patch, ...]:
    group = getattr(inventory, GROUP[role])
    return patches(role, (GROUP[role], "patches"), group.patches or [])
