"""What add-ons ask of machine configs, as patches over the config of a role."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons import addon, is_known
from talosmith.addons.addon import Document, MachineNeeds
from talosmith.addons.machine_documents import api_access
from talosmith.model.cluster import Cluster, Role


def addon_documents(cluster: Cluster, role: Role) -> Iterator[tuple[str, list[Document]]]:
    """Add-on, and its documents for nodes of this role; at last the access to the Talos API that add-ons share."""
    needs = {name: addon(name).machine(cluster) for name in cluster.addons if is_known(name)}
    for name, one in needs.items():
        for document in (*one.all_nodes, *(one.controlplanes if role == "controlplane" else ())):
            yield f"addon {name}", [document]
    if role == "controlplane" and (access := _api_access(cluster, [*needs.values()])):
        yield "addons: Talos API access", [access]


def _api_access(cluster: Cluster, needs: list[MachineNeeds]) -> Document:
    """One list of roles and one of namespaces, for all add-ons: Talos has no finer one."""
    asked = [access for one in needs for access in one.api_access]
    if not asked:
        return {}
    roles, namespaces = {access.role for access in asked}, {access.namespace for access in asked}
    return api_access(cluster, sorted(roles), sorted(namespaces))
