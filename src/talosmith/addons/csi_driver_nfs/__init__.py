"""csi-driver-nfs: volumes on the NFS share of the inventory (`nfs`), by a StorageClass.

Talos' kernel has the NFS client built in; only NFS 3 with locks needs the extension nfs-utils (rpc.statd).
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, Values
from talosmith.addons.storage import default_annotations
from talosmith.model.cluster import Cluster

NAME = "csi-driver-nfs"
_EXTENSION = "siderolabs/nfs-utils"


def values(cluster: Cluster) -> Values:
    # One replica: the controller has a fixed port of the host. Snapshots need CRDs that the chart does not bring.
    found: Values = {"controller": {"replicas": 1, "enableSnapshotter": False}}
    nfs = cluster.services.nfs
    if nfs is None:
        return found
    parameters = {"server": nfs.server, "share": nfs.share, "onDelete": nfs.reclaim_policy.lower()}
    if nfs.sub_dir:
        parameters["subDir"] = nfs.sub_dir
    return found | {
        "storageClass": {
            "create": True,
            "name": "nfs",
            "annotations": default_annotations(cluster, NAME),
            "parameters": parameters,
            "reclaimPolicy": nfs.reclaim_policy,
            "volumeBindingMode": "Immediate",
            "mountOptions": list(nfs.mount_options),
        }
    }


def check(cluster: Cluster) -> Iterator[Finding]:
    nfs = cluster.services.nfs
    if nfs is None:
        what = f"{NAME} is installed without a StorageClass"
        yield Finding("warning", ("addons", NAME), what, "there is no `nfs`", "set nfs.server and nfs.share")
        return
    options = set(nfs.mount_options)
    locks = options & {"nfsvers=3", "vers=3"} and "nolock" not in options
    if locks and not all(_EXTENSION in node.image.extensions or node.image.schematic for node in cluster.nodes):
        yield Finding(
            "error",
            ("nfs", "mount_options"),
            "NFS 3 with locks needs rpc.statd on the nodes",
            fix=f"mount with nfsvers=4.1, add the option nolock, or add {_EXTENSION} to image.extensions",
        )


ADDON = Addon(
    title="StorageClass on an NFS share",
    namespace="kube-system",
    chart=Chart("https://kubernetes-csi.github.io/csi-driver-nfs", {"4.13.4": ">=1.21"}, NAME),
    values=values,
    check=check,
    privileged=True,
    rendered_by_tests=False,
)
