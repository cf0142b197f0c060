"""What is not about objects: paths, methods, media types, and the pages beside the API."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.contract.kube.kube_world import KubeWorld, config_map
from tools.peers.kubernetes_recipes import KUBERNETES_VERSION

pytestmark = pytest.mark.slow

NO_METHOD = (405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {})


def test_a_resource_that_is_not_served(world: KubeWorld, space: str) -> None:
    message = "the server could not find the requested resource"
    assert world.get(f"/api/v1/namespaces/{space}/nonsense").refusal == (404, "NotFound", message, {})
    assert world.create(f"/api/v1/namespaces/{space}/nonsense", {}).refusal == (404, "NotFound", message, {})


@pytest.mark.parametrize("path", ["/apis/example.org/v1/things", "/apis/metrics.k8s.io/v1beta1/nodes", "/nonsense"])
def test_a_group_that_is_not_served(world: KubeWorld, path: str) -> None:
    answer = world.get(path)
    assert (answer.code, answer.text) == (404, "404 page not found\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_methods_that_are_not_there(world: KubeWorld, maps: str, pods: str) -> None:
    world.create(maps, config_map("one")).ok()
    assert world.replace(maps, config_map("one")).refusal == NO_METHOD
    assert world.patch(maps, {}).refusal == NO_METHOD
    assert world.create(f"{maps}/one", config_map("one")).refusal == NO_METHOD
    assert world.get(f"{pods}/one/eviction").refusal == NO_METHOD


def test_yaml_comes_in_and_goes_out(world: KubeWorld, maps: str) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {k: v}\n"
    made = world.create(maps, text, content_type="application/yaml")
    assert made.code == 201
    answer = world.get(f"{maps}/one", accept="application/yaml")
    assert answer.headers["content-type"] == "application/yaml"
    assert yaml.load(answer.text, Loader=yaml.BaseLoader)["data"] == {"k": "v"}  # noqa: S506 - reads text only


def test_media_types_that_are_not_understood(world: KubeWorld, maps: str) -> None:
    known = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    message = f"the body of the request was in an unknown format - accepted media types include: {known}"
    answer = world.create(maps, config_map("one"), content_type="text/plain")
    assert answer.why == (415, "UnsupportedMediaType", message)
    answer = world.get(f"{maps}/one", accept="text/html")
    code, reason, message = answer.why
    assert (code, reason) == (406, "NotAcceptable")
    assert message.startswith("406: Not Acceptable\n\nAvailable representations: application/json, application/yaml")


def test_answers_are_pretty_for_who_asks(world: KubeWorld, maps: str) -> None:
    made = world.create(maps, config_map("one")).ok()
    plain = world.get(f"{maps}/one").text
    assert plain == json.dumps(made, separators=(",", ":")) + "\n"
    assert world.get(f"{maps}/one", pretty="true").text.startswith('{\n  "kind": "ConfigMap",\n  "apiVersion"')
    curl = world.get(f"{maps}/one", headers={"User-Agent": "curl/8.0"})
    assert curl.text.startswith('{\n  "kind": "ConfigMap"')


def test_the_version(world: KubeWorld) -> None:
    answer = world.get("/version")
    assert answer.ok()["gitVersion"] == KUBERNETES_VERSION
    assert (answer.body["major"], answer.body["minor"], answer.body["platform"]) == ("1", "37", "linux/amd64")


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/etcd", "/livez/ping"])
def test_the_server_is_well(world: KubeWorld, path: str) -> None:
    answer = world.get(path)
    assert (answer.code, answer.text) == (200, "ok")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


def test_the_server_tells_how_it_is(world: KubeWorld) -> None:
    lines = world.get("/readyz", verbose="").text.splitlines()
    assert {"[+]ping ok", "[+]etcd ok", "[+]informer-sync ok", "[+]shutdown ok"} <= set(lines)
    assert lines[-1] == "readyz check passed"
