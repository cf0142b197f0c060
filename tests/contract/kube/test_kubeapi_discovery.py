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
    "batch": ["v1"],
    "certificates.k8s.io": ["v1"],
    "coordination.k8s.io": ["v1"],
    "discovery.k8s.io": ["v1"],
    "networking.k8s.io": ["v1"],
    "node.k8s.io": ["v1"],
    "policy": ["v1"],
    "rbac.authorization.k8s.io": ["v1"],
    "scheduling.k8s.io": ["v1"],
    "storage.k8s.io": ["v1"],
}


def test_the_groups(world: KubeWorld) -> None:
    found = world.get("/apis").ok()
    assert (found["kind"], found["apiVersion"]) == ("APIGroupList", "v1")
    versions = {one["name"]: [version["version"] for version in one["versions"]] for one in found["groups"]}
    assert {name: versions.get(name) for name in GROUPS} == GROUPS


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
    """What the lab has is told as a real API server tells it; what it does not have is missing."""
    found, real = lab_world.get(path).ok(), real_world.get(path).ok()
    by_name = {one["name"]: one for one in real.pop("resources")}
    assert [_bare(one) for one in found["resources"]] == [_bare(by_name[one["name"]]) for one in found["resources"]]
    assert {name: value for name, value in found.items() if name != "resources"} == real


def _bare(resource: dict[str, Any]) -> dict[str, Any]:
    """Without the categories nobody asks for, and what tells two storage formats apart."""
    kept = {name: value for name, value in resource.items() if name not in ("storageVersionHash", "categories")}
    return {**kept, "is_in_all": "all" in resource.get("categories", ())}


@pytest.mark.parametrize("path", ["/api", "/apis"])
def test_everything_at_once(lab_world: KubeWorld, real_world: KubeWorld, path: str) -> None:
    def built_in(world: KubeWorld) -> dict[tuple[str, str], Any]:
        answer = world.get(path, accept=AGGREGATED)
        assert answer.headers["content-type"] == AGGREGATED
        assert answer.ok()["apiVersion"] == "apidiscovery.k8s.io/v2"
        return {
            (one["metadata"].get("name", ""), kind["resource"]): _whole(kind)
            for one in answer.body["items"]
            if one["metadata"].get("name", "") in ("", *GROUPS)
            for kind in one["versions"][0]["resources"]
        }

    lab, real = built_in(lab_world), built_in(real_world)
    assert lab == {name: _as_in(lab[name], real[name]) for name in lab}


def _whole(kind: dict[str, Any]) -> dict[str, Any]:
    parts = {part["subresource"]: part for part in kind.get("subresources", ())}
    return {**_bare(kind), "subresources": parts}


def _as_in(found: dict[str, Any], real: dict[str, Any]) -> dict[str, Any]:
    """The real one, with the subresources that were found."""
    return {**real, "subresources": {name: real["subresources"].get(name) for name in found["subresources"]}}
