"""Custom kinds: server-side apply by the schema in their definition, on a real API server and by us."""

from __future__ import annotations

import json
import random
import time
import uuid
from typing import Any

import pytest

from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.managed_fields import FieldConflicts, server_side_apply, track, unwritable
from talosmith_lab.kube.merge_patch import merge_patch
from talosmith_lab.kube.schema import Obj, Schema
from tests.real.kube.apiserver import ApiServer
from tests.real.kube.patience import PATIENCE
from tests.real.kube.shapes import APPLY, MERGE, NOW, Real, comparable

ITEM = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string"},
        "port": {"type": "integer", "default": 80},
        "note": {"type": "string"},
    },
}
SPEC: Obj = {
    "type": "object",
    "properties": {
        "count": {"type": "integer"},
        "size": {"x-kubernetes-int-or-string": True},
        "keyed": {
            "type": "array",
            "items": ITEM,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "port"],
        },
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "plain": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}},
        "whole": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "additionalProperties": {"type": "string"},
        },
        "map": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}},
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "nested": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}},
    },
}
SCHEMA: Obj = {"type": "object", "properties": {"spec": SPEC, "status": {**SPEC}}}
MANAGERS = ("a", "b", "c")


@pytest.fixture(scope="session")
def real(kube_apiserver: ApiServer) -> Real:
    return Real(kube_apiserver.address, kube_apiserver.kubeconfig.parent)


@pytest.fixture(scope="module")
def group(real: Real) -> str:
    """Where the kind is served."""
    name = f"x{uuid.uuid4().hex[:8]}.test"
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{name}"},
        "spec": {
            "group": name,
            "scope": "Namespaced",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [{**version, "schema": {"openAPIV3Schema": SCHEMA}}],
        },
    }
    status, answer = real("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    assert status == 201, answer
    until = time.monotonic() + PATIENCE
    path = f"/apis/{name}/v1/namespaces/default/things/probe?fieldManager=a&dryRun=All"
    probe = {"apiVersion": f"{name}/v1", "kind": "Thing", "metadata": {"name": "probe"}, "spec": {"count": 1}}
    # Served is not enough: apply works by the schema only when the server has it in its OpenAPI.
    while True:
        status, answer = real("PATCH", path, probe, APPLY)
        if status == 201:
            return name
        assert time.monotonic() < until, answer
        time.sleep(0.1)


def _some(draw: random.Random, options: dict[str, Any]) -> Obj:
    return {name: value for name, value in options.items() if draw.random() < 0.5}


def _spec(draw: random.Random) -> Obj:
    items: list[Obj] = [{"name": "x"}, {"name": "y", "port": 80, "note": "n"}, {"name": "x", "port": 81}]
    return _some(
        draw,
        {
            "count": draw.choice((0, 1, 2)),
            "size": draw.choice((1, "50%")),
            "keyed": [
                {**one, **_some(draw, {"note": draw.choice("mn")})} for one in draw.sample(items, draw.randint(0, 3))
            ],
            "set": draw.sample(["p", "q", "r"], draw.randint(0, 3)),
            "plain": [{"a": draw.choice("ab")}],
            "whole": _some(draw, {"k": draw.choice("ab"), "l": "1"}),
            "map": _some(draw, {"k": {"a": draw.choice("ab")}, "l": {}}),
            "free": _some(draw, {"k": {"deep": draw.choice((1, [1, 2], {"x": "y"}))}, "l": draw.choice("ab")}),
            "nested": _some(draw, {"a": draw.choice(("a", "")), "b": False}),
        },
    )


def _with_key_defaults(obj: Obj) -> Obj:
    """What the definition's default fills in; filling in is tested elsewhere."""
    for part in ("spec", "status"):
        for item in (obj.get(part) or {}).get("keyed") or ():
            item.setdefault("port", 80)
    return obj


def _ours(live: Obj | None, content: str, body: Obj, manager: str, force: bool, schema: Schema) -> Obj:
    body = json.loads(json.dumps(body))
    ignored = unwritable({"apiVersion": "lab.test/v1", "kind": "Thing"}, "", has_status=True)
    try:
        if content == APPLY:
            made = server_side_apply(
                live, body, manager=manager, force=force, schema=schema, now=NOW, ignored=ignored
            )
            return _with_key_defaults(made)
        assert live is not None
        after = _with_key_defaults(merge_patch(live, body))
        return track(live, after, manager=manager, schema=schema, now=NOW, ignored=ignored)
    except FieldConflicts as found:
        return ApiError(409, "Conflict", str(found), {"causes": found.causes}).status


@pytest.mark.parametrize("seed", range(14))
def test_custom_objects_are_applied_alike(real: Real, group: str, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311
    schema = Schema.from_crd(SCHEMA)
    name = f"x{uuid.uuid4().hex[:10]}"
    path = f"/apis/{group}/v1/namespaces/default/things/{name}"
    live: Obj | None = None
    for number in range(7):
        manager, force = draw.choice(MANAGERS), draw.random() < 0.6
        content = APPLY if number == 0 or draw.random() < 0.7 else MERGE
        body: Obj = {"spec": _spec(draw)}
        if content == APPLY:
            body |= {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": name}}
        query = f"?fieldManager={manager}" + ("&force=true" if force and content == APPLY else "")
        status, after = real("PATCH", path + query, body, content)
        if status == 422:
            assert "null" in after["message"]  # a map that lost all its entries, which the server itself takes ill
            continue
        assert status in (200, 201, 409), after
        assert comparable(_ours(live, content, body, manager, force, schema)) == comparable(after), (content, body)
        live = after if status < 300 else live
    real("DELETE", path)


def test_status_of_custom_objects_has_its_own_owners(real: Real, group: str) -> None:
    schema = Schema.from_crd(SCHEMA)
    kind = {"apiVersion": f"{group}/v1", "kind": "Thing"}
    obj = {**kind, "metadata": {"name": f"x{uuid.uuid4().hex[:10]}"}, "spec": {"count": 1}, "status": {"count": 2}}
    path = f"/apis/{group}/v1/namespaces/default/things"
    _, live = real("POST", f"{path}?fieldManager=a", obj)
    made = {name: value for name, value in obj.items() if name != "status"}
    ignored = unwritable(kind, "", has_status=True)
    ours = track(None, made, manager="a", schema=schema, now=NOW, ignored=ignored)
    assert comparable(ours) == comparable(live)

    path = f"{path}/{obj['metadata']['name']}"
    patch = {"metadata": {"labels": {"z": "1"}}, "spec": {"count": 4}, "status": {"count": 3, "set": ["p"]}}
    _, after = real("PATCH", f"{path}/status?fieldManager=b", patch, MERGE)
    changed = merge_patch(live, patch)
    ours = track(live, changed, manager="b", schema=schema, now=NOW, subresource="status")
    assert {**comparable(ours)["metadata"], "labels": {}} == {**comparable(after)["metadata"], "labels": {}}

    live = after
    config = {**kind, **patch, "metadata": {"name": obj["metadata"]["name"], "labels": {"z": "1"}}}
    _, after = real("PATCH", f"{path}/status?fieldManager=c&force=true", config, APPLY)
    ours = server_side_apply(live, config, manager="c", force=True, schema=schema, now=NOW, subresource="status")
    status = ours["status"]
    theirs, mine = comparable(after), comparable(ours)
    assert mine["metadata"]["managedFields"] == theirs["metadata"]["managedFields"]
    assert status == after["status"]
