"""Trial runs, and fields that are unknown, doubled or of the wrong type."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.kube.kube_world import STRATEGIC_PATCH, KubeWorld, config_map, deployment, pod

pytestmark = pytest.mark.slow

STRICT = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
TWICE = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":"1","a":"2"}}'


def misspelt(name: str = "one") -> dict[str, Any]:
    return {**config_map(name, labls={}), "dta": 1}


def test_a_creation_on_trial(world: KubeWorld, deployments: str) -> None:
    answer = world.create(deployments, deployment("one"), dryRun="All")
    assert answer.code == 201
    meta = answer.body["metadata"]
    assert "resourceVersion" not in meta
    assert meta["uid"]
    assert answer.body["spec"]["revisionHistoryLimit"] == 10
    assert world.get(f"{deployments}/one").code == 404


def test_changes_on_trial(world: KubeWorld, maps: str) -> None:
    made = world.create(maps, config_map("one", {"a": "1"})).ok()
    for answer in (
        world.patch(f"{maps}/one", {"data": {"a": "2"}}, dryRun="All"),
        world.replace(f"{maps}/one", config_map("one", {"a": "2"}), dryRun="All"),
        world.apply(f"{maps}/one", config_map("one", {"a": "2"}), "first", dryRun="All", force="true"),
    ):
        assert answer.ok()["data"] == {"a": "2"}
        assert answer.body["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert world.get(f"{maps}/one").ok() == made


def test_a_trial_finds_what_is_wrong(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("one")).ok()
    assert world.create(maps, config_map("one"), dryRun="All").why[:2] == (409, "AlreadyExists")
    assert world.create(maps, config_map("A"), dryRun="All").why[:2] == (422, "Invalid")


@pytest.mark.parametrize(("verb", "options"), [("create", "CreateOptions"), ("replace", "UpdateOptions")])
def test_trials_are_whole(world: KubeWorld, maps: str, verb: str, options: str) -> None:
    path = maps if verb == "create" else f"{maps}/one"
    told = 'dryRun: Unsupported value: ["Some"]: supported values: "All"'
    code, reason, message, details = getattr(world, verb)(path, config_map("one"), dryRun="Some").refusal
    assert (code, reason, message) == (422, "Invalid", f'{options}.meta.k8s.io "" is invalid: {told}')
    assert (details["group"], details["kind"]) == ("meta.k8s.io", options)


def test_unknown_fields_are_refused_by_who_is_strict(world: KubeWorld, maps: str) -> None:
    message = f'{STRICT}unknown field "metadata.labls", unknown field "dta"'
    assert world.create(maps, misspelt(), fieldValidation="Strict").why == (400, "BadRequest", message)
    world.create(maps, config_map("one")).ok()
    assert world.replace(f"{maps}/one", misspelt(), fieldValidation="Strict").why == (400, "BadRequest", message)


def test_unknown_fields_are_warned_of(world: KubeWorld, maps: str) -> None:
    answer = world.create(maps, misspelt())
    assert "dta" not in answer.ok()
    assert answer.warnings == ['299 - "unknown field \\"metadata.labls\\""', '299 - "unknown field \\"dta\\""']
    quiet = world.create(maps, misspelt("two"), fieldValidation="Ignore")
    assert (quiet.code, quiet.warnings) == (201, [])


def test_doubled_fields(world: KubeWorld, maps: str) -> None:
    message = f'{STRICT}duplicate field "data.a"'
    assert world.create(maps, TWICE, fieldValidation="Strict").why == (400, "BadRequest", message)
    answer = world.create(maps, TWICE)
    assert answer.ok()["data"] == {"a": "2"}
    assert answer.warnings == ['299 - "duplicate field \\"data.a\\""']


def test_unknown_fields_deep_inside(world: KubeWorld, pods: str) -> None:
    wrong = pod("one")
    wrong["spec"]["containers"] = [{"name": "c", "image": "x", "imag": "y", "ports": [{"cport": 1}]}]
    message = (
        'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field '
        '"spec.containers[0].imag", unknown field "spec.containers[0].ports[0].cport"'
    )
    assert world.create(pods, wrong, fieldValidation="Strict").why == (400, "BadRequest", message)


def test_unknown_fields_in_patches(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("one")).ok()
    told = 'Invalid value: "map[dta:1]": strict decoding error: unknown field "dta"'
    found = world.patch(f"{maps}/one", {"dta": 1}, STRATEGIC_PATCH, fieldValidation="Strict").refusal
    causes = [{"reason": "FieldValueInvalid", "message": told, "field": "patch"}]
    assert found == (422, "Invalid", f' "" is invalid: patch: {told}', {"causes": causes})
    code, reason, message = world.patch(f"{maps}/one", {"dta": 1}, fieldValidation="Strict").why
    assert (code, reason) == (422, "Invalid")
    assert message.endswith(': strict decoding error: unknown field "dta"')
    answer = world.patch(f"{maps}/one", {"dta": 1})
    assert answer.warnings == ['299 - "unknown field \\"dta\\""']


def test_a_validation_that_is_not_known(world: KubeWorld, maps: str) -> None:
    message = (
        'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Nope": supported values: '
        '"", "Ignore", "Strict", "Warn"'
    )
    assert world.create(maps, config_map("one"), fieldValidation="Nope").why == (422, "Invalid", message)


@pytest.mark.parametrize(
    ("kind", "change", "why"),
    [
        ("ConfigMap", {"data": {"a": 1}}, "number into Go struct field ConfigMap.data of type string"),
        ("ConfigMap", {"data": []}, "array into Go struct field ConfigMap.data of type map[string]string"),
        ("ConfigMap", {"immutable": "x"}, "string into Go struct field ConfigMap.immutable of type bool"),
        (
            "Pod",
            {"spec": {"containers": "x"}},
            "string into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            "Pod",
            {"spec": {"containers": [{"name": 1}]}},
            "number into Go struct field Container.spec.containers.name of type string",
        ),
        (
            "Deployment",
            {"spec": {"replicas": "x"}},
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
    ],
    ids=["number", "list", "string", "no list", "in a list", "no number"],
)
def test_values_of_the_wrong_type(
    world: KubeWorld, maps: str, pods: str, deployments: str, kind: str, change: Any, why: str
) -> None:
    path, good = {
        "ConfigMap": (maps, config_map("one")),
        "Pod": (pods, pod("one")),
        "Deployment": (deployments, deployment("one")),
    }[kind]
    message = f'{kind} in version "v1" cannot be handled as a {kind}: json: cannot unmarshal {why}'
    assert world.create(path, {**good, **change}).why == (400, "BadRequest", message)
