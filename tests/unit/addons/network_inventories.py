"""Inventories that the network add-ons are tested with, from a home lab to AWS."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from talosmith import Cluster, load
from talosmith.addons import addon
from talosmith.addons.addon import Object
from talosmith.inventory import check

HEADER = "cluster_name: home\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\n"
NODES = "network: {node_cidr: 10.0.0.0/24, vip: 10.0.0.100}\nlibvirt: {}\ncontrolplane: 3\n"
GATEWAYS = "gateways: {internal: 10.0.0.201, external: 10.0.0.202, dns: 10.0.0.203}\n"
HOME = (
    NODES + GATEWAYS + "workers: 1\ndomain: example.org\ncilium: {}\n"
    "dns: {provider: cloudflare, token: 'sops:cloudflare.token'}\n"
    "ingress: {mode: cloudflare-tunnel, tunnel: 'sops:cloudflare.tunnel',"
    " tunnel_id: 3f0c6a52-8d3e-4b8a-9c55-7e1f2d6b9a40}\n"
    "addons: {coredns: true, spegel: true}\n"
)
UNIFI = (
    NODES + "domain: example.org\ngateways: {internal: 10.0.0.201}\ncilium: {}\ndns: {internal: unifi}\n"
    "unifi: {host: 'https://unifi.example.org', api_key: 'sops:unifi.key', site: attic, external_controller: true}\n"
)
BGP = (
    NODES + "gateways: {internal: 10.9.0.10}\ndns: {internal: none}\ncilium:\n"
    "  bgp: {router_addr: 10.0.0.1, router_asn: 64512, node_asn: 64513, lb_pool_cidr: 10.9.0.0/28,"
    " password: 'env:BGP_PASSWORD', hold_time: 45, keepalive_time: 15, graceful_restart: true}\n"
)
AWS = "aws: {region: eu-central-1, azs: [eu-central-1a, eu-central-1b]}\ncontrolplane: 1\nworkers: 2\n"
SINGLE = "network: {node_cidr: 10.0.0.0/24}\nlibvirt: {}\ncontrolplane: 1\n"

ALL = {
    "home": HOME,
    "unifi": UNIFI,
    "bgp": BGP,
    "aws": AWS + "cilium: {}\naddons: {coredns: true, cert-manager: true}\n",
    "single": SINGLE + "addons: {cilium: true, coredns: true, cert-manager: true, gateway-api: true}\n",
    "flannel": NODES + GATEWAYS + "domain: example.org\naddons: {flannel: true}\n",
}


def written(folder: Path, text: str, header: str = HEADER) -> Path:
    (folder / "cluster.yaml").write_text(header + text)
    return folder


def made(folder: Path, text: str, header: str = HEADER) -> Cluster:
    return load(written(folder, text, header))


def findings(folder: Path, text: str) -> list[tuple[str, str]]:
    """Severity and first sentence of what is said about an inventory."""
    return [(one.severity, one.what) for one in check(written(folder, text)).problems]


def values(cluster: Cluster, name: str) -> dict[str, Any]:
    return addon(name).values(cluster)


def objects(cluster: Cluster, name: str) -> dict[tuple[str, str], Object]:
    """Objects and config of an add-on by kind and name."""
    known = addon(name)
    return {(one["kind"], one["metadata"]["name"]): one for one in (*known.objects(cluster), *known.config(cluster))}
