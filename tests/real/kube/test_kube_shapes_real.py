"""Our knowledge of shapes held to a real API server: the same writes, the same objects, the same owners of fields."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith_lab.kube.managed_fields import server_side_apply, track
from talosmith_lab.kube.merge_patch import merge_patch
from talosmith_lab.kube.quantity import MILLI, canonical
from talosmith_lab.kube.schema import Obj
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.shape_steps import bases, step
from tests.real.kube.shapes import (
    APPLY,
    MERGE,
    NOW,
    Real,
    comparable,
    created,
    filled,
    kind_of,
    named,
    patched,
    path_of,
    shape,
)
from tools import kube_schemas, kube_wire

OBJECTS: list[Obj] = yaml.safe_load((Path(__file__).parent / "shape_objects.yaml").read_text())
SEEDS = range(10)
STEPS = 6


@pytest.fixture(scope="session")
def real(kube_apiserver: ApiServer) -> Real:
    return Real(kube_apiserver.address, kube_apiserver.kubeconfig.parent)


@pytest.fixture
def place(real: Real, unique: str) -> str:
    """A namespace of its own."""
    status, _ = real("POST", "/api/v1/namespaces", {"metadata": {"name": unique}})
    assert status == 201
    return unique


def test_data_is_what_the_real_server_says(peer: Any) -> None:
    for binary in ("etcd", "kube-apiserver"):
        peer(binary)
    with kube_schemas.api_server() as (fetch, send):
        fresh = kube_schemas.gather(fetch, send)
    for name, content in fresh.items():
        assert (kube_schemas.FOLDER / name).read_bytes() == content, f"{name}: run `python -m tools.kube_schemas`"


def test_the_table_of_messages_is_that_of_the_go_modules(peer: Any) -> None:
    peer("kube-apiserver")  # made of the same modules
    kept = gzip.decompress((kube_schemas.FOLDER / "wire.json.gz").read_bytes()).decode()
    assert kept == kube_wire.table(), "run `python -m tools.kube_wire`"


@pytest.mark.parametrize("number", range(len(OBJECTS)), ids=lambda one: f"{one:02}-{OBJECTS[one]['kind']}")
def test_created_objects_are_filled_and_owned_alike(real: Real, place: str, number: int) -> None:
    obj = named(OBJECTS[number], place)
    status, answer = real("POST", f"{path_of(obj, place, name=False)}?fieldManager=m", obj)
    assert status == 201, answer["message"]
    assert comparable(created(obj, "m")) == comparable(answer)
    if not kind_of(obj).namespaced:
        real("DELETE", path_of(obj, place))


@pytest.mark.parametrize("kind", bases())
@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_writes_come_out_alike(real: Real, place: str, kind: str, seed: int) -> None:
    draw = random.Random(f"{kind}{seed}")  # noqa: S311
    obj = named(bases()[kind], place)
    compared = 0
    if seed % 3:
        _, live = real("POST", f"{path_of(obj, place, name=False)}?fieldManager=helm", obj)
        ours = created(obj, "helm")
    else:
        _, live = real("PATCH", f"{path_of(obj, place)}?fieldManager=flux", obj, APPLY)
        ours = server_side_apply(None, obj, manager="flux", force=False, schema=shape(obj), now=NOW)
    assert comparable(ours) == comparable(live)
    for _ in range(STEPS):
        one = step(kind, draw)
        if one.content == APPLY:
            one.body["metadata"]["name"] = obj["metadata"]["name"]
        query = f"?fieldManager={one.manager}&force={'true' if one.force else ''}"
        status, after = real("PATCH", path_of(obj, place) + query.removesuffix("&force="), one.body, one.content)
        if status == 422 and "rejected our request" not in after["message"]:
            continue  # the result would not be valid, which is judged elsewhere
        assert comparable(patched(live, one.content, one.body, one.manager, force=one.force)) == comparable(after), (
            one
        )
        compared += 1
        live = after if status < 300 else live
    assert compared
    if not kind_of(obj).namespaced:
        real("DELETE", path_of(obj, place))


def updated(live: Obj, body: Obj, manager: str, subresource: str = "") -> Obj:
    schema = shape(live)
    made = filled(body, schema)
    if subresource:
        made = {**live, "status": made.get("status", {}), "metadata": made["metadata"]}
    return track(live, made, manager=manager, schema=schema, now=NOW, subresource=subresource)


def test_updates_move_ownership_alike(real: Real, place: str) -> None:
    obj = named(bases()["Deployment"], place)
    _, live = real("POST", f"{path_of(obj, place, name=False)}?fieldManager=a", obj)
    for manager, change in (
        ("b", {"replicas": 5}),
        ("a", {"replicas": 5}),
        ("c", {"minReadySeconds": 3, "replicas": 5}),
        ("a", {"minReadySeconds": 0}),
        ("b", {"strategy": {"type": "Recreate"}}),
    ):
        body = {**live, "spec": {**live["spec"], **change}}
        status, after = real("PUT", f"{path_of(obj, place)}?fieldManager={manager}", body)
        assert status == 200, after
        assert comparable(updated(live, body, manager)) == comparable(after)
        live = after


def test_owners_can_be_wiped_and_come_back_with_the_first_apply(real: Real, place: str) -> None:
    obj = named(bases()["Deployment"], place)
    _, live = real("POST", f"{path_of(obj, place, name=False)}?fieldManager=a", obj)
    wiped = {"metadata": {"managedFields": [{}]}}
    status, after = real("PATCH", f"{path_of(obj, place)}?fieldManager=b", wiped, MERGE)
    assert status == 200
    assert "managedFields" not in after["metadata"]
    assert comparable(patched(live, MERGE, wiped, "b")) == comparable(after)
    live = after
    change = {"spec": {"replicas": 3}}
    _, after = real("PATCH", f"{path_of(obj, place)}?fieldManager=b", change, MERGE)
    assert comparable(patched(live, MERGE, change, "b")) == comparable(after)
    live = after
    config = {**named(bases()["Deployment"], place), "metadata": {"name": obj["metadata"]["name"]}}
    config["spec"]["replicas"] = 3
    status, after = real("PATCH", f"{path_of(obj, place)}?fieldManager=c", config, APPLY)
    assert status == 200, after
    assert {one["manager"] for one in after["metadata"]["managedFields"]} == {"before-first-apply", "c"}
    assert comparable(patched(live, APPLY, config, "c")) == comparable(after)
    config["spec"]["replicas"] = 4
    status, refused = real("PATCH", f"{path_of(obj, place)}?fieldManager=d", config, APPLY)
    assert status == 409
    assert comparable(patched(after, APPLY, config, "d")) == comparable(refused)


def test_status_has_its_own_owners(real: Real, place: str) -> None:
    obj = named(bases()["Deployment"], place)
    _, live = real("POST", f"{path_of(obj, place, name=False)}?fieldManager=a", obj)
    condition = {"type": "Available", "status": "True", "reason": "x", "message": "y"}
    path = f"{path_of(obj, place)}/status"
    patch = {"status": {"replicas": 1, "conditions": [condition]}, "spec": {"replicas": 9}}
    status, after = real("PATCH", f"{path}?fieldManager=k", patch, MERGE)
    assert status == 200, after
    assert comparable(patched(live, MERGE, patch, "k", subresource="status")) == comparable(after)
    live = after
    config = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": obj["metadata"]["name"]},
        "status": {"replicas": 2, "conditions": [{**condition, "type": "Other"}]},
    }
    status, refused = real("PATCH", f"{path}?fieldManager=l", config, APPLY)
    assert status == 409
    assert comparable(patched(live, APPLY, config, "l", subresource="status")) == comparable(refused)
    status, after = real("PATCH", f"{path}?fieldManager=l&force=true", config, APPLY)
    assert status == 200, after
    assert comparable(patched(live, APPLY, config, "l", force=True, subresource="status")) == comparable(after)


def test_kubectl_may_take_over_what_it_applied_itself_before(real: Real, place: str) -> None:
    obj = named(bases()["ConfigMap"], place)
    last = json.dumps({**obj, "metadata": {**obj["metadata"], "annotations": {}, "namespace": place}}) + "\n"
    annotated = {**obj["metadata"], "annotations": {"kubectl.kubernetes.io/last-applied-configuration": last}}
    create = {**obj, "metadata": annotated}
    _, live = real("POST", f"{path_of(obj, place, name=False)}?fieldManager=kubectl-client-side-apply", create)
    assert comparable(created(create, "kubectl-client-side-apply")) == comparable(live)
    config = {**obj, "data": {"a": "new", "c": "3"}}
    status, after = real("PATCH", f"{path_of(obj, place)}?fieldManager=kubectl", config, APPLY)
    assert status == 200, after
    assert comparable(patched(live, APPLY, config, "kubectl")) == comparable(after)
    live = after
    status, refused = real(
        "PATCH", f"{path_of(obj, place)}?fieldManager=other", {**config, "data": {"a": "x"}}, APPLY
    )
    assert status == 409
    assert comparable(patched(live, APPLY, {**config, "data": {"a": "x"}}, "other")) == comparable(refused)


QUANTITIES = (
    *("0", "1", "1000", "1500", "1024", "0.5", "0.001", "1.5", "100m", "1500m", "1000m", "0.0001", "1e3", "12e6"),
    *("1Ki", "1024Ki", "1536Mi", "0.5Gi", "1.5Gi", "1000Ki", "0.5Ki", "1k", "1000k", "1.5k", "2M", "1E", "1u", "5n"),
    *("1.25Gi", "0.1Mi", "100Gi", "2048Ti", "10.0", "0.10", "3e-3", "123456789", "1100000u"),
)


def test_quantities_are_written_alike(real: Real, place: str) -> None:
    differing = []
    for text in QUANTITIES:
        obj = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}}
        status, answer = real(
            "POST", f"{path_of(obj, place, name=False)}?dryRun=All", {**obj, "spec": {"hard": {"requests.cpu": text}}}
        )
        assert status == 201, answer
        if canonical(text, MILLI) != answer["spec"]["hard"]["requests.cpu"]:
            differing.append((text, canonical(text, MILLI), answer["spec"]["hard"]["requests.cpu"]))
    assert not differing


def test_the_oldest_of_many_updaters_are_put_together_alike(real: Real, place: str) -> None:
    obj = named(bases()["ConfigMap"], place)
    _, live = real("POST", f"{path_of(obj, place, name=False)}?fieldManager=m00", obj)
    for number in range(1, 15):
        patch = {"data": {f"k{number}": "1"}}
        status, after = real("PATCH", f"{path_of(obj, place)}?fieldManager=m{number:02}", patch, MERGE)
        assert status == 200
        now = max(entry["time"] for entry in after["metadata"]["managedFields"])
        ours = track(live, merge_patch(live, patch), manager=f"m{number:02}", schema=shape(obj), now=now)
        assert comparable(ours) == comparable(after), number
        live = after
    assert "ancient-changes" in {entry["manager"] for entry in live["metadata"]["managedFields"]}
