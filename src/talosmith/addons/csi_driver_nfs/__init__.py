"""csi-driver-nfs: volumes on the NFS share of the inventory (`nfs`), by a StorageClass.

Talos' kernel has the NFS client built in; only NFS 3 with locks needs the extension nfs-utils (rpc.statd).
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, Values
from talosmith.model.cluster import Cluster

_EXTENSION = "siderolabs/nfs-utils"


def values(cluster: Cluster) -> Values:
    found: Values = {"controller": {"replicas": 1}, "externalSnapshotter": {"enabled": False}}
    nfs = cluster.services.nfs
    if nfs is None:
        return found
    parameters = {"server": nfs.server, "share": nfs.share, "onDelete": nfs.reclaim_policy.lower()}
    if nfs.sub_dir:
        parameters["subDir"] = nfs.sub_dir
    default = {"storageclass.kubernetes.io/is-default-class": "true"} if nfs.default else {}
    return found | {
        "storageClass": {
            "create": True,
            "name": "nfs",
            "annotations": default,
            "parameters": parameters,
            "reclaimPolicy": nfs.reclaim_policy,
            "volumeBindingMode": "Immediate",
            "mountOptions": list(nfs.mount_options),
        }
    }


def check(cluster: Cluster) -> Iterator[Finding]:
    nfs = cluster.services.nfs
    if nfs is None:
        what = "csi-driver-nfs is installed without a StorageClass"
        yield Finding("warning", ("addons", "csi-driver-nfs"), what, "there is no `nfs`", "set nfs.server and nfs.share")
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
    chart=Chart(
        "https://raw.githubusercontent.com/kubernetes-csi/csi-driver-nfs/master/charts",
        {"4.13.4": ">=1.21"},
        "csi-driver-nfs",
    ),
    values=values,
    check=check,
)
