"""Add-ons: what is installed in a cluster, from its CNI to its GitOps agent. One folder each, all of the same form.

A folder has an `ADDON` (`addon.py` has its fields): a chart or objects of our own, Helm values that follow from the
inventory, what the add-on asks of machine configs, what comes before it. All of it is pure: charts are fetched and
rendered elsewhere (`charts/`, `helm/`), objects are applied by `steps/addons.py`.
"""

from __future__ import annotations

from talosmith.addons.addon import Addon, Chart, MachineNeeds, TalosApiAccess
from talosmith.addons.catalogue import NAMES, addon, is_known

__all__ = ["NAMES", "Addon", "Chart", "MachineNeeds", "TalosApiAccess", "addon", "is_known"]
