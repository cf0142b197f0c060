"""Merging, selecting and renaming, piece by piece; expected values are kustomize's."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.kustomize.generators import content_hash
from talosmith.kustomize.json_patch import apply
from talosmith.kustomize.merge import MISSING, merge
from talosmith.kustomize.resources import Resource
from talosmith.kustomize.selectors import selects
from talosmith.kustomize.transform import new_reference

POD = {"apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(
    ("old", "patch", "merged"),
    [
        ({"a": 1, "b": {"c": 1}}, {"a": None, "b": {"d": 2}}, {"b": {"c": 1, "d": 2}}),
        ({"a": None, "b": 1}, {}, {"a": None, "b": 1}),
        ({}, {"a": {"b": None, "c": {"$patch": "delete", "d": 1}}}, {"a": {}}),
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}, "c": 1}, {"a": {"$patch": "delete"}}, {"c": 1}),
        ({"a": [1, {"name": "x"}]}, {"a": [{"name": "y"}]}, {"a": [{"name": "y"}]}),
        ({"a": 1}, {"$patch": "delete"}, MISSING),
    ],
)
def test_maps_are_merged(old: Any, patch: Any, merged: Any) -> None:
    assert merge(old, patch) == merged


@pytest.mark.parametrize(
    ("field", "old", "patch", "merged"),
    [
        ("volumes", "a b c", "new b", "new b a c"),
        ("volumes", "a b", "a:delete", "b"),
        ("volumes", "a b", "*:replace c", "c"),
        ("volumes", "a b", "*:delete", None),
        ("volumes", "", "b a:delete", "b"),
        ("tolerations", "a b", "c", "c"),
    ],
)
def test_lists_are_merged_by_name(field: str, old: str, patch: str, merged: str | None) -> None:
    def elements(text: str) -> list[dict[str, str]]:
        found = []
        for name, _, directive in (word.partition(":") for word in text.split()):
            found.append(({"name": name} if name != "*" else {}) | ({"$patch": directive} if directive else {}))
        return found

    result = merge(POD | {"spec": {field: elements(old)}}, POD | {"spec": {field: elements(patch)}})
    assert result["spec"] == ({} if merged is None else {field: elements(merged)})


def test_ports_have_two_keys() -> None:
    def pod(*ports: dict[str, Any]) -> dict[str, Any]:
        return POD | {"spec": {"containers": [{"name": "a", "ports": list(ports)}]}}

    old = pod({"containerPort": 53, "protocol": "UDP"}, {"containerPort": 53, "protocol": "TCP"})
    patch = pod({"containerPort": 53, "protocol": "TCP", "name": "dns"}, {"containerPort": 80})
    assert merge(old, patch)["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80},
        {"containerPort": 53, "protocol": "UDP"},
        {"containerPort": 53, "protocol": "TCP", "name": "dns"},
    ]


def test_json_patches() -> None:
    document = {"list": [1, 2], "a/b": {"~": 1}}
    operations = [
        {"op": "add", "path": "/list/-", "value": 3},
        {"op": "add", "path": "/list/0", "value": 0},
        {"op": "remove", "path": "/list/-1"},
        {"op": "replace", "path": "/a~1b/~0", "value": [2]},
        {"op": "copy", "from": "/a~1b", "path": "/copy"},
        {"op": "add", "path": "/copy/~0/-", "value": 3},
        {"op": "move", "from": "/list", "path": "/moved"},
        {"op": "test", "path": "/moved", "value": [0, 1, 2]},
    ]
    apply(document, operations)
    assert document == {"a/b": {"~": [2]}, "copy": {"~": [2, 3]}, "moved": [0, 1, 2]}


@pytest.mark.parametrize(
    ("target", "selected"),
    [
        ({}, True),
        ({"kind": "Deploy.*", "group": "apps", "version": "v1"}, True),
        ({"kind": "Deploy"}, False),
        ({"name": "old|other"}, True),
        ({"name": "ne"}, False),
        ({"namespace": "default"}, True),
        ({"labelSelector": "app=web,tier in (a, b),!gone,tier!=c,count>1,count<3,app"}, True),
        ({"labelSelector": "app notin (web)"}, False),
        ({"labelSelector": "gone"}, False),
        ({"annotationSelector": "a/b==c"}, True),
    ],
)
def test_targets(target: dict[str, str], selected: bool) -> None:
    metadata: dict[str, Any] = {"name": "old", "labels": {"app": "web", "tier": "a", "count": "2"}}
    metadata["annotations"] = {"a/b": "c"}
    one = Resource({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata})
    one.remember()
    metadata |= {"name": "new", "namespace": "prod"}
    assert selects(target, one) is selected


@pytest.mark.parametrize(
    ("reference", "image", "renamed"),
    [
        ("nginx", {"name": "nginx", "newTag": "2"}, "nginx:2"),
        ("nginx:1@sha256:aa", {"name": "nginx", "newTag": "2"}, "nginx:2"),
        ("nginx:1", {"name": "nginx", "digest": "sha256:bb"}, "nginx@sha256:bb"),
        ("host:5000/a:1", {"name": "host:5000/a", "newName": "b"}, "b:1"),
        ("nginx-extra:1", {"name": "nginx", "newTag": "2"}, "nginx-extra:1"),
        ("nginx:1", {"name": "(", "newTag": "2"}, "nginx:1"),
        ("nginx:1@sha256:aa", {"name": "nginx", "tagSuffix": "-x"}, "nginx:1-x"),
    ],
)
def test_images(reference: str, image: dict[str, str], renamed: str) -> None:
    assert new_reference(reference, image) == renamed


def test_hashes() -> None:
    assert content_hash({"kind": "ConfigMap", "data": {"A": "1"}}) == "89g4tffbfk"
    assert content_hash({"kind": "Secret", "type": "Opaque", "data": {"A": "MQ=="}}) == "526mcbf5c2"
    assert content_hash({"kind": "ConfigMap"}) == "6ct58987ht"
