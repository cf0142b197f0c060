"""Frozen facts that everything else is made of. Imports nothing of ours.

Names are looked up when they are first used: who needs a `Secret` only does not pay for the inventory's models.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from talosmith.model.cluster import Cluster, ClusterNetwork, Endpoint, InstallDisk, Node, Patch, Role
    from talosmith.model.providers import PROVIDERS, ProviderSection
    from talosmith.model.secret import Secret
    from talosmith.model.services import Image, Services
    from talosmith.model.versions import Version

_HOMES = {  # which module has which names
    "cluster": "Cluster ClusterNetwork Endpoint InstallDisk Node Patch Role",
    "providers": "PROVIDERS ProviderSection",
    "secret": "Secret",
    "services": "Image Services",
    "versions": "Version",
}
__all__ = [
    "PROVIDERS",
    "Cluster",
    "ClusterNetwork",
    "Endpoint",
    "Image",
    "InstallDisk",
    "Node",
    "Patch",
    "ProviderSection",
    "Role",
    "Secret",
    "Services",
    "Version",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
