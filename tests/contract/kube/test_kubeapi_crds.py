"""Kinds that are defined at run time: served, checked, pruned, printed, and gone with their definition."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import pytest

from tests.contract.kube.kube_world import JSON_PATCH, STRATEGIC_PATCH, Answer, KubeWorld, Obj, names, until

pytestmark = pytest.mark.slow

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCHEMA: Obj = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 10},
                "replicas": {"type": "integer"},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "name": {"type": "string", "pattern": "^[a-z]+$"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            },
        },
        "status": {
            "type": "object",
            "properties": {"phase": {"type": "string"}, "replicas": {"type": "integer"}},
        },
    },
}


def definition(group: str) -> Obj:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase", "priority": 1},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": scale},
        "additionalPrinterColumns": columns,
        "schema": {"openAPIV3Schema": SCHEMA},
    }
    kind = {"plural": "widgets", "singular": "widget", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": kind, "versions": [version]},
    }


@dataclass(frozen=True)
class Widgets:
    """A kind that is served for one test."""

    world: KubeWorld
    group: str
    path: str

    @property
    def definition(self) -> str:
        return f"{DEFINITIONS}/widgets.{self.group}"

    def make(self, name: str, /, **spec: Any) -> Obj:
        return {"apiVersion": f"{self.group}/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}

    def create(self, name: str, /, **spec: Any) -> Answer:
        return self.world.create(self.path, self.make(name, **spec))


def served(world: KubeWorld, group: str, space: str) -> Widgets:
    """Defined and in force, which takes a real API server a second or two."""
    made = Widgets(world, group, f"/apis/{group}/v1/namespaces/{space}/widgets")
    world.create(DEFINITIONS, definition(group)).ok()
    until(lambda: world.get(made.path), lambda answer: answer.code == 200)
    return made


@pytest.fixture(scope="session")
def groups() -> dict[str, str]:
    """By world, the group that was defined already."""
    return {}


@pytest.fixture
def widgets(world: KubeWorld, space: str, unique: str, groups: dict[str, str]) -> Widgets:
    """In a namespace of the test's own; the definition is the same for all tests, and stays."""
    if world.name not in groups:
        groups[world.name] = served(world, f"{unique}.example.org", space).group
    group = groups[world.name]
    return Widgets(world, group, f"/apis/{group}/v1/namespaces/{space}/widgets")


def test_a_definition_is_accepted(widgets: Widgets) -> None:
    found = widgets.world.get(widgets.definition).ok()
    assert found["spec"]["names"]["listKind"] == "WidgetList"
    assert found["spec"]["conversion"] == {"strategy": "None"}
    status = found["status"]
    assert [(one["type"], one["status"], one["reason"], one["message"]) for one in status["conditions"]] == [
        ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    assert status["acceptedNames"] == found["spec"]["names"]
    assert status["storedVersions"] == ["v1"]


def test_objects_of_a_defined_kind(widgets: Widgets, space: str) -> None:
    made = widgets.create("one", color="blue", size=1, free={"x": {"y": 1}})
    assert made.code == 201
    assert made.body["metadata"]["generation"] == 1
    assert made.body["spec"] == {"color": "blue", "free": {"x": {"y": 1}}, "size": 1}
    listed = widgets.world.get(widgets.path).ok()
    assert (listed["kind"], listed["apiVersion"]) == ("WidgetList", f"{widgets.group}/v1")
    assert names(listed) == ["one"]
    # Unlike the lists of built-in kinds, each object says what it is.
    assert (listed["items"][0]["kind"], listed["items"][0]["apiVersion"]) == ("Widget", f"{widgets.group}/v1")
    everywhere = widgets.world.get(f"/apis/{widgets.group}/v1/widgets", fieldSelector=f"metadata.namespace={space}")
    assert names(everywhere.ok()) == ["one"]
    message = f'widgets.{widgets.group} "two" not found'
    assert widgets.world.get(f"{widgets.path}/two").why == (404, "NotFound", message)


def test_status_is_a_subresource(widgets: Widgets) -> None:
    world, one = widgets.world, f"{widgets.path}/one"
    made = world.create(widgets.path, {**widgets.make("one", size=1), "status": {"phase": "Early"}}).ok()
    assert "status" not in made
    found = world.patch(f"{one}/status", {"status": {"phase": "Ready"}, "spec": {"size": 5}}).ok()
    assert (found["status"], found["spec"]["size"], found["metadata"]["generation"]) == ({"phase": "Ready"}, 1, 1)
    found = world.patch(one, {"status": {"phase": "No"}, "spec": {"size": 6}}).ok()
    assert (found["status"], found["spec"]["size"], found["metadata"]["generation"]) == ({"phase": "Ready"}, 6, 2)


def test_scale_is_a_subresource(widgets: Widgets, space: str) -> None:
    world, one = widgets.world, f"{widgets.path}/one"
    widgets.create("one", size=1, replicas=2).ok()
    world.patch(f"{one}/status", {"status": {"replicas": 1}}).ok()
    scale = world.get(f"{one}/scale").ok()
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["spec"], scale["status"]) == ({"replicas": 2}, {"replicas": 1})
    assert world.patch(f"{one}/scale", {"spec": {"replicas": 5}}).ok()["spec"] == {"replicas": 5}
    assert world.get(one).ok()["spec"]["replicas"] == 5


def test_replace_needs_a_version(widgets: Widgets) -> None:
    widgets.create("one", size=1).ok()
    found = widgets.world.replace(f"{widgets.path}/one", widgets.make("one", size=2))
    message = (
        f'widgets.{widgets.group} "one" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified '
        "for an update"
    )
    assert found.why == (422, "Invalid", message)


def test_patches_of_defined_kinds(widgets: Widgets) -> None:
    world, one = widgets.world, f"{widgets.path}/one"
    widgets.create("one", size=1).ok()
    known = "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    message = f"the body of the request was in an unknown format - accepted media types include: {known}"
    assert world.patch(one, {"spec": {"size": 2}}, STRATEGIC_PATCH).why == (415, "UnsupportedMediaType", message)
    size = [{"op": "replace", "path": "/spec/size", "value": 3}]
    assert world.patch(one, size, JSON_PATCH).ok()["spec"]["size"] == 3


def test_apply_of_defined_kinds(widgets: Widgets) -> None:
    world, one = widgets.world, f"{widgets.path}/one"
    made = world.apply(one, widgets.make("one", size=4, name="a"), "first")
    assert made.code == 201
    assert made.body["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:name": {}, "f:size": {}}}
    world.apply(one, widgets.make("one", size=4, color="blue"), "second").ok()
    message = 'Apply failed with 1 conflict: conflict with "second": .spec.size'
    left = world.apply(one, {**widgets.make("one"), "spec": {}}, "first").ok()
    assert left["spec"] == {"color": "blue", "size": 4}
    assert world.apply(one, widgets.make("one", size=5), "first").why == (409, "Conflict", message)


def test_a_defined_kind_is_discovered(widgets: Widgets) -> None:
    # The kind is served a moment before it is told of.
    found = until(lambda: widgets.world.get(f"/apis/{widgets.group}/v1"), lambda answer: answer.code == 200).body
    assert (found["kind"], found["groupVersion"]) == ("APIResourceList", f"{widgets.group}/v1")
    by_name = {one["name"]: one for one in found["resources"]}
    assert list(by_name) == ["widgets", "widgets/status", "widgets/scale"]
    widget = by_name["widgets"]
    assert (widget["kind"], widget["singularName"], widget["shortNames"]) == ("Widget", "widget", ["wd"])
    assert set(widget["verbs"]) == {
        "create",
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "update",
        "watch",
    }
    group = until(lambda: widgets.world.get(f"/apis/{widgets.group}"), lambda answer: answer.code == 200).body
    version = {"groupVersion": f"{widgets.group}/v1", "version": "v1"}
    assert (group["versions"], group["preferredVersion"]) == ([version], version)
    until(
        lambda: [one["name"] for one in widgets.world.get("/apis").ok()["groups"]],
        lambda listed: widgets.group in listed,
    )


def test_fields_do_not_select_unless_declared(widgets: Widgets) -> None:
    widgets.create("one", size=1).ok()
    answer = widgets.world.get(widgets.path, fieldSelector="spec.size=1")
    assert answer.why == (400, "BadRequest", "field label not supported: spec.size")
    assert names(widgets.world.get(widgets.path, fieldSelector="metadata.name=one").ok()) == ["one"]


def test_a_watch_from_before_the_kind_has_expired(widgets: Widgets) -> None:
    with widgets.world.watch(widgets.path, resourceVersion="1") as events:
        event = next(events)
        assert list(events) == []
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert status["message"].startswith("too old resource version: 1 (")


def test_two_versions_of_a_kind(world: KubeWorld, space: str, unique: str) -> None:
    made = definition(f"{unique}.example.org")
    older = copy.deepcopy(made["spec"]["versions"][0])
    made["spec"]["versions"].append({**older, "name": "v1beta1", "storage": False})
    group = made["spec"]["group"]
    world.create(DEFINITIONS, made).ok()
    old, new = (f"/apis/{group}/{version}/namespaces/{space}/widgets" for version in ("v1beta1", "v1"))
    until(lambda: world.get(old), lambda answer: answer.code == 200)
    widget = {
        "apiVersion": f"{group}/v1beta1",
        "kind": "Widget",
        "metadata": {"name": "one"},
        "spec": {"size": 1},
    }
    assert world.create(old, widget).ok()["apiVersion"] == f"{group}/v1beta1"
    assert world.get(f"{new}/one").ok()["apiVersion"] == f"{group}/v1"
    told = until(
        lambda: world.get(f"/apis/{group}"),
        lambda answer: answer.code == 200 and len(answer.body["versions"]) == 2,
    )
    assert [one["version"] for one in told.body["versions"]] == ["v1", "v1beta1"]
    world.delete(f"{DEFINITIONS}/widgets.{group}").ok()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": "x.y"}, 'metadata.name: Invalid value: "x.y": must be spec.names.plural+"."+spec.group'),
        ({"schema": None}, "spec.versions[0].schema.openAPIV3Schema: Required value"),
        ({"scope": "Galaxy"}, 'spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"'),
    ],
    ids=["name", "no schema", "scope"],
)
def test_definitions_are_checked(world: KubeWorld, unique: str, change: dict[str, Any], told: str) -> None:
    made = definition(f"{unique}.example.org")
    if "name" in change:
        made["metadata"]["name"] = change["name"]
    if "schema" in change:
        del made["spec"]["versions"][0]["schema"]
    made["spec"].update({key: value for key, value in change.items() if key == "scope"})
    name = made["metadata"]["name"]
    code, reason, message = world.create(DEFINITIONS, made).why
    assert (code, reason) == (422, "Invalid")
    assert message == f'CustomResourceDefinition.apiextensions.k8s.io "{name}" is invalid: {told}'


def test_a_definition_takes_its_objects_along(world: KubeWorld, space: str, unique: str) -> None:
    widgets = served(world, f"{unique}.example.org", space)
    widgets.create("one", size=1).ok()
    held = world.delete(widgets.definition).ok()
    assert held["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    until(lambda: world.get(widgets.definition), lambda answer: answer.code == 404)
    gone = until(lambda: world.get(widgets.path), lambda answer: answer.code == 404)
    assert gone.text == "404 page not found\n"
    world.create(DEFINITIONS, definition(widgets.group)).ok()
    listed = until(lambda: world.get(widgets.path), lambda answer: answer.code == 200)
    assert listed.body["items"] == []
