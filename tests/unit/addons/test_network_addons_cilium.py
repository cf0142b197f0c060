"""Cilium: how packets are carried, who announces addresses, and which addresses Services may get."""

from __future__ import annotations

import random
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from talosmith.addons.cilium.objects import free_ranges
from talosmith.model.values import SecretRef
from tests.unit.addons.network_inventories import AWS, BGP, GATEWAYS, NODES, SINGLE, findings, made, objects, values

DHCP = (
    "proxmox: {node: pve}\ncontrolplane:\n  - {name: cp-1, ip: 10.0.0.10}\nworkers:\n  - {name: w-1, ip: 10.1.0.10}\n"
)
TALOS_ASKS = {
    "ipam": {"mode": "kubernetes"},
    "cgroup": {"autoMount": {"enabled": False}, "hostRoot": "/sys/fs/cgroup"},
}


def _subset(values: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: values[key] for key in keys if key in values}


@pytest.mark.parametrize("text", [NODES, AWS, SINGLE], ids=["segment", "aws", "single"])
def test_what_talos_asks_for(text: str, tmp_path: Path) -> None:
    own = values(made(tmp_path, text + "cilium: {}\n"), "cilium")
    assert TALOS_ASKS.items() <= own.items()
    for granted in own["securityContext"]["capabilities"].values():
        assert "SYS_ADMIN" in granted
        assert "SYS_MODULE" not in granted
    assert own["hubble"] == {"enabled": False, "tls": {"auto": {"method": "cronJob"}}}
    assert own["operator"]["replicas"] == (1 if text == SINGLE else 2)
    assert ("socketLB" in own) is (text == SINGLE)


@pytest.mark.parametrize(
    ("text", "mode", "tunnel", "balancing"),
    [
        (NODES + "cilium: {}\n", "native", None, {"mode": "dsr"}),
        (NODES + "cilium: {loadbalancer_mode: snat}\n", "native", None, {"mode": "snat"}),
        (NODES + "cilium: {}\ntalos: {kubespan: true}\n", "tunnel", "vxlan", {"mode": "snat"}),
        (DHCP + "cilium: {}\n", "tunnel", "vxlan", {"mode": "snat"}),
        (
            DHCP + "cilium: {loadbalancer_mode: dsr}\n",
            "tunnel",
            "geneve",
            {"mode": "dsr", "dsrDispatch": "geneve"},
        ),
        (AWS + "cilium: {}\n", "tunnel", "vxlan", {"mode": "snat"}),
    ],
)
def test_routing(text: str, mode: str, tunnel: str | None, balancing: dict[str, str], tmp_path: Path) -> None:
    own = values(made(tmp_path, text), "cilium")
    assert own["routingMode"] == mode
    assert own.get("tunnelProtocol") == tunnel
    assert own["loadBalancer"] == {"algorithm": "maglev", **balancing}
    direct = {"autoDirectNodeRoutes": True, "ipv4NativeRoutingCIDR": "10.244.0.0/16"}
    assert _subset(own, *direct) == (direct if mode == "native" else {})
    assert own.get("MTU") == (1420 if "kubespan" in text else None)


def test_ipv6_pods(tmp_path: Path) -> None:
    network = "network: {node_cidr: 'fd00:10::/64', pod_cidr: 'fd00:42::/56', svc_cidr: 'fd00:43::/112'}\n"
    own = values(made(tmp_path, network + "libvirt: {}\ncontrolplane: 1\ncilium: {}\n"), "cilium")
    assert (own["ipv4"], own["ipv6"]) == ({"enabled": False}, {"enabled": True})
    assert own["ipv6NativeRoutingCIDR"] == "fd00:42::/56"
    assert own["kubeProxyReplacementHealthzBindAddr"] == "[::]:10256"


def test_the_api_is_reached_by_kube_prism(tmp_path: Path) -> None:
    own = values(made(tmp_path, NODES + "cilium: {}\n"), "cilium")
    assert (own["k8sServiceHost"], own["k8sServicePort"]) == ("localhost", 7445)
    own = values(made(tmp_path, NODES + "cilium: {}\ntalos: {kube_prism: false}\n"), "cilium")
    assert (own["k8sServiceHost"], own["k8sServicePort"]) == ("10.0.0.100", 6443)
    said = findings(tmp_path, AWS + "cilium: {}\ntalos: {kube_prism: false}\n")
    assert ("error", "Cilium cannot reach the Kubernetes API without KubePrism") in said


@pytest.mark.parametrize("host_dns", [True, False])
def test_host_dns_is_reached_by_pods(host_dns: bool, tmp_path: Path) -> None:
    own = values(made(tmp_path, f"{NODES}cilium: {{}}\ntalos: {{host_dns: {str(host_dns).lower()}}}\n"), "cilium")
    assert own["bpf"] == {"masquerade": True, "hostLegacyRouting": host_dns}


def test_beside_kube_proxy(tmp_path: Path) -> None:
    keep = "kubernetes: {kube_proxy: true}\n"
    own = values(made(tmp_path, NODES + "cilium: {}\n" + keep), "cilium")
    assert own["kubeProxyReplacement"] is False
    assert not {"loadBalancer", "bpf", "kubeProxyReplacementHealthzBindAddr"} & own.keys()
    said = findings(tmp_path, NODES + GATEWAYS + "domain: example.org\ncilium: {loadbalancer_mode: dsr}\n" + keep)
    assert ("error", "the addresses of `gateways` are not announced while kube-proxy runs") in said
    assert ("warning", "`cilium.loadbalancer_mode` has no effect while kube-proxy runs") in said


def test_dsr_does_not_work_on_aws(tmp_path: Path) -> None:
    said = ("error", "Direct Server Return does not work on AWS")
    assert said in findings(tmp_path, AWS + "cilium: {loadbalancer_mode: dsr}\n")
    assert said not in findings(tmp_path, AWS + "cilium: {}\n")


def test_the_pool_has_the_gateways_addresses_alone(tmp_path: Path) -> None:
    cluster = made(tmp_path, NODES + GATEWAYS + "domain: example.org\ncilium: {}\n")
    assert values(cluster, "cilium")["l2announcements"] == {"enabled": True}
    assert values(cluster, "cilium")["bgpControlPlane"]["enabled"] is False
    found = objects(cluster, "cilium")
    assert found.keys() == {
        ("CiliumLoadBalancerIPPool", "gateways"),
        ("CiliumL2AnnouncementPolicy", "gateways"),
    }
    pool = found["CiliumLoadBalancerIPPool", "gateways"]
    assert pool["apiVersion"] == "cilium.io/v2"
    assert pool["spec"]["blocks"] == [
        {"start": one, "stop": one} for one in ("10.0.0.201", "10.0.0.202", "10.0.0.203")
    ]
    assert pool["spec"]["serviceSelector"] == {
        "matchExpressions": [{"key": "io.kubernetes.service.namespace", "operator": "In", "values": ["network"]}]
    }
    policy = found["CiliumL2AnnouncementPolicy", "gateways"]
    assert (policy["apiVersion"], policy["spec"]) == ("cilium.io/v2alpha1", {"loadBalancerIPs": True})


def test_nothing_is_announced_without_gateways(tmp_path: Path) -> None:
    cluster = made(tmp_path, NODES + "cilium: {}\n")
    assert objects(cluster, "cilium") == {}
    assert values(cluster, "cilium")["l2announcements"] == {"enabled": False}


def test_bgp(tmp_path: Path) -> None:
    cluster = made(tmp_path, BGP)
    own = values(cluster, "cilium")
    assert own["l2announcements"] == {"enabled": False}
    assert own["bgpControlPlane"] == {"enabled": True, "secretsNamespace": {"name": "kube-system"}}
    found = objects(cluster, "cilium")
    assert [kind for kind, _ in found] == [
        "Secret",
        "CiliumLoadBalancerIPPool",
        "CiliumLoadBalancerIPPool",
        "CiliumBGPAdvertisement",
        "CiliumBGPPeerConfig",
        "CiliumBGPClusterConfig",
    ]
    secret = found["Secret", "cilium-bgp-router"]
    assert secret["stringData"] == {"password": SecretRef("env", "BGP_PASSWORD")}
    assert {one["apiVersion"] for one in found.values()} == {"v1", "cilium.io/v2"}
    peer = found["CiliumBGPPeerConfig", "router"]["spec"]
    assert peer["authSecretRef"] == secret["metadata"]["name"]
    assert peer["timers"] == {"holdTimeSeconds": 45, "keepAliveTimeSeconds": 15}
    assert peer["gracefulRestart"] == {"enabled": True, "restartTimeSeconds": 120}
    (family,) = peer["families"]
    assert (family["afi"], family["safi"]) == ("ipv4", "unicast")
    advertised = found["CiliumBGPAdvertisement", "services"]
    assert family["advertisements"]["matchLabels"] == advertised["metadata"]["labels"]
    (instance,) = found["CiliumBGPClusterConfig", "router"]["spec"]["bgpInstances"]
    assert instance["localASN"] == 64513
    assert instance["peers"] == [
        {
            "name": "router",
            "peerASN": 64512,
            "peerAddress": "10.0.0.1",
            "peerConfigRef": {"name": "router"},
        }
    ]


def test_no_pool_covers_nodes_router_or_vip(tmp_path: Path) -> None:
    """The router is in the network that Services get addresses of; the gateway's address is in the other pool."""
    found = objects(made(tmp_path, BGP.replace("router_addr: 10.0.0.1,", "router_addr: 10.9.0.1,")), "cilium")
    assert found["CiliumLoadBalancerIPPool", "gateways"]["spec"]["blocks"] == [
        {"start": "10.9.0.10", "stop": "10.9.0.10"}
    ]
    assert found["CiliumLoadBalancerIPPool", "services"]["spec"]["blocks"] == [
        {"start": "10.9.0.2", "stop": "10.9.0.9"},
        {"start": "10.9.0.11", "stop": "10.9.0.14"},
    ]


def test_ranges_are_all_that_is_free() -> None:
    chance = random.Random(17)  # noqa: S311
    for prefix in (24, 28, 29, 30, 31, 32):
        network = ip_network(f"10.9.0.0/{prefix}")
        hosts = {*network.hosts()} if prefix < 31 else {*network}
        for _ in range(40):
            taken = {ip_address(int(network[0]) + chance.randrange(-3, network.num_addresses + 3)) for _ in range(6)}
            found = []
            for first, last in free_ranges(network, taken):
                assert first <= last
                found += [ip_address(number) for number in range(int(first), int(last) + 1)]
            assert len(found) == len({*found})
            assert {*found} == hosts - taken


def test_settings_of_the_router_are_not_ciliums(tmp_path: Path) -> None:
    said = findings(tmp_path, BGP.replace("hold_time: 45,", "hold_time: 45, ecmp_max_paths: 4,"))
    assert [what for severity, what in said if severity == "warning" and "decided by the router" in what]
    assert not [what for _, what in findings(tmp_path, BGP) if "decided by the router" in what]
