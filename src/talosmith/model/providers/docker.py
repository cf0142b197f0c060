"""`docker:` in the inventory."""

from __future__ import annotations

from talosmith.model.providers.base import ProviderSection
from talosmith.model.values import Name


class Docker(ProviderSection):
    """Talos in containers on this computer."""

    name = "docker"
    platform = "container"
    built = False
    virtual = False
    gives_addresses = True

    host: str | None = None
    """engine to use; the client's default if left out"""
    network: Name | None = None
    """name of the network to create; the cluster's name if left out"""
