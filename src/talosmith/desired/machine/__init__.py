"""From a Cluster to the machine config of each node: what the inventory says, in the words of the node's Talos."""

from talosmith.desired.machine.render import MachineConfigs

__all__ = ["MachineConfigs"]
