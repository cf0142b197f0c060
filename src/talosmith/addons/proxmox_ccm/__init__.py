"""proxmox-ccm: labels nodes with the Proxmox node they are on, and removes Node objects of machines that are gone.

It finds a machine by its name and SMBIOS UUID; both are those of the node, as talosmith creates machines.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, MachineNeeds, Values
from talosmith.addons.controlplanes import NODE_SELECTOR
from talosmith.addons.machine_documents import external_cloud_provider
from talosmith.addons.proxmox_access import proxmox_config, proxmox_findings
from talosmith.model.cluster import Cluster

NAME = "proxmox-ccm"


def values(cluster: Cluster) -> Values:
    return {
        "fullnameOverride": "proxmox-cloud-controller-manager",
        "config": proxmox_config(cluster),
        "enabledControllers": ["cloud-node", "cloud-node-lifecycle"],
        # With the host network and its DNS servers: cluster DNS may come up after nodes are initialised.
        "useDaemonSet": True,
        "dnsPolicy": "Default",
        "nodeSelector": NODE_SELECTOR,
    }


def machine(cluster: Cluster) -> MachineNeeds:
    return MachineNeeds(all_nodes=(external_cloud_provider(),))


def check(cluster: Cluster) -> Iterator[Finding]:
    yield from proxmox_findings(cluster, NAME, "VM.Audit, VM.GuestAgent.Audit and Sys.Audit")


ADDON = Addon(
    title="Topology labels of Proxmox nodes",
    namespace="kube-system",
    chart=Chart("oci://ghcr.io/sergelogvinov/charts/proxmox-cloud-controller-manager", {"0.2.28": ">=1.24"}),
    stage="cloud",
    values=values,
    machine=machine,
    check=check,
    privileged=True,
)
