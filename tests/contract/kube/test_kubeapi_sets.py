"""What sets of applied objects rest on: lists by label, dry runs, fields that others have added, kinds of charts."""

from __future__ import annotations

import pytest

from talosmith.desired.pki import to_base64
from tests.charts import definition
from tests.contract.kube.kube_world import STRATEGIC_PATCH, KubeWorld, Obj, config_map, names, until

pytestmark = pytest.mark.slow

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
SET = "talosmith.dev/set"


@pytest.fixture
def issuers(world: KubeWorld, unique: str) -> str:
    """The path of objects of a kind that takes any content, in no namespace."""
    group = f"{unique}.example.org"
    world.apply(f"{DEFINITIONS}/issuers.{group}", definition("Issuer", group, "v1", scope="Cluster"), "first").ok()
    path = f"/apis/{group}/v1/issuers"
    until(lambda: world.get(path), lambda answer: answer.code == 200)
    return path


def issuer(path: str, name: str, spec: Obj, **labels: str) -> Obj:
    _, _, group, version, _ = path.split("/")
    metadata = {"name": name, **({"labels": labels} if labels else {})}
    return {"apiVersion": f"{group}/{version}", "kind": "Issuer", "metadata": metadata, "spec": spec}


def test_custom_objects_are_listed_by_a_label_whatever_its_value(world: KubeWorld, issuers: str) -> None:
    for name, labels in (("a", {SET: "one"}), ("b", {}), ("c", {SET: "two"}), ("d", {"other": "one"})):
        world.apply(f"{issuers}/{name}", issuer(issuers, name, {}, **labels), "first").ok()
    assert names(world.get(issuers, labelSelector=SET).ok()) == ["a", "c"]
    assert names(world.get(issuers, labelSelector=f"{SET}=two").ok()) == ["c"]
    assert names(world.get(issuers, labelSelector=f"!{SET}").ok()) == ["b", "d"]
    world.patch(f"{issuers}/a", {"metadata": {"labels": {SET: None}}}).ok()
    assert names(world.get(issuers, labelSelector=SET).ok()) == ["c"]


def test_a_label_selects_in_all_namespaces(world: KubeWorld, maps: str, unique: str) -> None:
    world.create("/api/v1/namespaces", {"metadata": {"name": f"{unique}-2"}}).ok()
    for space in (unique, f"{unique}-2"):
        world.apply(
            f"/api/v1/namespaces/{space}/configmaps/one", config_map("one", labels={SET: unique}), "first"
        ).ok()
    found = world.get("/api/v1/configmaps", labelSelector=f"{SET}={unique}").ok()
    assert {item["metadata"]["namespace"] for item in found["items"]} == {unique, f"{unique}-2"}


def test_a_dry_run_in_a_namespace_that_does_not_exist(world: KubeWorld, unique: str) -> None:
    path = f"/api/v1/namespaces/{unique}/configmaps/one"
    answer = world.apply(path, config_map("one", {"a": "b"}), "first", dryRun="All")
    assert answer.why == (404, "NotFound", f'namespaces "{unique}" not found')


def test_a_dry_run_shows_and_does_nothing(world: KubeWorld, maps: str) -> None:
    path = f"{maps}/one"
    shown = world.apply(path, config_map("one", {"a": "1"}), "first", dryRun="All")
    assert shown.code == 201
    assert [entry["manager"] for entry in shown.body["metadata"]["managedFields"]] == ["first"]
    assert world.get(path).code == 404
    made = world.apply(path, config_map("one", {"a": "1", "b": "1"}), "first").ok()
    changed = world.apply(path, config_map("one", {"a": "2"}), "first", dryRun="All").ok()
    assert changed["data"] == {"a": "2"}
    assert changed["metadata"]["uid"] == made["metadata"]["uid"]
    assert world.get(path).ok() == made


def test_a_dry_run_is_told_of_the_conflict(world: KubeWorld, maps: str) -> None:
    path = f"{maps}/one"
    world.apply(path, config_map("one", {"a": "1"}), "flux").ok()
    code, reason, _, details = world.apply(path, config_map("one", {"a": "2"}), "first", dryRun="All").refusal
    assert (code, reason) == (409, "Conflict")
    assert [(one["message"], one["field"]) for one in details["causes"]] == [('conflict with "flux"', ".data.a")]
    forced = world.apply(path, config_map("one", {"a": "2"}), "first", dryRun="All", force="true").ok()
    assert forced["data"] == {"a": "2"}
    assert world.get(path).ok()["data"] == {"a": "1"}


def test_custom_fields_that_are_no_longer_applied_go(world: KubeWorld, issuers: str) -> None:
    path = f"{issuers}/one"
    world.apply(path, issuer(issuers, "one", {"acme": {"server": "s", "email": "e"}, "list": [1, 2]}), "first").ok()
    world.patch(f"{path}", {"spec": {"added": True}}, fieldManager="other").ok()
    world.patch(f"{path}/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}).ok()
    found = world.apply(path, issuer(issuers, "one", {"acme": {"server": "s"}, "list": [3]}), "first").ok()
    assert found["spec"] == {"acme": {"server": "s"}, "list": [3], "added": True}
    assert found["status"] == {"conditions": [{"type": "Ready", "status": "True"}]}


def webhook(name: str) -> Obj:
    hook = {
        "name": "checks.example.org",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Ignore",
        "clientConfig": {"service": {"name": "none", "namespace": "default"}},
        "rules": [
            {"operations": ["CREATE"], "apiGroups": [f"{name}.org"], "apiVersions": ["v1"], "resources": ["x"]}
        ],
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    return {**kind, "metadata": {"name": name}, "webhooks": [hook]}


def test_the_ca_of_a_webhook_stays_when_it_is_applied_again(world: KubeWorld, unique: str) -> None:
    path = f"{WEBHOOKS}/{unique}"
    world.apply(path, webhook(unique), "first").ok()
    client = {"caBundle": to_base64(world.bundle.k8s.certificate)}
    added = {"webhooks": [{"name": "checks.example.org", "clientConfig": client}]}
    world.patch(path, added, STRATEGIC_PATCH, fieldManager="injector").ok()
    before = world.get(path).ok()
    assert before["webhooks"][0]["clientConfig"]["caBundle"] == client["caBundle"]
    assert world.apply(path, webhook(unique), "first").ok() == before
    world.delete(path).ok()


def test_a_kind_that_is_converted_by_a_webhook_is_served(world: KubeWorld, unique: str) -> None:
    group = f"{unique}.example.org"
    made = definition("Policy", group, "v1", scope="Cluster")
    spec: Obj = made["spec"]  # type: ignore[assignment]
    spec["versions"].append({**spec["versions"][0], "name": "v1beta1", "storage": False})
    client = {"service": {"name": "none", "namespace": "default", "path": "/convert"}}
    spec["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    }
    world.apply(f"{DEFINITIONS}/policies.{group}", made, "first").ok()
    path = f"/apis/{group}/v1/policies"
    until(lambda: world.get(path), lambda answer: answer.code == 200)
    obj = {"apiVersion": f"{group}/v1", "kind": "Policy", "metadata": {"name": "one"}, "spec": {"a": 1}}
    assert world.apply(f"{path}/one", obj, "first").ok()["spec"] == {"a": 1}
    assert world.get(f"{DEFINITIONS}/policies.{group}").ok()["spec"]["conversion"]["strategy"] == "Webhook"
