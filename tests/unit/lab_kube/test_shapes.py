"""Filling in, writing as the API server writes, and telling what is odd: without a server."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith_lab.kube.defaults import fill_defaults
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.field_check import check_fields, check_text, type_problem
from talosmith_lab.kube.json_patch import apply_json_patch
from talosmith_lab.kube.merge_patch import merge_patch
from talosmith_lab.kube.normal import normalized
from talosmith_lab.kube.schema import Form, Obj, Schema, definitions, schema_for, schema_of

OBJECTS: list[Obj] = yaml.safe_load(
    (Path(__file__).parents[2] / "real" / "kube" / "shape_objects.yaml").read_text(encoding="utf-8")
)


def shape(obj: Obj) -> Schema:
    found = schema_for(obj)
    assert found is not None
    return found


@pytest.mark.parametrize("number", range(len(OBJECTS)))
def test_filling_in_twice_changes_nothing_more(number: int) -> None:
    obj = OBJECTS[number]
    given = copy.deepcopy(obj)
    once = normalized(fill_defaults(normalized(obj, shape(obj))), shape(obj))
    assert obj == given
    assert normalized(fill_defaults(once), shape(obj)) == once


def test_what_is_empty_is_left_out_only_where_it_means_nothing() -> None:
    spec = {"hostNetwork": False, "enableServiceLinks": False, "nodeSelector": {}, "volumes": [], "priority": 0}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {}}, "spec": {**spec, "unknown": 1}}
    made = normalized(pod, shape(pod))
    assert made["spec"] == {"enableServiceLinks": False, "priority": 0, "containers": None}
    assert made["metadata"] == {}


def test_shapes_that_contain_themselves_can_be_followed() -> None:
    place: Schema | None = schema_of("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    for name in ("spec", "versions"):
        assert place is not None
        place = place.field(name)
    assert place is not None
    place = place.items.field("schema")
    for _ in range(20):
        assert place is not None
        place = place.field("openAPIV3Schema") or place.field("not")
    assert place is not None
    assert place.form is Form.STRUCT


def test_every_reference_leads_somewhere() -> None:
    text = json.dumps(definitions())
    for reference in {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert reference in definitions()


def test_odd_fields_are_told_in_the_order_of_the_text() -> None:
    text = '{"kind":"Pod","spec":{"foo":1,"containers":[{"name":"a","name":"b","imag":"x"}]},"spec":{"hostPID":true}}'
    schema = schema_of("", "v1", "Pod")
    assert schema is not None
    value, problems = check_text(text, schema)
    assert problems == [
        'unknown field "spec.foo"',
        'duplicate field "spec.containers[0].name"',
        'unknown field "spec.containers[0].imag"',
        'duplicate field "spec"',
    ]
    assert value["spec"]["containers"][0]["name"] == "b"
    assert value["spec"]["hostPID"] is True
    assert check_fields({"spec": {"foo": 1}}, schema) == ['unknown field "spec.foo"']


def test_custom_kinds_say_what_they_do_not_know() -> None:
    spec: Obj = {"type": "object", "properties": {"a": {"type": "string"}, "free": {"type": "object"}}}
    spec["properties"]["free"]["x-kubernetes-preserve-unknown-fields"] = True
    schema = Schema.from_crd({"type": "object", "properties": {"spec": spec}})
    obj = {"metadata": {"name": "x", "nope": 1}, "spec": {"a": "b", "c": 1, "free": {"x": {"y": 1}}}}
    assert check_fields(obj, schema) == ['unknown field "metadata.nope"', 'unknown field "spec.c"']


def test_a_wrong_type_is_named_with_its_place() -> None:
    schema = schema_of("apps", "v1", "Deployment")
    assert schema is not None
    wrong = {"kind": "Deployment", "spec": {"replicas": "3"}}
    words = "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    assert type_problem(wrong, schema) == words
    assert type_problem({"kind": "Deployment", "spec": {"replicas": 3}}, schema) == ""


@pytest.mark.parametrize(
    ("target", "patch", "expected"),
    [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ],
)
def test_merge_patches(target: Any, patch: Any, expected: Any) -> None:
    assert merge_patch(target, patch) == expected


def test_json_patches_have_one_answer_to_every_mistake() -> None:
    assert apply_json_patch({"a": {}}, [{"op": "add", "path": "/a/b", "value": 1}]) == {"a": {"b": 1}}
    with pytest.raises(ApiError, match="the server rejected our request due to an error in our request") as caught:
        apply_json_patch({}, [{"op": "remove", "path": "/a"}])
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
