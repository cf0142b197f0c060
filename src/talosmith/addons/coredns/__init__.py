"""CoreDNS from its chart, in place of the one that Talos installs: settings and version are the inventory's then.

Names, labels and address are those of Talos' own, so that a cluster which runs that one already goes on with it, and
that kubelets, which hand the address to pods, and health checks find it.
"""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.addons.addon import Addon, Chart, Finding, MachineNeeds, Values, namespace_of
from talosmith.addons.machine_documents import no_core_dns
from talosmith.model.cluster import Cluster

_NAMESPACE = "kube-system"
_LABELS = {"k8s-app": "kube-dns"}
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def values(cluster: Cluster) -> Values:
    return {
        "fullnameOverride": "coredns",
        "k8sAppLabelOverride": "kube-dns",
        "replicaCount": 2 if len(cluster.nodes) > 1 else 1,
        "priorityClassName": "system-cluster-critical",
        "serviceAccount": {"create": True},
        # The selector of a Deployment cannot be changed: Talos' own has this one.
        "deployment": {"selector": {"matchLabels": dict(_LABELS)}},
        "service": {"name": "kube-dns", "clusterIP": address(cluster), "selector": dict(_LABELS)},
        "servers": [_server(cluster.kubernetes.dns_domain)],
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": _CONTROL_PLANE, "operator": "Exists", "effect": "NoSchedule"},
            {"key": "node.cloudprovider.kubernetes.io/uninitialized", "operator": "Exists", "effect": "NoSchedule"},
        ],
        "affinity": _affinity(),
    }


def address(cluster: Cluster) -> str:
    """The tenth address of the Services' network, as kubelets expect it."""
    return str(cluster.network.svc_cidr[10])


def _server(domain: str) -> Values:
    plugins: list[Values] = [
        {"name": "errors"},
        {"name": "health", "configBlock": "lameduck 5s"},
        {"name": "ready"},
        {
            "name": "kubernetes",
            "parameters": f"{domain} in-addr.arpa ip6.arpa",
            "configBlock": "pods verified\nfallthrough in-addr.arpa ip6.arpa",  # autopath needs to know the pods
        },
        {"name": "autopath", "parameters": "@kubernetes"},
        {"name": "forward", "parameters": ". /etc/resolv.conf"},
        {"name": "cache", "configBlock": "prefetch 20\nserve_stale\nservfail 0"},
        {"name": "loop"},
        {"name": "reload"},
        {"name": "loadbalance"},
        {"name": "prometheus", "parameters": "0.0.0.0:9153"},
        {"name": "log", "configBlock": "class error"},
    ]
    return {"zones": [{"zone": ".", "scheme": "dns://", "use_tcp": True}], "port": 53, "plugins": plugins}


def _affinity() -> Values:
    """On control planes if there is room, and on different nodes: both are wishes, not conditions."""
    on_control_plane = {"matchExpressions": [{"key": _CONTROL_PLANE, "operator": "Exists"}]}
    apart = {"labelSelector": {"matchLabels": dict(_LABELS)}, "topologyKey": "kubernetes.io/hostname"}
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    return {
        "nodeAffinity": {preferred: [{"weight": 50, "preference": on_control_plane}]},
        "podAntiAffinity": {preferred: [{"weight": 100, "podAffinityTerm": apart}]},
    }


def machine(cluster: Cluster) -> MachineNeeds:
    return MachineNeeds(controlplanes=(no_core_dns(cluster),))


def check(cluster: Cluster) -> Iterator[Finding]:
    if namespace_of(cluster, "coredns") != _NAMESPACE:
        why = "kubelets and health checks expect the Service kube-dns there"
        yield Finding("error", ("addons", "coredns", "namespace"), f"CoreDNS has to be in {_NAMESPACE}", why)
    if cluster.network.svc_cidr.num_addresses <= 10:
        what = f"{cluster.network.svc_cidr} has no tenth address, which kubelets expect CoreDNS at"
        yield Finding("error", ("network", "svc_cidr"), what, fix="choose a larger network")


ADDON = Addon(
    title="Cluster DNS from its chart, instead of Talos' own",
    namespace=_NAMESPACE,
    chart=Chart("oci://ghcr.io/coredns/charts/coredns", {"1.46.2": ">=1.21"}, "coredns"),
    stage="dns",
    values=values,
    machine=machine,
    check=check,
    after=("cilium",),
    rendered_by_tests=False,
)
