"""Kinds of resources that are asked for often, by the names people use, so that no node must be asked for them."""

from __future__ import annotations

from typing import NamedTuple


class Kind(NamedTuple):
    """Where resources of a kind are, and their full type."""

    namespace: str
    type: str


DEFINITIONS = "resourcedefinitions"

KINDS: dict[str, Kind] = {
    DEFINITIONS: Kind("meta", "ResourceDefinitions.meta.cosi.dev"),
    "addressstatuses": Kind("network", "AddressStatuses.net.talos.dev"),
    "addresses": Kind("network", "AddressStatuses.net.talos.dev"),
    "apiserverconfigs": Kind("controlplane", "APIServerConfigs.kubernetes.talos.dev"),
    "diagnostics": Kind("runtime", "Diagnostics.runtime.talos.dev"),
    "disks": Kind("runtime", "Disks.block.talos.dev"),
    "extensions": Kind("runtime", "ExtensionStatuses.runtime.talos.dev"),
    "extensionstatuses": Kind("runtime", "ExtensionStatuses.runtime.talos.dev"),
    "hostnamestatuses": Kind("network", "HostnameStatuses.net.talos.dev"),
    "kubeletspecs": Kind("k8s", "KubeletSpecs.kubernetes.talos.dev"),
    "links": Kind("network", "LinkStatuses.net.talos.dev"),
    "linkstatuses": Kind("network", "LinkStatuses.net.talos.dev"),
    "machineconfigs": Kind("config", "MachineConfigs.config.talos.dev"),
    "machinestatus": Kind("runtime", "MachineStatuses.runtime.talos.dev"),
    "machinestatuses": Kind("runtime", "MachineStatuses.runtime.talos.dev"),
    "members": Kind("cluster", "Members.cluster.talos.dev"),
    "nodeaddresses": Kind("network", "NodeAddresses.net.talos.dev"),
    "nodenames": Kind("k8s", "Nodenames.kubernetes.talos.dev"),
    "services": Kind("runtime", "Services.v1alpha1.talos.dev"),
    "staticpods": Kind("k8s", "StaticPods.kubernetes.talos.dev"),
    "staticpodstatuses": Kind("k8s", "StaticPodStatuses.kubernetes.talos.dev"),
    "systemdisks": Kind("runtime", "SystemDisks.block.talos.dev"),
    "systeminformation": Kind("hardware", "SystemInformations.hardware.talos.dev"),
    "timestatuses": Kind("runtime", "TimeStatuses.v1alpha1.talos.dev"),
    "unattendedinstallstatuses": Kind("runtime", "UnattendedInstallStatuses.runtime.talos.dev"),
    "versions": Kind("runtime", "Versions.runtime.talos.dev"),
    "volumestatuses": Kind("runtime", "VolumeStatuses.block.talos.dev"),
}
KINDS |= {kind.type.lower(): kind for kind in tuple(KINDS.values())}
