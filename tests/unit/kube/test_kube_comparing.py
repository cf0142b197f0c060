"""What of an object is known to be as it was applied, whose it is, and which fields keep their live value."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.kube import ObjectSet, Ref, digest_of, other_manager, settled, unwanted
from talosmith.kube.applying import owned_digest
from talosmith.kube.comparing import covers, in_sync


@pytest.mark.parametrize(
    ("live", "wanted", "so"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
        ({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, True),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}]}, False),
        ({"a": 1}, {"a": 1, "b": None}, True),
        ({"a": 1}, {"a": 1, "b": {}}, False),
        ({"a": True}, {"a": 1}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": 1.0}, {"a": 1}, True),
        ({}, {"a": []}, False),
    ],
)
def test_covers(live: Any, wanted: Any, so: bool) -> None:
    assert covers(live, wanted) is so


def test_what_a_server_stores_otherwise_is_in_sync_as_long_as_the_fields_are_ours() -> None:
    def live(cpu: str, owned: dict[str, Any]) -> dict[str, Any]:
        entry = {"manager": "talosmith", "operation": "Apply", "fieldsV1": owned}
        return {"metadata": {"managedFields": [{"manager": "other", "operation": "Update"}, entry]}, "cpu": cpu}

    wanted, owned = {"cpu": "1000m"}, {"f:cpu": {}}
    recorded = f"{digest_of(wanted)}.{owned_digest(live('1', owned), 'talosmith')}"
    assert in_sync(live("1", owned), wanted, recorded, "talosmith")
    assert not in_sync(live("2", {}), wanted, recorded, "talosmith"), "another manager has changed it"
    assert in_sync(live("1000m", {}), wanted, recorded, "talosmith")
    assert not in_sync(live("1", owned), {"cpu": "500m"}, recorded, "talosmith")
    assert not in_sync(live("1", owned), wanted, digest_of(wanted), "talosmith"), "of a run that was killed"
    assert not in_sync(live("1", owned), wanted, "", "talosmith")


def test_fields_that_each_rendering_generates_keep_their_live_value() -> None:
    item = {"data": {"ca": "new", "fixed": "x"}, "list": [{"a": 1}, {"a": 2}]}
    live = {"data": {"ca": "old", "fixed": "y"}, "list": [{"a": 7}]}
    assert settled(item, [("data", "ca"), ("list", 0, "a"), ("list", 1, "a"), ("data", "gone")], live) == {
        "data": {"ca": "old", "fixed": "x"},
        "list": [{"a": 7}, {"a": 2}],
    }
    assert settled(item, [("data", "ca")], None) == item
    assert item["data"] == {"ca": "new", "fixed": "x"}, "what was given is not changed"


@pytest.mark.parametrize(
    ("meta", "manager"),
    [
        ({}, ""),
        ({"managedFields": [{"manager": "talosmith"}, {"manager": "kubectl-edit"}]}, ""),
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, ""),
        (
            {"labels": {"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "apps"}},
            "Flux (HelmRelease apps/web)",
        ),
        (
            {"labels": {"kustomize.toolkit.fluxcd.io/name": "web", "kustomize.toolkit.fluxcd.io/namespace": "flux"}},
            "Flux (Kustomization flux/web)",
        ),
        ({"annotations": {"argocd.argoproj.io/tracking-id": "web:apps/Deployment:a/b"}}, "Argo CD (Application web)"),
        (
            {
                "managedFields": [{"manager": "helm"}],
                "annotations": {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "apps"},
            },
            "Helm (release apps/web)",
        ),
        ({"managedFields": [{"manager": "helm", "operation": "Apply"}]}, "Helm (release /)"),
        (
            {
                "labels": {"talosmith.dev/set": "web"},
                "managedFields": [{"manager": "helm", "operation": "Apply"}, {"manager": "kubectl-edit"}],
            },
            "",
        ),
        (
            {
                "labels": {"talosmith.dev/set": "web"},
                "managedFields": [
                    {"manager": "helm", "operation": "Apply"},
                    {"manager": "helm", "operation": "Update"},
                ],
            },
            "Helm (release /)",
        ),
    ],
)
def test_another_tool_is_known_by_its_marks(meta: dict[str, Any], manager: str) -> None:
    assert other_manager({"metadata": meta}) == manager


def test_what_is_not_wanted_is_pruned_only_if_it_is_ours_and_holds_nothing() -> None:
    def item(kind: str, label: str = "web", **meta: Any) -> dict[str, Any]:
        fields = [{"manager": "talosmith", "operation": "Apply"}]
        return {"kind": kind, "metadata": {"labels": {"talosmith.dev/set": label}, "managedFields": fields, **meta}}

    refs = {
        Ref("v1", "ConfigMap", "old", "web"): item("ConfigMap"),
        Ref("v1", "ConfigMap", "wanted", "web"): item("ConfigMap"),
        Ref("v1", "ConfigMap", "theirs", "web"): item("ConfigMap", label="other"),
        Ref("v1", "ConfigMap", "kept", "web"): item("ConfigMap", annotations={"helm.sh/resource-policy": "keep"}),
        Ref("v1", "PersistentVolumeClaim", "data", "web"): item("PersistentVolumeClaim"),
        Ref("v1", "ConfigMap", "gone", "web"): None,
    }
    live = {ref.identity: one for ref, one in refs.items() if one is not None}
    wanted = [Ref("v1", "ConfigMap", "wanted", "web")]

    def outcomes(*delete: str) -> dict[str, str]:
        return {
            one.ref.name: one.outcome
            for one in unwanted(ObjectSet("web", dict.fromkeys(refs, "")), wanted, live, delete)
        }

    assert outcomes() == {"old": "pruned", "theirs": "kept", "kept": "kept", "data": "kept"}
    assert outcomes("PersistentVolumeClaim")["data"] == "pruned"
