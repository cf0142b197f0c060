"""Gateways: where they are, what certificates they serve, and who signs these."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talosmith.model.values import SecretRef
from tests.unit.addons.network_inventories import (
    BGP,
    GATEWAYS,
    HOME,
    NODES,
    SINGLE,
    UNIFI,
    findings,
    made,
    objects,
    values,
)

DNS = "external-dns.alpha.kubernetes.io"


def _listeners(gateway: dict[str, Any]) -> dict[str, tuple[int, str]]:
    return {
        one["name"]: (one["port"], one["allowedRoutes"]["namespaces"]["from"]) for one in gateway["spec"]["listeners"]
    }


def test_two_gateways_with_a_certificate_at_their_addresses(tmp_path: Path) -> None:
    found = objects(made(tmp_path, HOME), "envoy-gateway")
    for name, address in (("internal", "10.0.0.201"), ("external", "10.0.0.202")):
        gateway = found["Gateway", f"envoy-{name}"]
        assert _listeners(gateway) == {"http": (80, "Same"), "https": (443, "All")}
        assert "addresses" not in gateway["spec"]
        assert gateway["spec"]["infrastructure"]["annotations"] == {
            "lbipam.cilium.io/ips": address,
            f"{DNS}/hostname": f"{name}.example.org",
        }
        assert gateway["metadata"]["annotations"] == {f"{DNS}/target": f"{name}.example.org"}
        (reference,) = gateway["spec"]["listeners"][1]["tls"]["certificateRefs"]
        assert ("Certificate", reference["name"]) in found
    certificate = found["Certificate", "example-org-tls"]["spec"]
    assert certificate["secretName"] == "example-org-tls"
    assert certificate["dnsNames"] == ["example.org", "*.example.org"]
    assert certificate["issuerRef"]["name"] == "letsencrypt-production"
    redirect = found["HTTPRoute", "https-redirect"]["spec"]
    assert [(one["name"], one["sectionName"]) for one in redirect["parentRefs"]] == [
        ("envoy-internal", "http"),
        ("envoy-external", "http"),
    ]
    parameters = found["GatewayClass", "envoy"]["spec"]["parametersRef"]
    assert (parameters["kind"], parameters["name"], parameters["namespace"]) == ("EnvoyProxy", "envoy", "network")


def test_proxies_answer_on_every_node(tmp_path: Path) -> None:
    own = objects(made(tmp_path, HOME), "envoy-gateway")["EnvoyProxy", "envoy"]["spec"]["provider"]["kubernetes"]
    assert own == {"envoyDeployment": {"replicas": 2}, "envoyService": {"externalTrafficPolicy": "Cluster"}}


def test_policies_are_for_our_gateways(tmp_path: Path) -> None:
    found = objects(made(tmp_path, UNIFI), "envoy-gateway")
    client, backend = found["ClientTrafficPolicy", "envoy"]["spec"], found["BackendTrafficPolicy", "envoy"]["spec"]
    for policy in (client, backend):
        assert [one["name"] for one in policy["targetRefs"]] == ["envoy-internal"]
    assert client["clientIPDetection"] == {"xForwardedFor": {"trustedCIDRs": ["10.244.0.0/16"]}}
    assert backend["timeout"] == {"http": {"requestTimeout": "0s"}}


def test_no_external_gateway_without_its_address(tmp_path: Path) -> None:
    found = objects(made(tmp_path, UNIFI), "envoy-gateway")
    assert [name for kind, name in found if kind == "Gateway"] == ["envoy-internal"]
    assert [one["name"] for one in found["HTTPRoute", "https-redirect"]["spec"]["parentRefs"]] == ["envoy-internal"]


def test_without_a_domain_there_is_http_alone(tmp_path: Path) -> None:
    cluster = made(tmp_path, BGP)
    assert "cert-manager" not in cluster.addons
    found = objects(cluster, "envoy-gateway")
    assert _listeners(found["Gateway", "envoy-internal"]) == {"http": (80, "All")}
    assert not [kind for kind, _ in found if kind in ("Certificate", "HTTPRoute")]
    assert "tls" not in found["ClientTrafficPolicy", "envoy"]["spec"]
    assert ("warning", "the gateways serve HTTP alone") in findings(tmp_path, BGP)
    assert "the gateways serve HTTP alone" not in {what for _, what in findings(tmp_path, HOME)}


def test_without_cilium_the_address_is_the_gateways_own(tmp_path: Path) -> None:
    text = NODES + GATEWAYS + "domain: example.org\n"
    gateway = objects(made(tmp_path, text), "envoy-gateway")["Gateway", "envoy-internal"]["spec"]
    assert gateway["addresses"] == [{"type": "IPAddress", "value": "10.0.0.201"}]
    assert "lbipam.cilium.io/ips" not in gateway["infrastructure"]["annotations"]
    assert ("warning", "no add-on announces the addresses of the gateways") in findings(tmp_path, text)


def test_gateways_bring_what_they_need(tmp_path: Path) -> None:
    cluster = made(tmp_path, HOME)
    assert cluster.addons["gateway-api"].reason == "addon envoy-gateway"
    assert cluster.addons["cert-manager"].reason == "domain"
    assert {"cert-manager", "gateway-api", "cilium"} <= {*cluster.addons["envoy-gateway"].after}


def test_crds_are_installed_once(tmp_path: Path) -> None:
    cluster = made(tmp_path, HOME)
    assert values(cluster, "gateway-api")["crds"] == {
        "gatewayAPI": {"enabled": True, "channel": "standard"},
        "envoyGateway": {"enabled": True},
    }
    assert values(cluster, "envoy-gateway")["crds"] == {"enabled": False}
    alone = made(tmp_path, SINGLE + "addons: {gateway-api: true}\n")
    assert values(alone, "gateway-api")["crds"]["envoyGateway"] == {"enabled": False}


def test_an_envoy_gateway_without_gateways(tmp_path: Path) -> None:
    text = SINGLE + "addons: {envoy-gateway: true}\n"
    assert {kind for kind, _ in objects(made(tmp_path, text), "envoy-gateway")} == {"EnvoyProxy", "GatewayClass"}
    assert ("warning", "envoy-gateway is installed without a Gateway") in findings(tmp_path, text)


def test_certificates_by_lets_encrypt(tmp_path: Path) -> None:
    cluster = made(tmp_path, HOME)
    own = values(cluster, "cert-manager")
    assert own["crds"] == {"enabled": True}
    assert own["dns01RecursiveNameserversOnly"] is True
    found = objects(cluster, "cert-manager")
    assert found.keys() == {("Secret", "cloudflare-api-token"), ("ClusterIssuer", "letsencrypt-production")}
    token = found["Secret", "cloudflare-api-token"]
    assert token["stringData"] == {"api-token": SecretRef("sops", "cloudflare.token")}
    acme = found["ClusterIssuer", "letsencrypt-production"]["spec"]["acme"]
    assert "email" not in acme
    (solver,) = acme["solvers"]
    assert solver == {
        "dns01": {"cloudflare": {"apiTokenSecretRef": {"name": "cloudflare-api-token", "key": "api-token"}}},
        "selector": {"dnsZones": ["example.org"]},
    }


@pytest.mark.parametrize("text", [UNIFI, SINGLE + "addons: {cert-manager: true}\n"])
def test_certificates_by_a_ca_of_the_cluster(text: str, tmp_path: Path) -> None:
    cluster = made(tmp_path, text)
    assert "dns01RecursiveNameservers" not in values(cluster, "cert-manager")
    found = objects(cluster, "cert-manager")
    assert [*found] == [
        ("ClusterIssuer", "selfsigned"),
        ("Certificate", "internal-ca"),
        ("ClusterIssuer", "internal-ca"),
    ]
    authority = found["Certificate", "internal-ca"]["spec"]
    assert authority["isCA"] is True
    assert authority["issuerRef"]["name"] == "selfsigned"
    assert found["ClusterIssuer", "internal-ca"]["spec"] == {"ca": {"secretName": authority["secretName"]}}
    if text == UNIFI:
        certificate = objects(cluster, "envoy-gateway")["Certificate", "example-org-tls"]
        assert certificate["spec"]["issuerRef"]["name"] == "internal-ca"
