"""Which add-on has the default StorageClass: one alone, since Kubernetes would choose among several by their age."""

from __future__ import annotations

from talosmith.addons.addon import Values
from talosmith.model.cluster import Cluster

# Network storage before storage of a single node. The share of `nfs` comes first: the inventory says so with
# `nfs.default`, which the others have no key for.
_NETWORK = ("aws-ebs-csi", "proxmox-csi")
_LOCAL = "local-path-provisioner"


def is_default(cluster: Cluster, name: str) -> bool:
    """Whether the StorageClass of this add-on is the cluster's default."""
    nfs = cluster.services.nfs
    first = ["csi-driver-nfs"] if nfs is not None and nfs.default else []
    return next((one for one in (*first, *_NETWORK, _LOCAL) if one in cluster.addons), "") == name


def default_annotations(cluster: Cluster, name: str) -> Values:
    """Annotations of the add-on's StorageClass."""
    return {"storageclass.kubernetes.io/is-default-class": "true"} if is_default(cluster, name) else {}
