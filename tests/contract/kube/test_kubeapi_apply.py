"""Server-side apply: who owns which field, what is a conflict, what goes when it is no longer applied."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.kube.kube_world import KubeWorld, Obj, config_map, deployment

pytestmark = pytest.mark.slow


def one(**data: str) -> Obj:
    return config_map("one", data)


def owners(found: Obj) -> dict[tuple[str, str], Any]:
    """Who owns what, by manager and operation, without the marks of whole maps, which the lab does not write."""
    fields = found["metadata"].get("managedFields", [])
    return {(entry["manager"], entry["operation"]): _unmarked(entry["fieldsV1"]) for entry in fields}


def _unmarked(fields: Obj, at: str = "f:") -> Obj:
    is_item = at.startswith("k:")
    return {name: _unmarked(one, name) for name, one in fields.items() if name != "." or is_item}


def test_apply_creates(world: KubeWorld, maps: str, space: str) -> None:
    before = world.get(f"/api/v1/namespaces/{space}").ok()["metadata"]["creationTimestamp"]
    answer = world.apply(f"{maps}/one", one(x="1"), "first")
    assert answer.code == 201
    (entry,) = answer.body["metadata"]["managedFields"]
    # It is owned before it is created, which may be in the second before.
    assert before <= entry.pop("time") <= answer.body["metadata"]["creationTimestamp"]
    assert entry == {
        "manager": "first",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:x": {}}},
    }
    again = world.apply(f"{maps}/one", one(x="1"), "first")
    assert (again.code, again.body) == (200, answer.body)


def test_apply_takes_yaml(world: KubeWorld, maps: str) -> None:
    text = "# a comment\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata:\n  k: v\n"
    assert world.apply(f"{maps}/one", text, "first").ok()["data"] == {"k": "v"}


def test_another_manager_is_told_of_the_conflict(world: KubeWorld, maps: str) -> None:
    world.apply(f"{maps}/one", one(x="1"), "first").ok()
    found = world.apply(f"{maps}/one", one(x="2", y="2"), "second").refusal
    causes = [{"reason": "FieldManagerConflict", "message": 'conflict with "first"', "field": ".data.x"}]
    message = 'Apply failed with 1 conflict: conflict with "first": .data.x'
    assert found == (409, "Conflict", message, {"causes": causes})
    assert world.get(f"{maps}/one").ok()["data"] == {"x": "1"}


def test_conflicts_are_gathered_by_manager(world: KubeWorld, maps: str) -> None:
    world.apply(f"{maps}/one", one(x="1", y="1"), "first").ok()
    world.patch(f"{maps}/one", {"data": {"z": "1"}}, fieldManager="editor").ok()
    _, _, message, details = world.apply(f"{maps}/one", one(x="2", y="2", z="2"), "second").refusal
    assert message == (
        'Apply failed with 3 conflicts: conflicts with "editor" using v1:\n- .data.z\n'
        'conflicts with "first":\n- .data.x\n- .data.y'
    )
    # Which manager comes first differs from time to time.
    assert {(cause["message"], cause["field"]) for cause in details["causes"]} == {
        ('conflict with "editor" using v1', ".data.z"),
        ('conflict with "first"', ".data.x"),
        ('conflict with "first"', ".data.y"),
    }


def test_the_same_value_is_shared(world: KubeWorld, maps: str) -> None:
    world.apply(f"{maps}/one", one(x="1"), "first").ok()
    found = world.apply(f"{maps}/one", one(x="1", y="2"), "second").ok()
    assert owners(found) == {
        ("first", "Apply"): {"f:data": {"f:x": {}}},
        ("second", "Apply"): {"f:data": {"f:x": {}, "f:y": {}}},
    }
    kept = world.apply(f"{maps}/one", one(y="2"), "second").ok()
    assert kept["data"] == {"x": "1", "y": "2"}


def test_force_takes_the_field_over(world: KubeWorld, maps: str) -> None:
    world.apply(f"{maps}/one", one(x="1"), "first").ok()
    found = world.apply(f"{maps}/one", one(x="3"), "second", force="true").ok()
    assert found["data"] == {"x": "3"}
    assert owners(found) == {("second", "Apply"): {"f:data": {"f:x": {}}}}


def test_what_is_no_longer_applied_goes(world: KubeWorld, maps: str) -> None:
    world.apply(f"{maps}/one", one(x="1", y="2"), "first").ok()
    found = world.apply(f"{maps}/one", one(y="2"), "first").ok()
    assert found["data"] == {"y": "2"}
    assert owners(found) == {("first", "Apply"): {"f:data": {"f:y": {}}}}


def test_what_others_set_stays(world: KubeWorld, maps: str) -> None:
    world.create(maps, one(x="1")).ok()
    found = world.apply(f"{maps}/one", one(y="2"), "first").ok()
    assert found["data"] == {"x": "1", "y": "2"}
    assert owners(found) == {
        ("contract", "Update"): {"f:data": {"f:x": {}}},
        ("first", "Apply"): {"f:data": {"f:y": {}}},
    }


def test_an_edit_takes_the_field_from_who_applied_it(world: KubeWorld, maps: str) -> None:
    world.apply(f"{maps}/one", one(x="1", y="1"), "first").ok()
    found = world.patch(f"{maps}/one", {"data": {"x": "9"}}, fieldManager="editor").ok()
    assert owners(found) == {
        ("first", "Apply"): {"f:data": {"f:y": {}}},
        ("editor", "Update"): {"f:data": {"f:x": {}}},
    }
    _, _, message, _ = world.apply(f"{maps}/one", one(x="1", y="1"), "first").refusal
    assert message == 'Apply failed with 1 conflict: conflict with "editor" using v1: .data.x'


def test_lists_are_owned_item_by_item(world: KubeWorld, deployments: str) -> None:
    world.apply(f"{deployments}/one", deployment("one"), "first").ok()
    other = deployment("one")
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "example.org/c:2"
    _, _, message, details = world.apply(f"{deployments}/one", other, "second").refusal
    where = '.spec.template.spec.containers[name="c"].image'
    assert message == f'Apply failed with 1 conflict: conflict with "first": {where}'
    assert details["causes"][0]["field"] == where
    beside: Obj = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "one"},
        "spec": {"template": {"spec": {"containers": [{"name": "d", "image": "example.org/d:1"}]}}},
    }
    found = world.apply(f"{deployments}/one", beside, "second").ok()
    assert [c["name"] for c in found["spec"]["template"]["spec"]["containers"]] == ["c", "d"]
    assert owners(found)["second", "Apply"]["f:spec"]["f:template"]["f:spec"]["f:containers"] == {
        'k:{"name":"d"}': {".": {}, "f:image": {}, "f:name": {}}
    }
    beside["spec"] = {}
    found = world.apply(f"{deployments}/one", beside, "second").ok()
    assert [c["name"] for c in found["spec"]["template"]["spec"]["containers"]] == ["c"]


def test_sets_are_owned_value_by_value(world: KubeWorld, maps: str) -> None:
    world.apply(f"{maps}/one", config_map("one", finalizers=["example.org/a"]), "first").ok()
    found = world.apply(f"{maps}/one", config_map("one", finalizers=["example.org/b"]), "second").ok()
    assert found["metadata"]["finalizers"] == ["example.org/a", "example.org/b"]
    assert owners(found)["second", "Apply"] == {"f:metadata": {"f:finalizers": {'v:"example.org/b"': {}}}}
    found = world.apply(f"{maps}/one", config_map("one"), "first").ok()
    assert found["metadata"]["finalizers"] == ["example.org/b"]


def test_status_is_owned_apart(world: KubeWorld, deployments: str) -> None:
    world.apply(f"{deployments}/one", deployment("one"), "first").ok()
    status = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "one"},
        "status": {"collisionCount": 7},
    }
    found = world.apply(f"{deployments}/one/status", status, "first").ok()
    assert found["status"]["collisionCount"] == 7
    entries = [entry for entry in found["metadata"]["managedFields"] if entry["manager"] == "first"]
    assert [entry.get("subresource", "") for entry in entries] == ["", "status"]
    assert entries[1]["fieldsV1"] == {"f:status": {"f:collisionCount": {}}}


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        (
            config_map("two"),
            (400, "BadRequest", "the name of the object (two) does not match the name on the URL (one)"),
        ),
        (
            {"kind": "ConfigMap", "metadata": {"name": "one"}},
            (400, "BadRequest", "invalid object type: /, Kind=ConfigMap"),
        ),
        (
            config_map("one", managedFields=[{"manager": "x"}]),
            (400, "BadRequest", "metadata.managedFields must be nil"),
        ),
        (
            "a: b: c",
            (
                400,
                "BadRequest",
                "error encoding patch: yaml: mapping values are not allowed in this context",
            ),
        ),
    ],
    ids=["another name", "no version", "managed fields", "not yaml"],
)
def test_what_cannot_be_applied(
    world: KubeWorld, maps: str, space: str, body: Any, refused: tuple[int, str, str]
) -> None:
    if isinstance(body, dict):
        body = {**body, "metadata": {**body["metadata"], "namespace": space}}
    assert world.apply(f"{maps}/one", body, "first").why == refused


def test_a_manager_has_a_short_name(world: KubeWorld, maps: str) -> None:
    message = 'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes'
    assert world.apply(f"{maps}/one", one(), "x" * 129).why == (422, "Invalid", message)


def test_an_apply_that_changes_nothing_writes_nothing(world: KubeWorld, deployments: str) -> None:
    made = world.apply(f"{deployments}/one", deployment("one"), "first").ok()
    again = world.apply(f"{deployments}/one", deployment("one"), "first").ok()
    assert again["metadata"]["managedFields"][0] == made["metadata"]["managedFields"][0]
    assert again["metadata"]["generation"] == made["metadata"]["generation"] == 1


def test_the_default_manager_is_the_program(world: KubeWorld, maps: str) -> None:
    agent = {"User-Agent": "kubectl/v1.36.3 (linux/amd64) kubernetes/abc"}
    made = world.create(maps, one(x="1"), headers=agent).ok()
    assert list(owners(made)) == [("kubectl", "Update")]
    made = world.create(maps, config_map("two", {"x": "1"}), headers=agent, fieldManager="other").ok()
    assert list(owners(made)) == [("other", "Update")]


def test_managed_fields_can_be_thrown_away(world: KubeWorld, maps: str) -> None:
    world.apply(f"{maps}/one", one(x="1"), "first").ok()
    found = world.patch(f"{maps}/one", {"metadata": {"managedFields": [{}]}}).ok()
    assert "managedFields" not in found["metadata"]
    assert world.apply(f"{maps}/one", one(x="2"), "second").code == 409
    found = world.apply(f"{maps}/one", one(x="1"), "second").ok()
    assert ("second", "Apply") in owners(found)
