"""DNS, inside and outside of the cluster, and the tunnel that records lead to."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from talosmith.inventory import check
from talosmith.model.values import SecretRef
from tests.unit.addons.network_inventories import (
    GATEWAYS,
    HOME,
    NODES,
    SINGLE,
    UNIFI,
    findings,
    made,
    objects,
    values,
    written,
)

CLOUDFLARE = "domain: example.org\ndns: {provider: cloudflare, token: 'sops:cloudflare.token', internal: none}\n"


def test_coredns_has_the_names_of_talos_own(tmp_path: Path) -> None:
    network = "network: {node_cidr: 10.0.0.0/24, svc_cidr: 10.43.0.0/16}\nlibvirt: {}\ncontrolplane: 1\nworkers: 2\n"
    cluster = made(tmp_path, network + "kubernetes: {dns_domain: home.arpa}\naddons: {coredns: true}\n")
    own = values(cluster, "coredns")
    assert (own["fullnameOverride"], own["k8sAppLabelOverride"], own["replicaCount"]) == ("coredns", "kube-dns", 2)
    selector = {"k8s-app": "kube-dns"}
    assert own["service"] == {"name": "kube-dns", "clusterIP": "10.43.0.10", "selector": selector}
    assert own["deployment"] == {"selector": {"matchLabels": selector}}
    (server,) = own["servers"]
    plugins = {one["name"]: one for one in server["plugins"]}
    assert plugins["kubernetes"]["parameters"].split()[0] == "home.arpa"
    assert "pods verified" in plugins["kubernetes"]["configBlock"]
    assert "autopath" in plugins
    tolerated = {one["key"] for one in own["tolerations"]}
    assert {"node-role.kubernetes.io/control-plane", "node.cloudprovider.kubernetes.io/uninitialized"} <= tolerated
    assert cluster.addons["coredns"].stage == "dns"


def test_coredns_on_a_single_node_and_elsewhere(tmp_path: Path) -> None:
    assert values(made(tmp_path, SINGLE + "addons: {coredns: true}\n"), "coredns")["replicaCount"] == 1
    said = findings(tmp_path, SINGLE + "addons: {coredns: {namespace: dns}}\n")
    assert ("error", "CoreDNS has to be in kube-system") in said


def test_k8s_gateway_answers_at_its_address(tmp_path: Path) -> None:
    own = values(made(tmp_path, HOME), "k8s-gateway")
    assert own["domain"] == "example.org"
    assert own["watchedResources"] == ["HTTPRoute", "Service"]
    assert own["service"]["annotations"] == {"lbipam.cilium.io/ips": "10.0.0.203"}
    assert own["service"]["externalTrafficPolicy"] == "Cluster"
    plain = values(made(tmp_path, NODES + GATEWAYS + "domain: example.org\n"), "k8s-gateway")
    assert plain["service"]["loadBalancerIP"] == "10.0.0.203"
    assert "annotations" not in plain["service"]


def test_k8s_gateway_needs_a_domain(tmp_path: Path) -> None:
    said = findings(tmp_path, NODES + GATEWAYS + "cilium: {}\n")
    assert ("error", "k8s-gateway needs the domain that it answers for") in said


def test_public_records_are_of_the_external_gateway(tmp_path: Path) -> None:
    cluster = made(tmp_path, HOME)
    own = values(cluster, "external-dns")
    assert own["sources"] == ["crd", "gateway-httproute"]
    assert own["extraArgs"]["gateway-name"] == "envoy-external"
    assert (own["policy"], own["txtOwnerId"], own["domainFilters"]) == ("sync", "home", ["example.org"])
    (token,) = own["env"]
    reference = token["valueFrom"]["secretKeyRef"]
    secret = objects(cluster, "external-dns")["Secret", reference["name"]]
    assert secret["stringData"] == {reference["key"]: SecretRef("sops", "cloudflare.token")}


def test_internal_routes_are_never_public(tmp_path: Path) -> None:
    text = NODES + CLOUDFLARE + "gateways: {internal: 10.0.0.201}\ncilium: {}\naddons: {external-dns: true}\n"
    own = values(made(tmp_path, text), "external-dns")
    assert own["sources"] == ["crd"]
    assert "gateway-name" not in own["extraArgs"]


def test_a_token_for_certificates_brings_no_public_records(tmp_path: Path) -> None:
    text = NODES + CLOUDFLARE + GATEWAYS + "cilium: {}\n"
    assert "external-dns" not in made(tmp_path, text).addons
    assert made(tmp_path, text + "ingress: {mode: direct}\n").addons["external-dns"].reason == "ingress.mode"
    said = findings(tmp_path, NODES + "addons: {external-dns: true}\n")
    assert ("error", "external-dns has no DNS provider") in said


@pytest.mark.parametrize("name", ["external-dns", "cloudflared"])
def test_reloader_restarts_what_reads_a_secret_once(name: str, tmp_path: Path) -> None:
    reloader = "addons: {reloader: {chart: ./reloader, namespace: kube-system}, "
    for text, expected in ((HOME, False), (HOME.replace("addons: {", reloader), True)):
        cluster = made(tmp_path, text)
        if name == "cloudflared":
            annotations = objects(cluster, name)["Deployment", name]["metadata"].get("annotations", {})
        else:
            annotations = values(cluster, name).get("deploymentAnnotations", {})
        assert ("reloader.stakater.com/auto" in annotations) is expected


def test_unifi(tmp_path: Path) -> None:
    cluster = made(tmp_path, UNIFI)
    assert "k8s-gateway" not in cluster.addons
    own = values(cluster, "external-dns-unifi")
    assert own["provider"]["name"] == "webhook"
    assert own["extraArgs"] == {"gateway-name": "envoy-internal"}
    assert own["txtPrefix"] == "k8s.unifi."
    settings = {one["name"]: one.get("value") for one in own["provider"]["webhook"]["env"]}
    assert settings == {
        "UNIFI_HOST": "https://unifi.example.org",
        "UNIFI_SITE": "attic",
        "UNIFI_EXTERNAL_CONTROLLER": "true",
        "UNIFI_SKIP_TLS_VERIFY": "false",
        "UNIFI_API_KEY": None,
    }
    secret = objects(cluster, "external-dns-unifi")["Secret", "external-dns-unifi"]
    assert secret["stringData"] == {"api-key": SecretRef("sops", "unifi.key")}


def test_the_certificate_of_a_unifi_controller_is_verified_where_it_can_be(tmp_path: Path) -> None:
    said = ("warning", "the certificate of the UniFi controller is not verified")
    assert said not in findings(tmp_path, UNIFI)
    text = UNIFI.replace("unifi.example.org", "192.168.1.1")
    assert said in findings(tmp_path, text)
    settings = values(made(tmp_path, text), "external-dns-unifi")["provider"]["webhook"]["env"]
    assert {"name": "UNIFI_SKIP_TLS_VERIFY", "value": "true"} in settings
    assert said not in findings(tmp_path, text.replace("https:", "http:"))
    without = NODES + "addons: {external-dns-unifi: true}\n"
    assert ("error", "external-dns-unifi has no controller") in findings(tmp_path, without)


def test_the_tunnel_leads_to_the_external_gateway(tmp_path: Path) -> None:
    found = objects(made(tmp_path, HOME), "cloudflared")
    assert found["Secret", "cloudflared"]["stringData"] == {"TUNNEL_TOKEN": SecretRef("sops", "cloudflare.tunnel")}
    rules = yaml.safe_load(found["ConfigMap", "cloudflared"]["data"]["config.yaml"])["ingress"]
    assert [one.get("hostname") for one in rules] == ["example.org", "*.example.org", None]
    for rule in rules[:2]:
        assert rule["service"] == "https://envoy-external.network.svc.cluster.local:443"
        assert rule["originRequest"] == {"originServerName": "external.example.org", "http2Origin": True}
    assert rules[2] == {"service": "http_status:404"}
    (record,) = found["DNSEndpoint", "cloudflared"]["spec"]["endpoints"]
    assert record["dnsName"] == "external.example.org"
    assert record["targets"] == ["3f0c6a52-8d3e-4b8a-9c55-7e1f2d6b9a40.cfargotunnel.com"]


def test_without_certificates_the_tunnel_speaks_http(tmp_path: Path) -> None:
    text = HOME.replace("addons: {", "addons: {cert-manager: false, ")
    rules = objects(made(tmp_path, text), "cloudflared")["ConfigMap", "cloudflared"]["data"]["config.yaml"]
    assert yaml.safe_load(rules)["ingress"][0]["service"] == "http://envoy-external.network.svc.cluster.local:80"


def test_pods_of_the_tunnel(tmp_path: Path) -> None:
    deployment = objects(made(tmp_path, HOME), "cloudflared")["Deployment", "cloudflared"]
    pod = deployment["spec"]["template"]
    (container,) = pod["spec"]["containers"]
    assert ":" in container["image"]
    assert not container["image"].endswith(":latest")
    assert container["envFrom"] == [{"secretRef": {"name": "cloudflared"}}]
    assert container["args"][2].startswith(container["volumeMounts"][0]["mountPath"])
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert deployment["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    other = objects(made(tmp_path, HOME.replace("example.org", "example.net")), "cloudflared")
    restarted = other["Deployment", "cloudflared"]["spec"]["template"]["metadata"]["annotations"]
    assert restarted != pod["metadata"]["annotations"]


def test_no_record_without_the_tunnels_id(tmp_path: Path) -> None:
    said = ("warning", "no DNS record leads to the tunnel: external.example.org is not created")
    assert said not in findings(tmp_path, HOME)
    text = HOME.replace(" tunnel_id: 3f0c6a52-8d3e-4b8a-9c55-7e1f2d6b9a40", "")
    assert ("DNSEndpoint", "cloudflared") not in objects(made(tmp_path, text), "cloudflared")
    assert said in findings(tmp_path, text)


@pytest.mark.parametrize(
    "wrong", ["home-tunnel", "3F0C6A52-8D3E-4B8A-9C55-7E1F2D6B9A40", "3f0c6a528d3e4b8a9c557e1f2d6b9a40"]
)
def test_the_id_of_a_tunnel_is_a_uuid(wrong: str, tmp_path: Path) -> None:
    report = check(written(tmp_path, HOME.replace("3f0c6a52-8d3e-4b8a-9c55-7e1f2d6b9a40", wrong)))
    assert not report.valid


def test_a_tunnel_to_nowhere(tmp_path: Path) -> None:
    said = findings(tmp_path, NODES + "addons: {cloudflared: true}\n")
    assert ("error", "cloudflared has no tunnel") in said
    tunnel = "ingress: {mode: cloudflare-tunnel, tunnel: 'sops:cloudflare.tunnel'}\n"
    assert ("error", "the tunnel leads nowhere") in findings(tmp_path, NODES + CLOUDFLARE + tunnel)
