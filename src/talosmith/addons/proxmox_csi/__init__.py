"""proxmox-csi: volumes in a storage of Proxmox VE, attached to the machines as disks.

A volume of a storage that only one Proxmox node has stays on that node: pods follow it by the zone label, which
proxmox-ccm sets.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, Values
from talosmith.addons.controlplanes import ALLOWED_ON_CONTROLPLANES, NODE_SELECTOR
from talosmith.addons.proxmox_access import proxmox_config, proxmox_findings
from talosmith.addons.storage import default_annotations
from talosmith.model.cluster import Cluster
from talosmith.model.providers.proxmox import Proxmox

NAME = "proxmox-csi"
_LABELS = "proxmox-ccm"
_ZONE = "topology.kubernetes.io/zone"


def values(cluster: Cluster) -> Values:
    section = cluster.provider
    classes = []
    if isinstance(section, Proxmox):
        annotations = default_annotations(cluster, NAME)
        classes = [{"name": "proxmox", "storage": section.datastore, "fstype": "ext4", "annotations": annotations}]
    return {
        "fullnameOverride": "proxmox-csi-plugin",
        "config": proxmox_config(cluster),
        "storageClass": classes,
        "nodeSelector": NODE_SELECTOR,
        "tolerations": ALLOWED_ON_CONTROLPLANES,
    }


def check(cluster: Cluster) -> Iterator[Finding]:
    privileges = "VM.Audit, VM.Config.Disk, Datastore.Allocate, Datastore.AllocateSpace and Datastore.Audit"
    yield from proxmox_findings(cluster, NAME, privileges)
    if _LABELS not in cluster.addons and not all(_ZONE in node.labels for node in cluster.nodes):
        yield Finding(
            "error",
            ("addons", _LABELS),
            f"{NAME} needs {_LABELS}, which is switched off",
            f"it finds the storage of a node by the label {_ZONE}",
            f"remove `addons.{_LABELS}: false`, or set the label for all nodes",
        )


ADDON = Addon(
    title="StorageClass on a storage of Proxmox VE",
    namespace="csi-proxmox",
    chart=Chart("oci://ghcr.io/sergelogvinov/charts/proxmox-csi-plugin", {"0.5.9": ">=1.25"}),
    values=values,
    check=check,
    after=(_LABELS,),
    brings=(_LABELS,),
    privileged=True,
)
