"""What add-ons ask of machine configs, in the form of the Talos that the nodes run.

Up to 1.13 these are fields of the main document, from 1.14 on documents; to write both is an error.
"""

from __future__ import annotations

from typing import Any

from talosmith.addons.addon import Document
from talosmith.model.cluster import Cluster

_SINCE_DOCUMENTS = (1, 14)


def has_documents(cluster: Cluster) -> bool:
    """Whether kubelet, sysctls, containerd's configuration and Talos API access are documents of their own."""
    return cluster.talos_version.line >= _SINCE_DOCUMENTS


def sysctls(cluster: Cluster, values: dict[str, str]) -> Document:
    return _document("SysctlConfig", params=values) if has_documents(cluster) else {"machine": {"sysctls": values}}


def kubelet_arguments(cluster: Cluster, arguments: dict[str, str]) -> Document:
    if has_documents(cluster):
        return _document("KubeletConfig", extraArgs=arguments)
    return {"machine": {"kubelet": {"extraArgs": arguments}}}


def containerd_part(cluster: Cluster, name: str, content: str) -> Document:
    """Talos merges this part into the configuration of the containerd that runs pods."""
    if has_documents(cluster):
        return _document("CRICustomizationConfig", name=name, content=content)
    file = {"op": "create", "path": "/etc/cri/conf.d/20-customization.part", "content": content}
    return {"machine": {"files": [file]}}


def no_core_dns(cluster: Cluster) -> Document:
    if has_documents(cluster):
        return _document("KubeCoreDNSConfig", enabled=False)
    return {"cluster": {"coreDNS": {"disabled": True}}}


def external_cloud_provider() -> Document:
    """A field of the main document in every Talos."""
    return {"cluster": {"externalCloudProvider": {"enabled": True}}}


def api_access(cluster: Cluster, roles: list[str], namespaces: list[str]) -> Document:
    allowed = {"allowedRoles": roles, "allowedKubernetesNamespaces": namespaces}
    if has_documents(cluster):
        return _document("KubeTalosAPIAccessConfig", **allowed)
    return {"machine": {"features": {"kubernetesTalosAPIAccess": {"enabled": True, **allowed}}}}


def folder_volume(name: str) -> Document:
    """A folder of the node's own disk that Talos mounts at /var/mnt/NAME, where kubelets see it; since Talos 1.12."""
    return _document("UserVolumeConfig", name=name, volumeType="directory")


def kubelet_mount(folder: str) -> Document:
    """A folder that kubelets see under the same name; from Talos 1.14 on there is no document for it."""
    mount = {"type": "bind", "source": folder, "destination": folder, "options": ["bind", "rshared", "rw"]}
    return {"machine": {"kubelet": {"extraMounts": [mount]}}}


def _document(kind: str, **fields: Any) -> Document:
    return {"apiVersion": "v1alpha1", "kind": kind, **fields}
