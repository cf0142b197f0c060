"""Spegel: nodes pull images from each other before they ask a registry.

It serves the layers that containerd keeps. Talos' containerd discards them once they are unpacked, unless its
configuration says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, MachineNeeds, Values
from talosmith.addons.machine_documents import containerd_part
from talosmith.model.cluster import Cluster

_KEEP_LAYERS = '[plugins."io.containerd.cri.v1.images"]\n  discard_unpacked_layers = false\n'


def values(cluster: Cluster) -> Values:
    return {
        "clusterDomain": f"{cluster.kubernetes.dns_domain}.",
        "service": {"registry": {"hostPort": 29999}},  # the chart's own is a node port, which a Service may get
        "spegel": {
            "containerdSock": "/run/containerd/containerd.sock",
            "containerdRegistryConfigPath": "/etc/cri/conf.d/hosts",
            "prependExisting": bool(cluster.talos.registry_mirrors),  # else it takes their place
        },
    }


def machine(cluster: Cluster) -> MachineNeeds:
    return MachineNeeds(all_nodes=(containerd_part(cluster, "spegel", _KEEP_LAYERS),))


def check(cluster: Cluster) -> Iterator[Finding]:
    if len(cluster.nodes) == 1:
        what = "spegel has no use on a single node"
        yield Finding("warning", ("addons", "spegel"), what, "there is no other node to pull from", "remove it")


ADDON = Addon(
    title="Images from other nodes before registries",
    namespace="kube-system",
    chart=Chart("oci://ghcr.io/spegel-org/helm-charts/spegel", {"0.7.3": ">=1.21"}, "spegel"),
    values=values,
    machine=machine,
    check=check,
    after=("cilium", "coredns"),
    privileged=True,
)
