"""Deletion: at once, with grace, with finalizers and preconditions, of many, and of namespaces."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.contract.kube.kube_world import KubeWorld, Obj, config_map, deployment, names, pod, until

pytestmark = pytest.mark.slow


def test_what_is_deleted_is_gone(world: KubeWorld, maps: str) -> None:
    uid = world.create(maps, config_map("one")).ok()["metadata"]["uid"]
    answer = world.delete(f"{maps}/one")
    details = {"name": "one", "kind": "configmaps", "uid": uid}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}
    assert (answer.code, answer.body) == (200, status)
    assert world.get(f"{maps}/one").code == 404


def test_a_deleted_object_of_a_group_is_named_in_full(world: KubeWorld, deployments: str) -> None:
    uid = world.create(deployments, deployment("one")).ok()["metadata"]["uid"]
    found = world.delete(f"{deployments}/one", {"propagationPolicy": "Background"}).ok()
    assert found["details"] == {"name": "one", "group": "apps", "kind": "deployments", "uid": uid}


@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
def test_preconditions(world: KubeWorld, maps: str, field: str) -> None:
    made = world.create(maps, config_map("one")).ok()["metadata"]
    wrong = {"uid": "00000000-0000-0000-0000-000000000001", "resourceVersion": "1"}[field]
    found = world.delete(f"{maps}/one", {"preconditions": {field: wrong}}).refusal
    name, end = {
        "uid": ("UID", "been deleted and then recreated"),
        "resourceVersion": ("ResourceVersion", "been modified"),
    }[field]
    message = (
        f'Operation cannot be fulfilled on ConfigMap "one": the {name} in the precondition ({wrong}) does not match '
        f"the {name} in record ({made[field]}). The object might have {end}"
    )
    assert found == (409, "Conflict", message, {"name": "one", "kind": "ConfigMap"})
    assert world.delete(f"{maps}/one", {"preconditions": {field: made[field]}}).code == 200


def test_a_finalizer_holds_the_object(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("one", finalizers=["example.org/a"])).ok()
    held = world.delete(f"{maps}/one").ok()
    assert held["kind"] == "ConfigMap"
    assert held["metadata"]["deletionGracePeriodSeconds"] == 0
    assert held["metadata"]["deletionTimestamp"] >= held["metadata"]["creationTimestamp"]
    assert world.delete(f"{maps}/one").ok() == held
    changed = world.patch(f"{maps}/one", {"data": {"a": "1"}}).ok()
    assert changed["metadata"]["deletionTimestamp"] == held["metadata"]["deletionTimestamp"]
    last = world.patch(f"{maps}/one", {"metadata": {"finalizers": None}}).ok()
    assert "finalizers" not in last["metadata"]
    assert world.get(f"{maps}/one").code == 404


def test_no_new_finalizers_on_the_way_out(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("one", finalizers=["example.org/a"])).ok()
    world.delete(f"{maps}/one").ok()
    code, reason, message = world.patch(
        f"{maps}/one", {"metadata": {"finalizers": ["example.org/a", "example.org/b"]}}
    ).why
    assert (code, reason) == (422, "Invalid")
    assert message == (
        'ConfigMap "one" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is '
        'being deleted, found new finalizers []string{"example.org/b"}'
    )


def test_finalizers_have_full_names(world: KubeWorld, maps: str) -> None:
    message = (
        'ConfigMap "one" is invalid: metadata.finalizers[0]: Invalid value: "nonsense": name is neither a standard '
        "finalizer name nor is it fully qualified"
    )
    assert world.create(maps, config_map("one", finalizers=["nonsense"])).why == (422, "Invalid", message)


def test_propagation_that_is_not_known(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("one")).ok()
    message = (
        'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Sideways": supported '
        'values: "Foreground", "Background", "Orphan", "nil"'
    )
    assert world.delete(f"{maps}/one", {"propagationPolicy": "Sideways"}).why == (422, "Invalid", message)
    assert world.delete(f"{maps}/one", propagationPolicy="Sideways").why == (422, "Invalid", message)
    message = (
        'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and '
        "deletionPropagation cannot be both set"
    )
    both = {"propagationPolicy": "Orphan", "orphanDependents": True}
    assert world.delete(f"{maps}/one", both).why == (422, "Invalid", message)


@pytest.mark.parametrize(("policy", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")])
def test_propagation_is_a_finalizer(world: KubeWorld, maps: str, policy: str, finalizer: str) -> None:
    """That the garbage collector takes away in its time, or the test where there is none."""
    world.create(maps, config_map("one", finalizers=["example.org/a"])).ok()
    held = world.delete(f"{maps}/one", {"propagationPolicy": policy}).ok()
    assert sorted(held["metadata"]["finalizers"]) == sorted(["example.org/a", finalizer])
    world.patch(f"{maps}/one", {"metadata": {"finalizers": None}}).ok()
    assert world.get(f"{maps}/one").code == 404


def test_a_selection_is_deleted(world: KubeWorld, maps: str) -> None:
    for name in "abc":
        world.create(maps, config_map(name, labels={"ours": name})).ok()
    found = world.delete(maps, labelSelector="ours in (a,b)").ok()
    assert (found["kind"], names(found)) == ("ConfigMapList", ["a", "b"])
    assert names(world.get(maps, labelSelector="ours").ok()) == ["c"]


def test_a_deletion_on_trial(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("one", labels={"ours": "yes"})).ok()
    assert world.delete(f"{maps}/one", {"dryRun": ["All"]}).ok()["status"] == "Success"
    assert world.delete(f"{maps}/one", dryRun="All").ok()["status"] == "Success"
    assert world.delete(maps, labelSelector="ours", dryRun="All").code == 200
    assert world.get(f"{maps}/one").code == 200


def test_a_pod_that_never_ran_goes_at_once(world: KubeWorld, pods: str) -> None:
    world.create(pods, pod("one")).ok()
    found = world.delete(f"{pods}/one").ok()
    assert (found["kind"], found["metadata"]["deletionGracePeriodSeconds"]) == ("Pod", 0)
    assert world.get(f"{pods}/one").code == 404


def deleted_with(grace: int, found: Obj, before: Obj, after: Obj) -> bool:
    """Whether the pod has so many seconds from when it was deleted, between the creation of two other objects."""
    start, end = (datetime.fromisoformat(one["metadata"]["creationTimestamp"]) for one in (before, after))
    gone = datetime.fromisoformat(found["metadata"]["deletionTimestamp"]) - timedelta(seconds=grace)
    return found["metadata"]["deletionGracePeriodSeconds"] == grace and start <= gone <= end


def test_a_bound_pod_has_its_grace(world: KubeWorld, pods: str, maps: str) -> None:
    bound = pod("one")
    bound["spec"]["nodeName"] = "nowhere"
    first = world.create(pods, bound).ok()
    found = world.delete(f"{pods}/one").ok()
    second = world.create(maps, config_map("second")).ok()
    assert deleted_with(30, found, first, second), found
    assert world.get(f"{pods}/one").ok()["metadata"]["deletionGracePeriodSeconds"] == 30
    found = world.delete(f"{pods}/one", {"gracePeriodSeconds": 5}).ok()
    third = world.create(maps, config_map("third")).ok()
    assert deleted_with(5, found, first, third), found
    assert world.delete(f"{pods}/one", {"gracePeriodSeconds": 50}).ok()["metadata"]["deletionGracePeriodSeconds"] == 5
    world.delete(f"{pods}/one", gracePeriodSeconds=0).ok()
    assert world.get(f"{pods}/one").code == 404


def test_a_namespace_is_emptied_before_it_goes(world: KubeWorld, maps: str, space: str) -> None:
    """Its objects by the namespace controller; where there is none, the finalizer has to be taken away."""
    world.create(maps, config_map("one", finalizers=["example.org/a"])).ok()
    found = world.delete(f"/api/v1/namespaces/{space}").ok()
    assert found["status"]["phase"] == "Terminating"
    assert found["metadata"]["deletionTimestamp"]
    refused = world.create(maps, config_map("late")).refusal
    message = (
        f'configmaps "late" is forbidden: unable to create new content in namespace {space} because it is being '
        "terminated"
    )
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {space} is being terminated",
        "field": "metadata.namespace",
    }
    assert refused == (403, "Forbidden", message, {"name": "late", "kind": "configmaps", "causes": [cause]})
    world.patch(f"{maps}/one", {"metadata": {"finalizers": None}})
    empty = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}, "spec": {"finalizers": []}}
    assert world.replace(f"/api/v1/namespaces/{space}/finalize", empty).code in (200, 404)
    until(lambda: world.get(f"/api/v1/namespaces/{space}"), lambda answer: answer.code == 404)


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_namespaces_that_have_to_stay(world: KubeWorld, name: str) -> None:
    found = world.delete(f"/api/v1/namespaces/{name}").refusal
    message = f'namespaces "{name}" is forbidden: this namespace may not be deleted'
    assert found == (403, "Forbidden", message, {"name": name, "kind": "namespaces"})
