"""talos-ccm: approves the serving certificates of kubelets; where aws-ccm is on, it initialises nodes as well.

aws-ccm finds instances by their private DNS names, which our nodes do not have: talos-ccm sets `spec.providerID`,
zone and addresses from the metadata that Talos read, and aws-ccm goes by the providerID from then on.
"""

from __future__ import annotations

from talosmith.addons.addon import Addon, Chart, MachineNeeds, TalosApiAccess, Values, namespace_of
from talosmith.addons.machine_documents import external_cloud_provider, kubelet_arguments
from talosmith.model.cluster import Cluster

NAME = "talos-ccm"
_APPROVES, _INITIALISES = "node-csr-approval", "cloud-node"


def initialises_nodes(cluster: Cluster) -> bool:
    """Whether talos-ccm runs the controller cloud-node: for aws-ccm, or as the user's values say."""
    own = cluster.addons[NAME].settings.values.get("enabledControllers")
    return _INITIALISES in own if isinstance(own, list) else "aws-ccm" in cluster.addons


def values(cluster: Cluster) -> Values:
    controllers = [_INITIALISES, _APPROVES] if initialises_nodes(cluster) else [_APPROVES]
    # As a DaemonSet it has the host network and the API server of its own node: it needs neither CNI nor kube-proxy.
    return {
        "fullnameOverride": "talos-cloud-controller-manager",
        "enabledControllers": controllers,
        "daemonSet": {"enabled": True},
    }


def machine(cluster: Cluster) -> MachineNeeds:
    certificates = kubelet_arguments(cluster, {"rotate-server-certificates": "true"})
    return MachineNeeds(
        all_nodes=(certificates, external_cloud_provider()) if initialises_nodes(cluster) else (certificates,),
        api_access=(TalosApiAccess(namespace_of(cluster, NAME), "os:reader"),),
    )


ADDON = Addon(
    title="Approves certificates of kubelets",
    namespace="kube-system",
    chart=Chart("oci://ghcr.io/siderolabs/charts/talos-cloud-controller-manager", {"0.5.4": ">=1.24"}),
    stage="cloud",
    values=values,
    machine=machine,
    privileged=True,
    rendered_by_tests=False,
)
