"""What a real API server refuses, refused by us in the same words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith_lab.kube.errors import invalid
from talosmith_lab.kube.field_check import check_text, type_problem
from talosmith_lab.kube.merge_patch import merge_patch
from talosmith_lab.kube.schema import Obj
from talosmith_lab.kube.validation import validate
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.shape_steps import bases
from tests.real.kube.shapes import APPLY, MERGE, STRATEGIC, Real, filled, kind_of, named, patched, path_of, shape

INVALID: dict[str, list[Any]] = yaml.safe_load((Path(__file__).parent / "shape_invalid.yaml").read_text())


@pytest.fixture(scope="session")
def real(kube_apiserver: ApiServer) -> Real:
    return Real(kube_apiserver.address, kube_apiserver.kubeconfig.parent)


@pytest.fixture
def place(real: Real, unique: str) -> str:
    """A namespace of its own."""
    status, _ = real("POST", "/api/v1/namespaces", {"metadata": {"name": unique}})
    assert status == 201
    return unique


TEXTS = {
    "unknown": '{"metadata":{"name":"x","foo":1},"data":{"a":"1"},"bar":{"x":1},"baz":1}',
    "twice": '{"metadata":{"name":"x","name":"y"},"data":{"a":"1","a":"2"},"data":{"b":"2"}}',
    "both": '{"metadata":{"name":"x","name":"x","name":"x"},"foo":1,"data":{"a":"1","a":"2","a":"3"},"foo":2}',
    "case": '{"metadata":{"name":"x","Labels":{}},"Data":{"a":"1"}}',
    "lists": '{"metadata":{"name":"x","ownerReferences":[{"kind":"K","name":"n","uid":"u","apiVersion":"v","y":1}]}}',
}


@pytest.mark.parametrize("name", TEXTS)
def test_odd_fields_are_told_alike(real: Real, place: str, name: str) -> None:
    text = TEXTS[name].replace("{", '{"apiVersion":"v1","kind":"ConfigMap",', 1)
    path = f"/api/v1/namespaces/{place}/configmaps?dryRun=All"
    status, answer, warnings = real.ask("POST", path, text)
    assert status == 201, answer
    value, problems = check_text(text, shape({"apiVersion": "v1", "kind": "ConfigMap"}))
    assert [f"299 - {json.dumps(problem)}" for problem in problems] == warnings
    assert value.get("data") == answer.get("data")
    status, answer = real("POST", f"{path}&fieldValidation=Strict", text)
    assert status == 400
    assert answer["message"].partition("strict decoding error: ")[2] == ", ".join(problems)


WRONG_TYPES: list[Any] = [
    {"replicas": "3"},
    {"replicas": 3.5},
    {"replicas": True},
    {"replicas": 99999999999},
    {"paused": "true"},
    {"paused": 1},
    {"template": {"spec": {"containers": {"name": "x"}}}},
    {"template": {"spec": {"containers": [{"name": 1}]}}},
    {"template": {"spec": {"containers": ["x"]}}},
    {"template": {"spec": {"containers": [{"name": "x", "env": [{"name": "a", "value": 1}]}]}}},
    {"template": {"spec": {"containers": [{"name": "x", "command": "a"}]}}},
    {"template": {"spec": {"containers": [{"name": "x", "resources": {"limits": {"cpu": "abc"}}}]}}},
    {"template": {"spec": {"containers": [{"name": "x", "resources": {"limits": {"cpu": True}}}]}}},
    {"template": {"spec": {"containers": [{"name": "x", "resources": {"limits": {"cpu": "1x"}}}]}}},
    {"template": {"spec": {"containers": [{"name": "x", "resources": {"limits": ["cpu"]}}]}}},
    {"template": {"spec": {"volumes": [{"name": "x", "emptyDir": "y"}]}}},
    {"template": {"spec": {"volumes": [{"name": 1}]}}},
    {"template": {"spec": {"containers": [{"name": "x", "livenessProbe": {"httpGet": "y"}}]}}},
    {"template": {"spec": {"containers": [{"name": "x", "envFrom": [{"configMapRef": {"name": 1}}]}]}}},
    {"template": {"spec": {"nodeSelector": {"a": 1}}}},
    {"template": {"spec": {"nodeSelector": "a"}}},
    {"template": {"spec": {"terminationGracePeriodSeconds": "30"}}},
    {"template": {"metadata": {"creationTimestamp": "x"}}},
    {"template": {"metadata": {"creationTimestamp": 1}}},
    {"template": {"metadata": {"labels": ["a"]}}},
    {"template": {"metadata": {"finalizers": [1]}}},
    {"strategy": {"rollingUpdate": {"maxSurge": True}}},
    {"strategy": {"rollingUpdate": {"maxSurge": {}}}},
    {"strategy": []},
    {"selector": {"matchLabels": {"a": 1}}},
    {"selector": {"matchLabels": {"a": {}}}},
    {"selector": "a"},
    [],
    "x",
    5,
]


@pytest.mark.parametrize("number", range(len(WRONG_TYPES)))
def test_wrong_types_are_refused_in_the_same_words(real: Real, place: str, number: int) -> None:
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}, "spec": WRONG_TYPES[number]}
    status, answer = real("POST", path_of(obj, place, name=False), obj)
    assert status == 400, answer
    problem = type_problem(obj, shape(obj))
    assert f'Deployment in version "v1" cannot be handled as a Deployment: {problem}' == answer["message"]


WRONG_APPLIES: list[Any] = [
    {"foo": 1},
    {"replicas": "1"},
    {"replicas": [1]},
    {"replicas": True},
    {"paused": "x"},
    {"paused": 1},
    [],
    "x",
    {"selector": {"matchLabels": {"a": 1}}},
    {"template": {"spec": {"dnsPolicy": 1}}},
    {"template": {"spec": {"dnsPolicy": [1, "a", {"b": True}]}}},
    {"template": {"spec": {"hostNetwork": {"b": True}}}},
    {"template": {"spec": {"volumes": "x", "foo": 1}}},
    {"template": {"spec": {"containers": [{"name": "a"}, {"name": "a", "image": "x"}]}}},
    {"template": {"spec": {"containers": [{"name": "a", "ports": [{"containerPort": 1}, {"containerPort": 1}]}]}}},
    {"template": {"spec": {"containers": [{"name": "a", "env": {"A": "b"}}]}}},
    {"template": {"spec": {"containers": [{"name": "a", "command": "x"}]}}},
    {"template": {"metadata": {"labels": {"a": None, "b": 5}}}},
    {"replicas": "1", "paused": "x", "template": {"spec": {"volumes": {}}}},
]


_CHANCES = 200  # of two fields, the second comes first in one of eight


@pytest.mark.parametrize("number", range(len(WRONG_APPLIES)))
def test_wrong_applies_are_refused_in_the_same_words(real: Real, place: str, number: int) -> None:
    base = named(bases()["Deployment"], place)
    _, live = real("POST", path_of(base, place, name=False), base)
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": base["metadata"]["name"]}}
    config["spec"] = WRONG_APPLIES[number]
    ours = patched(live, APPLY, config, "a", force=True)
    # The server looks at the fields in an order by chance, and at none after one it does not know.
    for _ in range(_CHANCES):
        status, answer = real("PATCH", f"{path_of(base, place)}?fieldManager=a&force=true", config, APPLY)
        assert status == 500, answer
        if answer == ours:
            break
    assert answer == ours


WRONG_STRATEGIC: list[Any] = [
    {"template": {"spec": {"containers": ["x"]}}},
    {"template": {"spec": {"containers": [{"image": "x"}]}}},
    {"template": {"spec": {"containers": [{"$patch": "delete"}]}}},
    {"template": {"spec": {"containers": [{"$patch": "frob", "name": "x"}]}}},
    {"$patch": "frob"},
    {"replicas": "a"},
    {"replicas": True},
    {"paused": "x"},
    {"strategy": "x"},
    {"strategy": [1]},
    {"template": {"spec": {"containers": {"a": 1}}}},
    {"template": {"spec": {"hostname": 5}}},
    {"template": {"spec": {"hostname": 5.5}}},
    {"template": {"spec": {"hostname": True}}},
    {"template": {"spec": {"hostNetwork": 1}}},
    {"template": {"metadata": {"labels": "x"}}},
    {"template": {"metadata": {"labels": {"a": 1}}}},
    {"strategy": {"$retainKeys": ["foo"], "type": "Recreate"}},
    {"template": {"spec": {"$setElementOrder/containers": [{"name": "zz"}], "containers": [{"name": "side"}]}}},
]


@pytest.mark.parametrize("number", range(len(WRONG_STRATEGIC)))
def test_wrong_strategic_patches_are_refused_in_the_same_words(real: Real, place: str, number: int) -> None:
    base = named(bases()["Deployment"], place)
    _, live = real("POST", path_of(base, place, name=False), base)
    status, answer = real("PATCH", path_of(base, place), {"spec": WRONG_STRATEGIC[number]}, STRATEGIC)
    assert status >= 400, answer
    assert patched(live, STRATEGIC, {"spec": WRONG_STRATEGIC[number]}, "a") == answer


def refusal(obj: Obj, before: Obj | None) -> Obj:
    kind = kind_of(obj)
    return invalid(kind, obj["metadata"].get("name", ""), validate(kind, obj, before)).status


@pytest.mark.parametrize("number", range(len(INVALID["create"])))
def test_invalid_objects_are_refused_in_the_same_words(real: Real, place: str, number: int) -> None:
    obj = json.loads(json.dumps(INVALID["create"][number]).replace("NAME", place))
    status, answer = real("POST", f"{path_of(obj, place, name=False)}?dryRun=All", obj)
    assert status == 422, answer
    assert refusal(filled(obj, shape(obj)), None) == answer


@pytest.mark.parametrize("number", range(len(INVALID["update"])))
def test_what_cannot_change_is_refused_in_the_same_words(real: Real, place: str, number: int) -> None:
    good, change = INVALID["update"][number]
    obj = json.loads(json.dumps(good).replace("NAME", place))
    status, live = real("POST", path_of(obj, place, name=False), obj)
    assert status == 201, live
    status, answer = real("PATCH", f"{path_of(obj, place)}?dryRun=All", change, MERGE)
    assert status == 422, answer
    ours = refusal(filled(merge_patch(live, change), shape(obj)), live)
    # Of a claim, the server also shows what differs, as its own structs have it; that is left out.
    for one in (ours, answer):
        one["message"] = one["message"].partition("\n")[0]
        for cause in one["details"]["causes"]:
            cause["message"] = cause["message"].partition("\n")[0]
    assert ours == answer
    if not kind_of(obj).namespaced:
        real("DELETE", path_of(obj, place))
