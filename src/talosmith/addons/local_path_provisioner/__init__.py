"""local-path-provisioner: volumes as folders of the node that a pod runs on; they are not replicated.

On Talos only /var is writable. A node with a volume named `local-path-provisioner` in the inventory uses that disk.
"""

from __future__ import annotations

from talosmith.addons.addon import Addon, Chart, MachineNeeds, Values
from talosmith.addons.machine_documents import folder_volume, has_documents, kubelet_mount
from talosmith.addons.storage import is_default
from talosmith.model.cluster import Cluster

NAME = "local-path-provisioner"
_FOLDER = f"/var/{NAME}"
_VOLUME = f"/var/mnt/{NAME}"  # where Talos mounts the user volume of this name


def values(cluster: Cluster) -> Values:
    folder = _VOLUME if has_documents(cluster) else _FOLDER
    paths = [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [folder]}]
    if folder != _VOLUME:
        with_volume = (node.name for node in cluster.nodes if any(one.name == NAME for one in node.volumes))
        paths += [{"node": name, "paths": [_VOLUME]} for name in with_volume]
    return {
        "nodePathMap": paths,
        "storageClass": {
            "name": "local-path",
            "provisionerName": "rancher.io/local-path",
            "defaultClass": is_default(cluster, NAME),
        },
        "helperImage": {"repository": "docker.io/library/busybox", "tag": "1.37.0"},
    }


def machine(cluster: Cluster) -> MachineNeeds:
    """Kubelets run in a container of their own, which sees a folder only if it is mounted there; user volumes are."""
    return MachineNeeds(all_nodes=(folder_volume(NAME) if has_documents(cluster) else kubelet_mount(_FOLDER),))


ADDON = Addon(
    title="StorageClass on disks of the nodes, without replication",
    namespace="local-path-storage",
    chart=Chart("oci://ghcr.io/rancher/local-path-provisioner/charts/local-path-provisioner", {"0.0.37": ">=1.25"}),
    values=values,
    machine=machine,
    privileged=True,
)
