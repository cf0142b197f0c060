"""Manifests: what is read, in which order it is applied, and how changes are shown."""

from __future__ import annotations

import time
from typing import Any

import pytest

from talosmith.errors import UsageError
from talosmith.kube.diff import difference, same
from talosmith.kube.inventory import check_name, why_kept, why_not_ours
from talosmith.kube.manifests import read, stages


def item(kind: str, name: str = "x", **other: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **other}


def test_what_others_need_comes_first() -> None:
    kinds = [
        "ValidatingWebhookConfiguration",
        "Widget",
        "Deployment",
        "Service",
        "ConfigMap",
        "CustomResourceDefinition",
        "Namespace",
    ]
    ordered = [[one["kind"] for one in stage] for stage in stages(item(kind) for kind in kinds)]
    assert ordered == [
        ["Namespace"],
        ["CustomResourceDefinition"],
        ["ConfigMap"],
        ["Service"],
        ["Deployment"],
        ["Widget"],
        ["ValidatingWebhookConfiguration"],
    ]


def test_lists_are_taken_apart_and_nothing_is_nothing() -> None:
    text = """
---
---
apiVersion: v1
kind: ConfigMapList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
- apiVersion: v1
  kind: List
  items: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}]
"""
    assert [one["metadata"]["name"] for one in read(text)] == ["a", "b"]
    assert read("") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("kind: X", "not a Kubernetes object"),
        ("apiVersion: v1\nkind: X", "no metadata.name"),
        ("{apiVersion: v1, kind: X, metadata: {generateName: a-}}", "no metadata.name"),
        ("a: ]", "line 1"),
        ("a: 1\na: 2", "line 2: the key 'a' twice"),
        ("apiVersion: v1\nkind: X\nmetadata: {name: a}\n---\napiVersion: v1\nkind: X\nmetadata: {name: a}", "twice"),
        ("!!python/object:os.system {}", "not a Kubernetes object"),  # the tag means nothing, as to kubectl
        ("null: 1", "a key must be text"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(text)


def test_the_same_object_in_two_versions_is_one() -> None:
    old = {**item("Gateway"), "apiVersion": "g.example.org/v1beta1"}
    with pytest.raises(UsageError, match="twice"):
        read([old, {**old, "apiVersion": "g.example.org/v1"}])


def test_aliases_that_unfold_without_end() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    start = time.process_time()
    with pytest.raises(UsageError, match="values"):
        read("\n".join(lines))
    assert time.process_time() - start < 20  # all of them would be ten thousand million


SECRET = item("Secret", data={"a": "b2xk", "b": "c2FtZQ=="})


def test_secrets_are_not_shown_but_that_they_differ_is() -> None:
    after = {**SECRET, "data": {"a": "bmV3", "b": "c2FtZQ==", "c": "YWRkZWQ="}}
    text = difference(SECRET, after)
    assert "+  a: '*** (another value)'" in text
    assert "   b: '***'" in text
    assert "+  c: '***'" in text
    for value in ("b2xk", "bmV3", "c2FtZQ", "YWRkZWQ"):
        assert value not in text
        assert value not in difference(SECRET, None)
    assert difference(SECRET, SECRET) == ""


def test_kubectls_copy_of_a_secret_is_not_shown() -> None:
    note = {"kubectl.kubernetes.io/last-applied-configuration": '{"data":{"a":"b2xk"}}', "other": "note"}
    annotated = {**SECRET, "metadata": {"name": "x", "annotations": note}}
    text = difference(None, annotated)
    assert "b2xk" not in text
    assert "other: note" in text


def test_what_only_the_server_writes_is_no_difference() -> None:
    after = {
        **item("Deployment", status={"replicas": 3}),
        "metadata": {"name": "x", "uid": "1", "resourceVersion": "7", "generation": 2, "managedFields": [{}]},
    }
    assert same(item("Deployment"), after)
    assert difference(item("Deployment"), after) == ""
    assert not same(item("Deployment"), item("Deployment", spec={}))


def ours(kind: str = "ConfigMap", **changes: Any) -> dict[str, Any]:
    meta = {
        "name": "x",
        "labels": {"talosmith.dev/set": "s"},
        "managedFields": [{"manager": "talosmith", "operation": "Apply"}],
        **changes,
    }
    return {"apiVersion": "v1", "kind": kind, "metadata": meta}


def test_what_may_be_pruned() -> None:
    assert why_not_ours(ours(), "s") == ""
    assert why_kept(ours()) == ""
    assert why_not_ours(ours(), "other")
    assert why_not_ours(ours(managedFields=[{"manager": "talosmith", "operation": "Update"}]), "s")
    assert why_not_ours(ours(managedFields=[{"manager": "helm", "operation": "Update"}]), "s")
    assert why_not_ours(ours(managedFields=[{"manager": "helm", "operation": "Apply"}]), "s") == "", "of a chart"
    assert why_kept(ours(annotations={"helm.sh/resource-policy": "keep"}))
    for kind in ("Namespace", "CustomResourceDefinition", "PersistentVolumeClaim", "PersistentVolume"):
        assert why_kept(ours(kind))


@pytest.mark.parametrize("name", ["", "A", "a_b", "-a", "a" * 60])
def test_names_of_sets(name: str) -> None:
    check_name("add-ons")
    with pytest.raises(UsageError):
        check_name(name)
