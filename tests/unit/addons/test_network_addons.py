"""What holds for all network add-ons: pure, in their namespace, secrets as references; and their machine configs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from talosmith import Cluster, load
from talosmith.addons import addon
from talosmith.desired.addon_checks import check_objects
from talosmith.desired.machine import MachineConfigs
from talosmith.desired.machine.check import stand_in_bundle
from talosmith.helm.download import Client
from talosmith.helm.registry_session import Session
from talosmith.model.values import SecretRef
from tests.unit.addons.network_inventories import ALL, HOME, NODES, SINGLE, findings, made, values

NETWORK = {
    "cilium",
    "flannel",
    "coredns",
    "gateway-api",
    "envoy-gateway",
    "k8s-gateway",
    "external-dns",
    "external-dns-unifi",
    "cloudflared",
    "spegel",
    "cert-manager",
}
# Without a namespace of their own.
CLUSTER_WIDE = {
    "ClusterIssuer",
    "GatewayClass",
    "CiliumLoadBalancerIPPool",
    "CiliumL2AnnouncementPolicy",
    "CiliumBGPAdvertisement",
    "CiliumBGPPeerConfig",
    "CiliumBGPClusterConfig",
}
EXAMPLES = Path(__file__).parents[3] / "examples"


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            assert isinstance(key, str), path
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, path)
    else:
        yield path, value


def _check_all(cluster: Cluster) -> set[str]:
    seen = set()
    for name, enabled in cluster.addons.items():
        if name not in NETWORK:
            continue
        seen.add(name)
        known = addon(name)
        first, again = ((known.values(cluster), [*known.objects(cluster)], [*known.config(cluster)]) for _ in "12")
        assert first == again
        for path, leaf in _leaves(first[0]):
            assert isinstance(leaf, str | int | bool), (name, path)  # a secret in values would be in the pods' text
        for one in (*first[1], *first[2]):
            assert ("namespace" in one["metadata"]) is (one["kind"] not in CLUSTER_WIDE), one
            assert one["metadata"].get("namespace", enabled.namespace) == enabled.namespace
            for path, leaf in _leaves(one):
                assert isinstance(leaf, str | int | bool | SecretRef), (name, path)
                assert (one["kind"] == "Secret" and path[0] == "stringData") is isinstance(leaf, SecretRef), path
        check_objects(name, enabled.namespace, [*first[1], *first[2]])
        assert {*known.awaited} <= {one["kind"] for one in first[2]} or cluster.services.gateways is None
    return seen


@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
def test_every_add_on_is_pure_and_has_its_secrets_and_objects_where_they_belong(text: str, tmp_path: Path) -> None:
    assert _check_all(made(tmp_path, text))


def test_no_network_add_on_is_left_out(tmp_path: Path) -> None:
    seen: set[str] = set()
    for text in ALL.values():
        seen |= _check_all(made(tmp_path, text))
    assert seen == NETWORK


def test_the_home_lab_example_has_them_all() -> None:
    cluster = load(EXAMPLES / "homelab")
    assert _check_all(cluster) == NETWORK - {"flannel", "external-dns-unifi"}
    assert cluster.addons["cert-manager"].after == ("cilium", "coredns")
    assert cluster.addons["gateway-api"].reason == "addon envoy-gateway"


def test_the_namespace_is_the_users_choice(tmp_path: Path) -> None:
    own = (
        "addons: {cilium: {namespace: cni}, cert-manager: {namespace: pki}, envoy-gateway: {namespace: edge},"
        " cloudflared: {namespace: tunnel}, external-dns: {namespace: dns}, spegel: true}\n"
    )
    cluster = made(tmp_path, HOME.replace("addons: {coredns: true, spegel: true}\n", own))
    _check_all(cluster)
    assert values(cluster, "cilium")["bgpControlPlane"]["secretsNamespace"]["name"] == "cni"
    assert values(cluster, "cert-manager")["global"]["leaderElection"]["namespace"] == "pki"
    settings = addon("cloudflared").objects(cluster)[1]
    assert "https://envoy-external.edge.svc.cluster.local:443" in settings["data"]["config.yaml"]


@pytest.mark.parametrize("talos", ["v1.9.5", "v1.12.1", "v1.13.9"])
def test_machine_configs_follow(talos: str, tmp_path: Path) -> None:
    header = f"cluster_name: home\ntalos_version: {talos}\nkubernetes_version: v1.32.0\n"
    main = _main(made(tmp_path, HOME, header), "cp-1")
    assert main["cluster"]["network"]["cni"] == {"name": "none"}
    assert main["cluster"]["proxy"]["disabled"] is True
    assert main["cluster"]["coreDNS"]["disabled"] is True
    worker = _main(made(tmp_path, HOME, header), "w-1")
    assert "coreDNS" not in worker["cluster"]
    for machine in (main["machine"], worker["machine"]):
        assert machine["files"] == [
            {
                "op": "create",
                "path": "/etc/cri/conf.d/20-customization.part",
                "content": '[plugins."io.containerd.cri.v1.images"]\n  discard_unpacked_layers = false\n',
            }
        ]
        assert machine["sysctls"] == {"net.core.rmem_max": "7500000", "net.core.wmem_max": "7500000"}


def test_what_the_inventory_says_of_a_sysctl_stays(tmp_path: Path) -> None:
    cluster = made(tmp_path, HOME + "talos: {sysctls: {net.core.rmem_max: '9000000'}}\n")
    assert _main(cluster, "w-1")["machine"]["sysctls"] == {
        "net.core.rmem_max": "9000000",
        "net.core.wmem_max": "7500000",
    }


def test_flannel_leaves_talos_its_own_network(tmp_path: Path) -> None:
    main = _main(made(tmp_path, NODES + "addons: {flannel: true}\n"), "cp-1")
    assert "cni" not in main["cluster"]["network"]
    assert "disabled" not in main["cluster"]["proxy"]


def test_kube_proxy_may_stay_beside_cilium(tmp_path: Path) -> None:
    main = _main(made(tmp_path, NODES + "cilium: {}\nkubernetes: {kube_proxy: true}\n"), "cp-1")
    assert main["cluster"]["network"]["cni"] == {"name": "none"}
    assert "disabled" not in main["cluster"]["proxy"]


def test_two_networks_are_one_too_many(tmp_path: Path) -> None:
    said = findings(tmp_path, NODES + "addons: {flannel: true, cilium: true}\n")
    assert ("error", "flannel and cilium are both a CNI") in said


def test_spegel(tmp_path: Path) -> None:
    said = ("warning", "spegel has no use on a single node")
    assert said in findings(tmp_path, SINGLE + "addons: {spegel: true}\n")
    assert said not in findings(tmp_path, NODES + "addons: {spegel: true}\n")
    cluster = made(tmp_path, NODES + "kubernetes: {dns_domain: home.arpa}\naddons: {spegel: true}\n")
    own = values(cluster, "spegel")
    assert own["clusterDomain"] == "home.arpa."
    assert own["spegel"]["containerdRegistryConfigPath"] == "/etc/cri/conf.d/hosts"
    assert own["spegel"]["prependExisting"] is False
    mirrored = "addons: {spegel: true}\ntalos: {registry_mirrors: {docker.io: ['https://mirror.example.org']}}\n"
    assert values(made(tmp_path, NODES + mirrored), "spegel")["spegel"]["prependExisting"] is True


@pytest.mark.parametrize(
    ("kubernetes", "cilium", "certificates"), [("v1.36.3", "1.20.2", "v1.21.2"), ("v1.30.1", "1.19.7", "v1.18.2")]
)
def test_an_older_kubernetes_gets_older_charts(
    kubernetes: str, cilium: str, certificates: str, tmp_path: Path
) -> None:
    header = f"cluster_name: home\ntalos_version: v1.9.5\nkubernetes_version: {kubernetes}\n"
    if kubernetes > "v1.32":
        header = header.replace("v1.9.5", "v1.13.9")
    addons = made(tmp_path, HOME, header).addons
    pins = {name: one.chart.version for name, one in addons.items() if one.chart is not None}
    assert (pins["cilium"], pins["cert-manager"]) == (cilium, certificates)
    assert pins["gateway-api"] == pins["envoy-gateway"]


def test_docker_io_is_asked_at_the_host_of_its_api() -> None:
    session = Session("docker.io", "envoyproxy/gateway-helm", Mock(spec=Client))
    assert (
        session.url("manifests/v1.9.1") == "https://registry-1.docker.io/v2/envoyproxy/gateway-helm/manifests/v1.9.1"
    )


def _main(cluster: Cluster, name: str) -> Any:
    documents = MachineConfigs(cluster, stand_in_bundle()).render(cluster.node(name)).documents
    return next(one for one in documents if "kind" not in one)
