"""Existing machines: found at their addresses or by their MAC addresses, never created or deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talosmith.model.cluster import Cluster
from talosmith.model.machines import Owner
from talosmith.model.providers import Metal
from talosmith.providers.metal.provider import MetalProvider

if TYPE_CHECKING:
    from talosmith.desired.secrets_file import Secrets

__all__ = ["MetalProvider", "metal_provider"]


def metal_provider(cluster: Cluster, section: Metal, owner: Owner, secrets: Secrets | None) -> MetalProvider:
    """Without secrets no node can be told from another cluster's."""
    authority = secrets.bundle.os.certificate if secrets else ""
    return MetalProvider(
        cluster.nodes, owner, authority=authority, search=cluster.network.node_cidr if section.search else None
    )
