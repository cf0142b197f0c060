"""Applying to a real API server: the order, conflicts, pruning, and what a dry run foretells."""

from __future__ import annotations

import json
from typing import Any

import pytest

from talosmith.errors import UsageError
from talosmith.kube import Conflict, FieldConflict, Invalid, KubeClient, NotApplied, NotServed, Progress, Ref, apply
from talosmith.kube.client import FIELD_MANAGER
from talosmith.kube.objects import labels


def definition(group: str) -> str:
    return f"""
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.{group}}}
spec:
  group: {group}
  scope: Namespaced
  names: {{plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
"""


def whole_set(name: str) -> str:
    """What must come last stands first."""
    return f"""
apiVersion: {name}.example.org/v1
kind: Widget
metadata: {{name: w, namespace: {name}}}
spec: {{mode: 0644, on: yes, at: 12:30, day: 2026-01-02, big: 1e3}}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {{name: cm, namespace: {name}}}
  data: {{a: "1"}}
- apiVersion: v1
  kind: Secret
  metadata: {{name: s, namespace: {name}}}
  stringData: {{password: correct-horse}}
---
# nothing
---
{definition(f"{name}.example.org")}
---
apiVersion: v1
kind: Namespace
metadata: {{name: {name}}}
"""


async def apply_as(client: KubeClient, manager: str, item: dict[str, Any]) -> None:
    """What somebody else does."""
    ref = Ref.of(item)
    resource = await client.resource(ref.api_version, ref.kind)
    await client.caller.ask(
        "PATCH",
        resource.path(ref.namespace, ref.name),
        params={"fieldManager": manager, "force": "true"},
        body=item,
        content_type="application/apply-patch+yaml",
    )


def config_map(namespace: str, name: str = "cm", **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def test_everything_in_its_order_and_a_second_time_nothing(client: KubeClient, unique: str) -> None:
    told: list[Progress] = []
    applied = await apply(client, whole_set(unique), report=told.append)
    kinds = [ref.kind for ref in applied.of("created")]
    assert kinds == ["Namespace", "CustomResourceDefinition", "ConfigMap", "Secret", "Widget"]
    assert told[-1].ok
    widget = await client.get(Ref(f"{unique}.example.org/v1", "Widget", "w", unique))
    assert widget["spec"] == {"mode": 420, "true": True, "at": "12:30", "day": "2026-01-02", "big": 1000}
    owners = {one["manager"] for one in widget["metadata"]["managedFields"]}
    assert owners == {FIELD_MANAGER}
    again = await apply(client, whole_set(unique))
    assert again.nothing_to_do
    assert len(again.of("unchanged")) == 5


async def test_a_dry_run_tells_and_changes_nothing(client: KubeClient, unique: str) -> None:
    foretold = await apply(client, whole_set(unique), name=unique, dry_run=True)
    assert len(foretold.of("created")) == 5
    assert await client.find(Ref("v1", "Namespace", unique)) is None
    await apply(client, whole_set(unique), name=unique)
    assert (await apply(client, whole_set(unique), name=unique, dry_run=True)).nothing_to_do
    changed = whole_set(unique).replace("correct-horse", "battery-staple").replace('a: "1"', 'a: "2"')
    foretold = await apply(client, changed, name=unique, dry_run=True)
    assert [ref.kind for ref in foretold.of("changed")] == ["ConfigMap", "Secret"]
    text = foretold.text()
    assert "-  a: '1'" in text
    assert "+  a: '2'" in text
    assert "another value" in text
    for secret in ("correct-horse", "battery-staple", "Y29ycmVjdC1ob3JzZQ", "YmF0dGVyeS1zdGFwbGU"):
        assert secret not in text
    assert (await client.get(Ref("v1", "ConfigMap", "cm", unique)))["data"] == {"a": "1"}


async def test_a_conflict_names_the_owner_and_the_field(client: KubeClient, namespace: str) -> None:
    await apply_as(client, "somebody", config_map(namespace, a="theirs", b="theirs"))
    with pytest.raises(Conflict, match=r"\.data\.a \(owned by somebody\)") as caught:
        await apply(client, [config_map(namespace, a="ours")])
    assert caught.value.conflicts == (FieldConflict("somebody", ".data.a"),)
    with pytest.raises(Conflict):
        await apply(client, [config_map(namespace, a="ours")], dry_run=True)
    await apply(client, [config_map(namespace, a="ours")], force=True)
    assert (await client.get(Ref("v1", "ConfigMap", "cm", namespace)))["data"] == {"a": "ours", "b": "theirs"}


async def test_all_that_fails_together_is_told_together(client: KubeClient, namespace: str) -> None:
    await apply_as(client, "somebody", config_map(namespace, "first", a="theirs"))
    wrong = {**config_map(namespace, "second"), "dta": {}}
    with pytest.raises(NotApplied) as caught:
        await apply(client, [config_map(namespace, "first", a="ours"), wrong, config_map(namespace, "third")])
    assert {ref.name: type(error) for ref, error in caught.value.failures.items()} == {
        "first": Conflict,
        "second": Invalid,
    }
    assert await client.find(Ref("v1", "ConfigMap", "third", namespace)) is not None


async def test_an_unknown_kind_is_refused_before_anything_is_done(client: KubeClient, namespace: str) -> None:
    unknown = {"apiVersion": "nowhere.example.org/v1", "kind": "Thing", "metadata": {"name": "x"}}
    with pytest.raises(NotServed, match="Thing"):
        await apply(client, [config_map(namespace), unknown])
    assert await client.find(Ref("v1", "ConfigMap", "cm", namespace)) is None


async def test_what_is_no_longer_wanted_goes(client: KubeClient, namespace: str, unique: str) -> None:
    names = ("a", "b", "c", "d")
    await apply(client, [config_map(namespace, name, x="1") for name in names], name=unique, prune=True)
    await client.create(config_map(namespace, "foreign"))
    unmarked = Ref("v1", "ConfigMap", "b", namespace)
    await client.patch(unmarked, {"metadata": {"labels": {"talosmith.dev/set": None}}})
    kept = Ref("v1", "ConfigMap", "c", namespace)
    await client.patch(kept, {"metadata": {"annotations": {"talosmith.dev/prune": "disabled"}}})
    wanted = [config_map(namespace, "a", x="1")]

    foretold = await apply(client, wanted, name=unique, prune=True, dry_run=True)
    assert [ref.name for ref in foretold.of("pruned")] == ["d"]
    assert await client.find(Ref("v1", "ConfigMap", "d", namespace)) is not None

    done = await apply(client, wanted, name=unique, prune=True)
    assert [ref.name for ref in done.of("pruned")] == ["d"]
    assert {change.ref.name: change.note for change in done.changes if change.outcome == "kept"} == {
        "b": "it is no longer marked as ours",
        "c": "it says that it is to be kept",
    }
    left = {item["metadata"]["name"] for item in (await client.list("v1", "ConfigMap", namespace)).items}
    assert left == {"a", "b", "c", "foreign"}
    # What was kept stays known, what is not ours does not.
    again = await apply(client, wanted, name=unique, prune=True)
    assert [ref.name for ref in again.of("kept")] == ["c"]


async def test_another_object_of_the_same_name_survives(client: KubeClient, namespace: str, unique: str) -> None:
    await apply(client, [config_map(namespace, "a"), config_map(namespace, "b")], name=unique)
    await client.delete(Ref("v1", "ConfigMap", "b", namespace))
    await client.create({**config_map(namespace, "b"), "data": {"new": "owner"}})
    done = await apply(client, [config_map(namespace, "a")], name=unique, prune=True)
    assert done.of("pruned") == ()
    assert (await client.get(Ref("v1", "ConfigMap", "b", namespace)))["data"] == {"new": "owner"}


async def test_a_run_that_failed_is_cleaned_up_by_the_next(client: KubeClient, namespace: str, unique: str) -> None:
    broken = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": namespace}}
    with pytest.raises(Invalid):
        await apply(client, [config_map(namespace, "a"), broken], name=unique)
    done = await apply(client, [config_map(namespace, "b")], name=unique, prune=True)
    assert [ref.name for ref in done.of("pruned")] == ["a"]


async def test_namespaces_and_definitions_are_never_pruned(client: KubeClient, unique: str) -> None:
    await apply(client, whole_set(unique), name=unique)
    done = await apply(client, [], name=unique, prune=True)
    assert [ref.kind for ref in done.of("pruned")] == ["Widget", "ConfigMap", "Secret"]
    assert [ref.kind for ref in done.of("kept")] == ["CustomResourceDefinition", "Namespace"]


async def test_the_list_in_the_cluster_holds_names_only(client: KubeClient, unique: str) -> None:
    await apply(client, whole_set(unique), name=unique)
    listed = await client.get(Ref("v1", "ConfigMap", f"talosmith-set-{unique}", "kube-system"))
    assert "correct-horse" not in json.dumps(listed)
    assert len(json.loads(listed["data"]["objects"])) == 5
    secret = await client.get(Ref("v1", "Secret", "s", unique))
    assert labels(secret) == {"talosmith.dev/set": unique}


async def test_objects_without_a_namespace_get_the_one_that_is_given(client: KubeClient, namespace: str) -> None:
    lost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "lost"}}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": namespace}}
    applied = await apply(client, [lost, role], namespace=namespace)
    assert {str(ref) for ref in applied.of("created")} == {f"ConfigMap {namespace}/lost", f"ClusterRole {namespace}"}


async def test_warnings_of_the_server_are_passed_on(client: KubeClient, namespace: str) -> None:
    meta = {"name": "old", "namespace": namespace}
    slices = {"apiVersion": "v1", "kind": "Endpoints", "metadata": meta}
    applied = await apply(client, [slices])
    assert any("deprecated" in warning for warning in applied.changes[0].warnings)


async def test_pruning_needs_a_name(client: KubeClient) -> None:
    with pytest.raises(UsageError, match="name for a set"):
        await apply(client, [], prune=True)


async def test_many_of_a_kind(client: KubeClient, namespace: str) -> None:
    first = [config_map(namespace, f"cm-{number}", a="1") for number in range(12)]
    assert len((await apply(client, first)).of("created")) == 12
    second = [config_map(namespace, f"cm-{number}", a="2" if number < 3 else "1") for number in range(14)]
    foretold = await apply(client, second, dry_run=True)
    done = await apply(client, second)
    for applied in (foretold, done):
        counts = [len(applied.of(outcome)) for outcome in ("changed", "created", "unchanged")]
        assert counts == [3, 2, 9]


@pytest.mark.parametrize("wrong", [{"data": {"p": "not base64: hunter2"}}, {"stringData": {"p": {"x": "hunter2"}}}])
async def test_errors_do_not_show_secrets(client: KubeClient, namespace: str, wrong: dict[str, Any]) -> None:
    meta = {"name": "s", "namespace": namespace}
    with pytest.raises(Invalid) as caught:
        await apply(client, [{"apiVersion": "v1", "kind": "Secret", "metadata": meta, **wrong}])
    assert "hunter2" not in f"{caught.value} {caught.value!r} {caught.value.__dict__}"
