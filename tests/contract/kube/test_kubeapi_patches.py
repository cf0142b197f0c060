"""Three kinds of patches; the fourth, server-side apply, has cases of its own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.kube.kube_world import (
    APPLY_PATCH,
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    KubeWorld,
    config_map,
    deployment,
)

pytestmark = pytest.mark.slow

REJECTED = (422, "Invalid", "the server rejected our request due to an error in our request", {})


@pytest.fixture
def one(world: KubeWorld, maps: str) -> str:
    """The path of a config map."""
    world.create(maps, config_map("one", {"a": "1", "b": "2"}, labels={"app": "web"})).ok()
    return f"{maps}/one"


@pytest.mark.parametrize(
    ("operations", "data"),
    [
        ([{"op": "add", "path": "/data/c", "value": "3"}], {"a": "1", "b": "2", "c": "3"}),
        ([{"op": "replace", "path": "/data/a", "value": "9"}], {"a": "9", "b": "2"}),
        ([{"op": "remove", "path": "/data/a"}], {"b": "2"}),
        ([{"op": "move", "from": "/data/a", "path": "/data/c"}], {"b": "2", "c": "1"}),
        ([{"op": "copy", "from": "/data/a", "path": "/data/c"}], {"a": "1", "b": "2", "c": "1"}),
        ([{"op": "test", "path": "/data/a", "value": "1"}, {"op": "remove", "path": "/data/b"}], {"a": "1"}),
    ],
    ids=["add", "replace", "remove", "move", "copy", "test"],
)
def test_json_patch(world: KubeWorld, one: str, operations: Any, data: Any) -> None:
    assert world.patch(one, operations, JSON_PATCH).ok()["data"] == data


def test_json_patch_reads_escaped_paths(world: KubeWorld, one: str) -> None:
    operations = [
        {"op": "add", "path": "/metadata/annotations", "value": {}},
        {"op": "add", "path": "/metadata/annotations/example.org~1name", "value": "x"},
    ]
    found = world.patch(one, operations, JSON_PATCH).ok()
    assert found["metadata"]["annotations"] == {"example.org/name": "x"}


@pytest.mark.parametrize(
    "operations",
    [
        [{"op": "test", "path": "/data/a", "value": "8"}],
        [{"op": "remove", "path": "/data/none"}],
        [{"op": "frobnicate", "path": "/data/a"}],
        [{"op": "add", "path": "/none/a", "value": "1"}],
        [{"op": "replace", "path": "/data/a", "value": "9"}, {"op": "test", "path": "/data/b", "value": "8"}],
    ],
    ids=["test", "remove", "unknown", "no parent", "all or nothing"],
)
def test_json_patch_that_does_not_fit(world: KubeWorld, one: str, operations: Any) -> None:
    assert world.patch(one, operations, JSON_PATCH).refusal == REJECTED
    assert world.get(one).ok()["data"] == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("kind", "body"),
    [(JSON_PATCH, "{}"), (JSON_PATCH, "{"), (MERGE_PATCH, "[]"), (MERGE_PATCH, "{")],
    ids=["object for a list", "json cut off", "list for an object", "merge cut off"],
)
def test_what_is_not_a_patch(world: KubeWorld, one: str, kind: str, body: str) -> None:
    code, reason, message = world.patch(one, body, kind).why
    assert (code, reason) == (400, "BadRequest")
    assert message.startswith("invalid JSON patch" if body == "{" else "error decoding patch: ")


def test_merge_patch_sets_and_removes(world: KubeWorld, one: str) -> None:
    found = world.patch(one, {"data": {"a": None, "c": "3"}, "metadata": {"labels": None}}).ok()
    assert found["data"] == {"b": "2", "c": "3"}
    assert "labels" not in found["metadata"]


def test_merge_patch_replaces_lists(world: KubeWorld, deployments: str) -> None:
    world.create(deployments, deployment("one")).ok()
    containers = [{"name": "d", "image": "example.org/d:1"}]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    found = world.patch(f"{deployments}/one", patch).ok()
    assert [one["name"] for one in found["spec"]["template"]["spec"]["containers"]] == ["d"]


def test_strategic_patch_merges_lists_by_their_keys(world: KubeWorld, deployments: str) -> None:
    world.create(deployments, deployment("one")).ok()
    containers = [
        {"name": "c", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        {"name": "d", "image": "example.org/d:1"},
    ]
    patch = {"spec": {"template": {"spec": {"containers": containers}}}}
    found = world.patch(f"{deployments}/one", patch, STRATEGIC_PATCH).ok()
    by_name = {one["name"]: one for one in found["spec"]["template"]["spec"]["containers"]}
    assert {name: one["image"] for name, one in by_name.items()} == {"c": "example.org/c:1", "d": "example.org/d:1"}
    env = [{"name": "A", "$patch": "delete"}, {"name": "B", "value": "3"}]
    patch = {"spec": {"template": {"spec": {"containers": [{"name": "c", "env": env}]}}}}
    found = world.patch(f"{deployments}/one", patch, STRATEGIC_PATCH).ok()
    by_name = {one["name"]: one for one in found["spec"]["template"]["spec"]["containers"]}
    assert by_name["c"]["env"] == [{"name": "B", "value": "3"}]


def test_strategic_patch_keeps_the_order_it_is_told(world: KubeWorld, deployments: str) -> None:
    world.create(deployments, deployment("one")).ok()
    patch = {
        "spec": {
            "template": {
                "spec": {
                    "$setElementOrder/containers": [{"name": "d"}, {"name": "c"}],
                    "containers": [{"name": "d", "image": "example.org/d:1"}],
                }
            }
        }
    }
    found = world.patch(f"{deployments}/one", patch, STRATEGIC_PATCH).ok()
    assert [one["name"] for one in found["spec"]["template"]["spec"]["containers"]] == ["d", "c"]


def test_strategic_patch_with_directives(world: KubeWorld, one: str) -> None:
    assert world.patch(one, {"data": {"$retainKeys": ["a"], "a": "5"}}, STRATEGIC_PATCH).ok()["data"] == {"a": "5"}
    assert world.patch(one, {"data": {"$patch": "replace", "z": "1"}}, STRATEGIC_PATCH).ok()["data"] == {"z": "1"}


def test_strategic_patch_of_plain_lists(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("listed", finalizers=["example.org/a"])).ok()
    found = world.patch(f"{maps}/listed", {"metadata": {"finalizers": ["example.org/b"]}}, STRATEGIC_PATCH).ok()
    assert sorted(found["metadata"]["finalizers"]) == ["example.org/a", "example.org/b"]
    away = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.org/a", "example.org/b"]}}
    assert "finalizers" not in world.patch(f"{maps}/listed", away, STRATEGIC_PATCH).ok()["metadata"]


def test_a_patch_may_insist_on_a_version(world: KubeWorld, one: str) -> None:
    version = world.get(one).ok()["metadata"]["resourceVersion"]
    changed = world.patch(one, {"metadata": {"resourceVersion": version}, "data": {"a": "2"}}).ok()
    assert changed["data"]["a"] == "2"
    code, reason, message = world.patch(one, {"metadata": {"resourceVersion": version}, "data": {"a": "3"}}).why
    assert (code, reason) == (409, "Conflict")
    assert message == (
        'Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes '
        "to the latest version and try again"
    )


def test_a_patch_without_a_change_writes_nothing(world: KubeWorld, one: str) -> None:
    before = world.get(one).ok()
    assert world.patch(one, {"data": {"a": "1"}}).ok() == before
    assert world.patch(one, [], JSON_PATCH).ok() == before


def test_a_patch_does_not_rename(world: KubeWorld, one: str) -> None:
    message = "the name of the object (two) does not match the name on the URL (one)"
    assert world.patch(one, {"metadata": {"name": "two"}}).why == (400, "BadRequest", message)
    code, _, message = world.patch(one, {"metadata": {"uid": "x"}}).why
    assert (code, message) == (
        422,
        'ConfigMap "one" is invalid: metadata.uid: Invalid value: "x": field is immutable',
    )


def test_a_patch_of_no_known_type(world: KubeWorld, one: str) -> None:
    answer = world.patch(one, {}, "application/json")
    assert answer.refusal == (415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def test_only_apply_may_force(world: KubeWorld, one: str) -> None:
    message = 'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch'
    assert world.patch(one, {}, force="true").why == (422, "Invalid", message)
    message = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch'
    assert world.patch(one, config_map("one"), APPLY_PATCH).why == (422, "Invalid", message)
