"""The values of network add-ons, by the charts themselves: no key that a chart ignores, and what it makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from talosmith import Cluster
from talosmith.addons import addon
from talosmith.helm import Release, Rendered, capabilities, yaml_in
from talosmith.helm.chart import overlaid
from talosmith.helm.folder import read
from talosmith.helm.renderer import render_files
from talosmith.model.values import SecretRef
from tests.unit.addons.network_inventories import ALL, made
from tools.peers import PeerUnavailable
from tools.peers.helm_recipes import CHARTS, find_chart

CHART_OF = {
    "cilium": "cilium",
    "cert-manager": "cert-manager",
    "external-dns": "external-dns",
    "external-dns-unifi": "external-dns",
    "gateway-api": "gateway-crds-helm",
    "envoy-gateway": "gateway-helm",
    "spegel": "spegel",
}
# Free text of the chart's program: what stands below is checked by the program, not by the chart.
FREE = {("envoy-gateway", ("config", "envoyGateway", "provider"))}
Keys = tuple[str, ...]


def _chart(name: str) -> Path:
    for module in CHARTS:
        if CHART_OF[name] in module.names and "bitnami" not in module.module:
            try:
                return find_chart(module, CHART_OF[name])
            except PeerUnavailable as problem:
                pytest.skip(str(problem))
    raise LookupError(name)


def _rendered(cluster: Cluster, name: str, values: dict[str, Any]) -> Rendered:
    release = Release(name, cluster.addons[name].namespace)
    kubernetes = capabilities(str(cluster.kubernetes_version))
    return render_files(read(_chart(name)), release, yaml_in.as_values(values), kubernetes)


def _texts(cluster: Cluster, name: str, values: dict[str, Any]) -> list[str]:
    rendered = _rendered(cluster, name, values)
    return [one.text for one in (*rendered.crds, *rendered.objects, *rendered.hooks)]


def _unknown(ours: dict[str, Any], charts: dict[str, Any], name: str, path: Keys = ()) -> Iterator[Keys]:
    """Keys that the chart's values.yaml does not have. Where it has an empty mapping, any key is good."""
    for key, value in ours.items():
        here = (*path, key)
        if key not in charts:
            yield here
        elif isinstance(value, dict) and isinstance(charts[key], dict) and charts[key] and (name, here) not in FREE:
            yield from _unknown(value, charts[key], name, here)


def _without(values: dict[str, Any], path: Keys) -> dict[str, Any]:
    found = deepcopy(values)
    below = found
    for key in path[:-1]:
        below = below[key]
    del below[path[-1]]
    return found


@pytest.mark.parametrize("case", ALL)
def test_the_charts_know_every_key(case: str, tmp_path: Path) -> None:
    """A key that values.yaml has in a comment alone has to change what is rendered."""
    cluster = made(tmp_path, ALL[case])
    for name in CHART_OF.keys() & cluster.addons.keys():
        ours = addon(name).values(cluster)
        charts = yaml.safe_load((_chart(name) / "values.yaml").read_text())
        expected = _texts(cluster, name, ours)
        assert expected
        for path in _unknown(ours, charts, name):
            assert _texts(cluster, name, _without(ours, path)) != expected, f"{name} does not read {'.'.join(path)}"


def test_a_wrong_key_would_be_found(tmp_path: Path) -> None:
    """`cgroup.automount`, as it stands in many repositories, is ignored by the chart."""
    cluster = made(tmp_path, ALL["home"])
    charts = yaml.safe_load((_chart("cilium") / "values.yaml").read_text())
    wrong = overlaid(addon("cilium").values(cluster), {"cgroup": {"automount": {"enabled": False}}})
    (path,) = set(_unknown(wrong, charts, "cilium")) - set(
        _unknown(addon("cilium").values(cluster), charts, "cilium")
    )
    assert path == ("cgroup", "automount")
    assert _texts(cluster, "cilium", _without(wrong, path)) == _texts(cluster, "cilium", wrong)


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("home", {"routing-mode": "native", "ipv4-native-routing-cidr": "10.244.0.0/16", "bpf-lb-mode": "dsr"}),
        ("aws", {"routing-mode": "tunnel", "tunnel-protocol": "vxlan", "bpf-lb-mode": "snat"}),
        ("bgp", {"enable-bgp-control-plane": "true", "bgp-secrets-namespace": "kube-system"}),
        ("single", {"bpf-lb-sock-hostns-only": "true"}),
    ],
)
def test_cilium(case: str, expected: dict[str, str], tmp_path: Path) -> None:
    cluster = made(tmp_path, ALL[case])
    objects = [one.content for one in _rendered(cluster, "cilium", addon("cilium").values(cluster)).objects]
    by_name = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    settings = by_name["ConfigMap", "cilium-config"]["data"]
    assert expected.items() <= settings.items()
    assert settings["kube-proxy-replacement"] == "true"
    assert settings["enable-host-legacy-routing"] == "true"
    assert ("enable-l2-announcements" in settings) is (case == "home")
    pod = by_name["DaemonSet", "cilium"]["spec"]["template"]["spec"]
    assert "mount-cgroup" not in {one["name"] for one in pod["initContainers"]}
    for container in (*pod["initContainers"], *pod["containers"]):
        granted = (container.get("securityContext") or {}).get("capabilities", {}).get("add", [])
        assert "SYS_MODULE" not in granted
    (agent,) = (one for one in pod["containers"] if one["name"] == "cilium-agent")
    assert {"name": "KUBERNETES_SERVICE_PORT", "value": "7445"} in agent["env"]
    assert by_name["Deployment", "cilium-operator"]["spec"]["replicas"] == (1 if case == "single" else 2)


def test_hubble_renders_the_same_every_time(tmp_path: Path) -> None:
    cluster = made(tmp_path, ALL["home"])
    hubble = {"hubble": {"enabled": True, "relay": {"enabled": True}, "ui": {"enabled": True}}}
    values = overlaid(addon("cilium").values(cluster), hubble)
    first, second = _rendered(cluster, "cilium", values), _rendered(cluster, "cilium", values)
    assert "hubble-relay" in {one.name for one in first.objects}
    assert [one.text for one in first.objects] == [one.text for one in second.objects]
    assert not [one.name for one in first.objects if one.kind == "Secret"]


def test_external_dns_runs_with_these_arguments(tmp_path: Path) -> None:
    cluster = made(tmp_path, ALL["home"])
    rendered = _rendered(cluster, "external-dns", addon("external-dns").values(cluster))
    (deployment,) = (one.content for one in rendered.objects if one.kind == "Deployment")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {
        "--provider=cloudflare",
        "--cloudflare-proxied",
        "--gateway-name=envoy-external",
        "--source=crd",
        "--source=gateway-httproute",
        "--policy=sync",
        "--txt-owner-id=home",
    } <= {*container["args"]}


def test_the_webhook_of_unifi_runs_beside_external_dns(tmp_path: Path) -> None:
    cluster = made(tmp_path, ALL["unifi"])
    rendered = _rendered(cluster, "external-dns-unifi", addon("external-dns-unifi").values(cluster))
    (deployment,) = (one.content for one in rendered.objects if one.kind == "Deployment")
    assert deployment["metadata"]["name"] == "external-dns-unifi"
    containers = {one["name"]: one for one in deployment["spec"]["template"]["spec"]["containers"]}
    assert containers["webhook"]["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert containers["webhook"]["image"].startswith("ghcr.io/kashalls/external-dns-unifi-webhook:v")


def test_envoy_gateway_brings_no_crds(tmp_path: Path) -> None:
    cluster = made(tmp_path, ALL["home"])
    rendered = _rendered(cluster, "envoy-gateway", addon("envoy-gateway").values(cluster))
    assert not rendered.crds
    assert "CustomResourceDefinition" not in {one.kind for one in rendered.objects}
    (settings,) = (one.content for one in rendered.objects if one.name == "envoy-gateway-config")
    provider = yaml.safe_load(settings["data"]["envoy-gateway.yaml"])["provider"]
    assert provider["kubernetes"]["deploy"] == {"type": "GatewayNamespace"}


def _schemas(folder: Path) -> dict[tuple[str, str], tuple[dict[str, Any], bool]]:
    """Of the CRDs in charts: by API version and kind, and whether objects have a namespace."""
    found = {}
    cluster = made(folder, ALL["home"])
    for name in ("cert-manager", "external-dns", "gateway-api"):
        rendered = _rendered(cluster, name, addon(name).values(cluster))
        for one in (*rendered.crds, *rendered.objects):
            if one.kind == "CustomResourceDefinition":
                spec = one.content["spec"]
                for version in spec["versions"]:
                    key = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
                    found[key] = version["schema"]["openAPIV3Schema"], spec["scope"] == "Namespaced"
    return found


def _strict(schema: Any) -> Any:
    """With nothing besides the known properties, as the API server would drop the rest silently."""
    if isinstance(schema, list):
        return [_strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: _strict(value) for key, value in schema.items() if key != "format"}
    if "properties" in found and found.get("type") == "object" and "additionalProperties" not in found:
        found["additionalProperties"] = bool(found.get("x-kubernetes-preserve-unknown-fields"))
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return "secret" if isinstance(value, SecretRef) else value


def test_our_objects_fit_the_crds(tmp_path: Path) -> None:
    schemas, checked = _schemas(tmp_path), set()
    strict = cache(lambda key: jsonschema.Draft202012Validator(_strict(schemas[key][0])))
    for text in ALL.values():
        cluster = made(tmp_path, text)
        for name in cluster.addons:
            for one in (*addon(name).objects(cluster), *addon(name).config(cluster)):
                if (key := (one["apiVersion"], one["kind"])) not in schemas:
                    continue
                strict(key).validate(_plain({**one, "metadata": {}}))
                assert ("namespace" in one["metadata"]) is schemas[key][1]
                checked.add(one["kind"])
    assert checked == {
        "BackendTrafficPolicy",
        "Certificate",
        "ClientTrafficPolicy",
        "ClusterIssuer",
        "DNSEndpoint",
        "EnvoyProxy",
        "Gateway",
        "GatewayClass",
        "HTTPRoute",
    }
