"""What the server says it has. Where the answer is long, the lab's is held against the real one's, whole."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.kube.kube_world import KubeWorld

pytestmark = pytest.mark.slow

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
GROUPS = {
    "admissionregistration.k8s.io": ["v1"],
    "apiextensions.k8s.io": ["v1"],
    "apiregistration.k8s.io": ["v1"],
    "apps": ["v1"],
    "authentication.k8s.io": ["v1"],
    "authorization.k8s.io": ["v1"],
    "autoscaling": ["v2", "v1"],
    "batch": ["v1"],
    "certificates.k8s.io": ["v1"],
    "coordination.k8s.io": ["v1"],
    "discovery.k8s.io": ["v1"],
    "events.k8s.io": ["v1"],
    "flowcontrol.apiserver.k8s.io": ["v1"],
    "networking.k8s.io": ["v1"],
    "node.k8s.io": ["v1"],
    "policy": ["v1"],
    "rbac.authorization.k8s.io": ["v1"],
    "resource.k8s.io": ["v1"],
    "scheduling.k8s.io": ["v1"],
    "storage.k8s.io": ["v1"],
}


def test_the_groups(world: KubeWorld) -> None:
    found = world.get("/apis").ok()
    assert (found["kind"], found["apiVersion"]) == ("APIGroupList", "v1")
    versions = {one["name"]: [version["version"] for version in one["versions"]] for one in found["groups"]}
    assert {name: versions.get(name) for name in GROUPS} == GROUPS
    autoscaling = next(one for one in found["groups"] if one["name"] == "autoscaling")
    assert autoscaling["preferredVersion"] == {"groupVersion": "autoscaling/v2", "version": "v2"}


def test_the_group_without_a_name(world: KubeWorld) -> None:
    found = world.get("/api").ok()
    assert (found["kind"], found["versions"]) == ("APIVersions", ["v1"])
    assert found["serverAddressByClientCIDRs"][0]["clientCIDR"] == "0.0.0.0/0"


def test_one_group(world: KubeWorld) -> None:
    version = {"groupVersion": "apps/v1", "version": "v1"}
    assert world.get("/apis/apps").ok() == {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": "apps",
        "versions": [version],
        "preferredVersion": version,
    }


@pytest.mark.parametrize(
    "path",
    ["/api/v1", *(f"/apis/{name}/{version}" for name, versions in GROUPS.items() for version in versions)],
)
def test_the_resources_of_a_version(lab_world: KubeWorld, real_world: KubeWorld, path: str) -> None:
    assert lab_world.get(path).ok() == real_world.get(path).ok()


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_everything_at_once(lab_world: KubeWorld, real_world: KubeWorld, path: str) -> None:
    def built_in(world: KubeWorld) -> dict[str, Any]:
        answer = world.get(path, accept=AGGREGATED)
        assert answer.headers["content-type"] == AGGREGATED
        assert answer.ok()["apiVersion"] == "apidiscovery.k8s.io/v2"
        groups = {one["metadata"].get("name", ""): one["versions"] for one in answer.body["items"]}
        return {name: versions for name, versions in groups.items() if name == "" or name in GROUPS}

    assert built_in(lab_world) == built_in(real_world)


def test_the_schemas_are_listed(world: KubeWorld) -> None:
    found = world.get("/openapi/v3").ok()["paths"]
    assert {"api/v1", "apis/apps/v1", "apis/batch/v1"} <= set(found)
    address = found["apis/apps/v1"]["serverRelativeURL"]
    assert address.startswith("/openapi/v3/apis/apps/v1?hash=")
    schemas = world.get(address).ok()["components"]["schemas"]
    deployment = schemas["io.k8s.api.apps.v1.Deployment"]
    kind = {"group": "apps", "kind": "Deployment", "version": "v1"}
    assert deployment["x-kubernetes-group-version-kind"] == [kind]
    assert {"apiVersion", "kind", "metadata", "spec", "status"} == set(deployment["properties"])


def test_a_kind_that_is_in_two_groups(world: KubeWorld, space: str) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "one"},
        "involvedObject": {"kind": "Pod", "namespace": space, "name": "p"},
        "reason": "Tested",
        "message": "hello",
        "type": "Normal",
        "count": 3,
        "source": {"component": "contract"},
    }
    world.create(f"/api/v1/namespaces/{space}/events", event).ok()
    listed = world.get(f"/apis/events.k8s.io/v1/namespaces/{space}/events").ok()
    (found,) = [one for one in listed["items"] if one["metadata"]["name"] == "one"]
    assert listed["apiVersion"] == "events.k8s.io/v1"
    assert (found["regarding"]["name"], found["note"], found["deprecatedCount"]) == ("p", "hello", 3)
    assert found["deprecatedSource"] == {"component": "contract"}
