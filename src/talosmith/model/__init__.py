"""Frozen facts that everything else is made of. Imports nothing of ours."""

from talosmith.model.cluster import Cluster, ClusterNetwork, Endpoint, InstallDisk, Node, Patch, Role
from talosmith.model.providers import PROVIDERS, ProviderSection
from talosmith.model.secret import Secret
from talosmith.model.services import Image, Services
from talosmith.model.versions import Version

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
