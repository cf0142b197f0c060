"""`lab:` in the inventory."""

from __future__ import annotations

from typing import Literal

from talosmith.model.providers.base import ProviderSection


class Lab(ProviderSection):
    """Simulated machines on this computer; nothing to install."""

    name = "lab"
    platform = "metal"
    install_device = "/dev/vda"
    gives_addresses = True

    clock: Literal["instant", "fast", "realistic"] = "fast"
    """speed of simulated boots and installs"""
    kubernetes: Literal["simulated", "real"] = "simulated"
    """`real` runs etcd and kube-apiserver from PATH"""
