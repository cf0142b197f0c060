"""`metal:` in the inventory."""

from __future__ import annotations

from talosmith.model.providers.base import ProviderSection


class Metal(ProviderSection):
    """Existing machines, booted into maintenance mode."""

    name = "metal"
    platform = "metal"
    sized = False
    virtual = False

    search: bool = False
    """find machines that are not at their `ip` yet by their MAC address: sends a packet to every address of
    node_cidr, which is a /22 at most"""
