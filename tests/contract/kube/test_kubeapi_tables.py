"""Tables, which `kubectl get` prints: the lab has the columns of the kinds that people look at."""

from __future__ import annotations

import pytest

from tests.contract.kube.kube_world import TABLE, KubeWorld, config_map, deployment, pod

pytestmark = pytest.mark.slow


def test_a_table_of_one_and_of_many(world: KubeWorld, maps: str) -> None:
    made = world.create(maps, config_map("one", {"a": "1"}, labels={"ours": "yes"})).ok()
    world.create(maps, config_map("two", labels={"ours": "yes"})).ok()
    found = world.get(f"{maps}/one", accept=TABLE).ok()
    assert (found["kind"], found["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert found["metadata"] == {"resourceVersion": made["metadata"]["resourceVersion"]}
    assert [row["cells"][0] for row in found["rows"]] == ["one"]
    assert found["rows"][0]["object"] == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": made["metadata"],
    }
    listed = world.get(maps, accept=TABLE, labelSelector="ours").ok()
    assert [row["cells"][0] for row in listed["rows"]] == ["one", "two"]
    columns = [(column["name"], column["type"], column["format"]) for column in listed["columnDefinitions"]]
    assert (columns[0], columns[-1]) == (("Name", "string", "name"), ("Age", "string", ""))


def test_what_comes_along_with_a_row(world: KubeWorld, maps: str) -> None:
    made = world.create(maps, config_map("one", {"a": "1"})).ok()
    whole = world.get(f"{maps}/one", accept=TABLE, includeObject="Object").ok()
    assert whole["rows"][0]["object"] == made
    none = world.get(f"{maps}/one", accept=TABLE, includeObject="None").ok()
    assert none["rows"][0]["object"] is None
    answer = world.get(f"{maps}/one", accept=TABLE, includeObject="Nope")
    message = (
        "Unable to convert to Table as requested: includeObject: Invalid value: \"Nope\": must be 'Metadata', "
        "'Object', 'None', or empty"
    )
    assert answer.why == (400, "BadRequest", message)


def test_tables_have_pages(world: KubeWorld, pods: str) -> None:
    for name in "abc":
        world.create(pods, pod(name)).ok()
    first = world.get(pods, accept=TABLE, limit=2).ok()
    assert [row["cells"][0] for row in first["rows"]] == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 1
    rest = world.get(pods, accept=TABLE, limit=2, continue_=first["metadata"]["continue"]).ok()
    assert [row["cells"][0] for row in rest["rows"]] == ["c"]


def test_an_empty_table_has_columns(world: KubeWorld, pods: str) -> None:
    found = world.get(pods, accept=TABLE).ok()
    assert found["rows"] == []
    assert [column["name"] for column in found["columnDefinitions"]][:5] == [
        "Name",
        "Ready",
        "Status",
        "Restarts",
        "Age",
    ]


def test_a_row_of_a_pod_and_of_a_deployment(world: KubeWorld, pods: str, deployments: str) -> None:
    world.create(pods, pod("one")).ok()
    cells = world.get(f"{pods}/one", accept=TABLE).ok()["rows"][0]["cells"]
    assert cells[:4] == ["one", "0/1", "Pending", "0"]
    assert cells[5:7] == ["<none>", "<none>"]
    world.create(deployments, deployment("one")).ok()
    cells = world.get(f"{deployments}/one", accept=TABLE).ok()["rows"][0]["cells"]
    assert cells[:4] == ["one", "0/0", 0, 0]


def test_refusals_are_no_tables(world: KubeWorld, maps: str) -> None:
    assert world.get(f"{maps}/none", accept=TABLE).why == (404, "NotFound", 'configmaps "none" not found')


def test_clients_say_what_else_they_take(world: KubeWorld, maps: str) -> None:
    """As `kubectl` does: a table if it can be had, the object if not."""
    world.create(maps, config_map("one")).ok()
    accept = f"{TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
    assert world.get(f"{maps}/one", accept=accept).ok()["kind"] == "Table"
    accept = "application/json;as=Table;v=v9;g=meta.k8s.io,application/json"
    assert world.get(f"{maps}/one", accept=accept).ok()["kind"] == "ConfigMap"
