"""Placement of controllers that hold credentials of the provider or initialise nodes: on control planes."""

from __future__ import annotations

from talosmith.addons.addon import Values

NODE_SELECTOR: Values = {"node-role.kubernetes.io/control-plane": ""}

ALLOWED_ON_CONTROLPLANES: list[Values] = [
    {"key": "node-role.kubernetes.io/control-plane", "operator": "Exists", "effect": "NoSchedule"}
]

# A cloud controller removes the taint `uninitialized` itself, and has to run on nodes whose CNI is not up yet.
ALLOWED_ON_NEW_NODES: list[Values] = [
    *ALLOWED_ON_CONTROLPLANES,
    {"key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"},
]
