"""Trial runs, and fields that are unknown, doubled or of the wrong type."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.kube.kube_world import KubeWorld, config_map, deployment

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


def test_a_validation_that_is_not_known(world: KubeWorld, maps: str) -> None:
    message = (
        'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Nope": supported values: '
        '"", "Ignore", "Strict", "Warn"'
    )
    assert world.create(maps, config_map("one"), fieldValidation="Nope").why == (422, "Invalid", message)
