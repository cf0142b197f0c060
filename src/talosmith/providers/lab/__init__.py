"""Simulated machines: each cluster has a lab of its own, in a background process on this computer."""

from __future__ import annotations

from talosmith.model.cluster import Cluster
from talosmith.model.machines import Owner
from talosmith.model.providers import Lab
from talosmith.providers.lab.home import ID_DIGITS, BackgroundLab
from talosmith.providers.lab.process import Made
from talosmith.providers.lab.provider import LabProvider

__all__ = ["LabProvider", "lab_name", "lab_provider"]

_LONGEST_NAME = 32


def lab_name(owner: Owner) -> str:
    """Two clusters of one name have different ids, and so different labs."""
    return f"{owner.cluster[:_LONGEST_NAME]}-{owner.id[:ID_DIGITS]}"


def lab_provider(cluster: Cluster, section: Lab, owner: Owner) -> LabProvider:
    made = Made(clock=section.clock, network=str(cluster.network.node_cidr), kubernetes=section.kubernetes)
    return LabProvider(owner, BackgroundLab(lab_name(owner), made))
