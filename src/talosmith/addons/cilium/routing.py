"""How Cilium carries packets: routed as they are where all nodes share a network segment, in tunnels elsewhere."""

from __future__ import annotations

from talosmith.addons.addon import Values
from talosmith.model.cluster import Cluster

_KUBESPAN_MTU = 1420  # of Talos' WireGuard link; the tunnel's own header is subtracted by Cilium


def replaces_kube_proxy(cluster: Cluster) -> bool:
    return cluster.kubernetes.kube_proxy is False


def announces_by_arp(cluster: Cluster) -> bool:
    """Whether nodes answer for the gateways' addresses on their own network; with BGP the router has routes."""
    services = cluster.services
    return services.gateways is not None and services.cilium.bgp is None and replaces_kube_proxy(cluster)


def shares_a_segment(cluster: Cluster) -> bool:
    """Whether every node reaches every other one without a router, so that routes to its pods can point at it."""
    nodes = cluster.network.node_cidr
    if nodes is None or cluster.talos.kubespan or cluster.provider.name == "aws":
        return False
    return all(node.ip in nodes for node in cluster.nodes)


def routing(cluster: Cluster) -> Values:
    pods = cluster.network.pod_cidr
    found: Values = {
        "ipam": {"mode": "kubernetes"},
        "ipv4": {"enabled": pods.version == 4},
        "ipv6": {"enabled": pods.version == 6},
    }
    if shares_a_segment(cluster):
        return found | {
            "routingMode": "native",
            "autoDirectNodeRoutes": True,
            f"ipv{pods.version}NativeRoutingCIDR": str(pods),
        }
    # Direct Server Return goes by Geneve alone in a tunnel.
    tunnel = {"routingMode": "tunnel", "tunnelProtocol": "geneve" if _mode(cluster) == "dsr" else "vxlan"}
    return found | tunnel | ({"MTU": _KUBESPAN_MTU} if cluster.talos.kubespan else {})


def load_balancing(cluster: Cluster) -> Values:
    """The kube-proxy replacement, and what it makes possible."""
    if not replaces_kube_proxy(cluster):
        return {"kubeProxyReplacement": False}
    dispatch = {"dsrDispatch": "geneve"} if _mode(cluster) == "dsr" and not shares_a_segment(cluster) else {}
    found: Values = {
        "kubeProxyReplacement": True,
        "kubeProxyReplacementHealthzBindAddr": "0.0.0.0:10256"
        if cluster.network.pod_cidr.version == 4
        else "[::]:10256",
        # Routed by eBPF alone, packets of pods pass by Talos' host DNS, and CoreDNS gets no answer from it.
        "bpf": {"masquerade": True, "hostLegacyRouting": cluster.talos.host_dns},
        "loadBalancer": {"algorithm": "maglev", "mode": _mode(cluster), **dispatch},
    }
    if len(cluster.nodes) == 1:
        # Connected sockets of pods would stay with the one CoreDNS pod that is restarted.
        found["socketLB"] = {"enabled": True, "hostNamespaceOnly": True}
    return found


def _mode(cluster: Cluster) -> str:
    """In a tunnel DSR only if the inventory says so: not every network passes replies from another node's address."""
    own = cluster.services.cilium
    if "loadbalancer_mode" in own.model_fields_set or shares_a_segment(cluster):
        return own.loadbalancer_mode
    return "snat"
