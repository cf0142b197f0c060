"""Objects come, are read, change and go; and what is refused on the way, word for word."""

from __future__ import annotations

import re

import pytest

from tests.contract.kube.kube_world import METADATA, METADATA_LIST, KubeWorld, config_map, deployment, names, pod

pytestmark = pytest.mark.slow

UUID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def test_a_created_object_gets_its_metadata(world: KubeWorld, maps: str, space: str) -> None:
    before = world.get(f"/api/v1/namespaces/{space}").ok()["metadata"]["creationTimestamp"]
    answer = world.create(maps, config_map("one", {"k": "v"}))
    assert answer.code == 201
    made = answer.ok()
    assert list(made) == ["kind", "apiVersion", "metadata", "data"]
    meta = made["metadata"]
    assert UUID.fullmatch(meta.pop("uid"))
    assert TIME.fullmatch(created := meta.pop("creationTimestamp"))
    assert int(meta.pop("resourceVersion")) > 1
    # It is owned before it is created, which may be in the second before.
    owned = meta["managedFields"][0].pop("time")
    meta["managedFields"][0]["fieldsV1"]["f:data"].pop(".", None)  # that of the whole map
    assert TIME.fullmatch(owned)
    assert before <= owned <= created
    assert meta == {
        "name": "one",
        "namespace": space,
        "managedFields": [
            {
                "manager": "contract",
                "operation": "Update",
                "apiVersion": "v1",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:data": {"f:k": {}}},
            }
        ],
    }
    assert world.get(f"{maps}/one").ok() == answer.body


def test_an_object_that_is_not_there(world: KubeWorld, maps: str, deployments: str) -> None:
    found = world.get(f"{maps}/none").refusal
    assert found == (404, "NotFound", 'configmaps "none" not found', {"name": "none", "kind": "configmaps"})
    found = world.get(f"{deployments}/none").refusal
    details = {"name": "none", "group": "apps", "kind": "deployments"}
    assert found == (404, "NotFound", 'deployments.apps "none" not found', details)
    assert world.replace(f"{maps}/none", config_map("none")).code == 404
    assert world.patch(f"{maps}/none", {}).code == 404
    assert world.delete(f"{maps}/none").code == 404


def test_a_name_is_taken_once(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("one")).ok()
    found = world.create(maps, config_map("one")).refusal
    assert found == (409, "AlreadyExists", 'configmaps "one" already exists', {"name": "one", "kind": "configmaps"})


def test_a_namespace_has_to_be_there(world: KubeWorld, unique: str) -> None:
    found = world.create(f"/api/v1/namespaces/{unique}/configmaps", config_map("one")).refusal
    assert found == (404, "NotFound", f'namespaces "{unique}" not found', {"name": unique, "kind": "namespaces"})
    assert world.get(f"/api/v1/namespaces/{unique}/configmaps").ok()["items"] == []


def test_a_bad_name_is_refused_with_its_cause(world: KubeWorld, maps: str) -> None:
    code, reason, message, details = world.create(maps, config_map("A_b")).refusal
    told = f'Invalid value: "A_b": {SUBDOMAIN}'
    assert (code, reason) == (422, "Invalid")
    assert message == f'ConfigMap "A_b" is invalid: metadata.name: {told}'
    causes = [{"reason": "FieldValueInvalid", "message": told, "field": "metadata.name"}]
    assert details == {"name": "A_b", "kind": "ConfigMap", "causes": causes}


def test_namespaces_have_labels_for_names(world: KubeWorld, space: str, unique: str) -> None:
    found = world.get(f"/api/v1/namespaces/{space}").ok()
    assert found["metadata"]["labels"] == {"kubernetes.io/metadata.name": space}
    assert found["spec"] == {"finalizers": ["kubernetes"]}
    assert found["status"] == {"phase": "Active"}
    dotted = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a.b"}}
    message = 'Namespace "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots'
    assert world.create("/api/v1/namespaces", dotted).why == (422, "Invalid", message)


def test_a_name_or_a_prefix_is_needed(world: KubeWorld, maps: str) -> None:
    nameless = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
    message = 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'
    assert world.create(maps, nameless).why == (422, "Invalid", message)


def test_a_name_is_generated(world: KubeWorld, maps: str) -> None:
    prefixed = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}}
    first, second = world.create(maps, prefixed).ok(), world.create(maps, prefixed).ok()
    assert re.fullmatch(r"gen-[bcdfghjklmnpqrstvwxz2456789]{5}", first["metadata"]["name"])
    assert first["metadata"]["generateName"] == "gen-"
    assert first["metadata"]["name"] != second["metadata"]["name"]


def test_the_namespace_of_the_path_counts(world: KubeWorld, maps: str) -> None:
    message = "the namespace of the provided object does not match the namespace sent on the request"
    assert world.create(maps, config_map("one", namespace="other")).why == (400, "BadRequest", message)


def test_another_kind_is_refused(world: KubeWorld, maps: str) -> None:
    answer = world.create(maps, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}})
    code, reason, message = answer.why
    assert (code, reason) == (400, "BadRequest")
    assert message.startswith('Secret in version "v1" cannot be handled as a ConfigMap')


@pytest.mark.parametrize(
    ("body", "told"),
    [('{"apiVersion":"v1",', '{"apiVersion":"v1",'), ("", "<empty>")],
    ids=["cut off", "empty"],
)
def test_what_is_not_json_is_refused(world: KubeWorld, maps: str, body: str, told: str) -> None:
    code, reason, message = world.create(maps, body).why
    assert (code, reason) == (400, "BadRequest")
    start = "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; "
    assert message.startswith(f"{start}json parse error: ")
    assert message.endswith(f" ({told})")


def test_replace_without_a_version_wins(world: KubeWorld, maps: str) -> None:
    made = world.create(maps, config_map("one", {"a": "1"}, labels={"app": "x"})).ok()
    found = world.replace(f"{maps}/one", config_map("one", {"b": "2"})).ok()
    assert found["data"] == {"b": "2"}
    assert "labels" not in found["metadata"]
    assert int(found["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])
    for kept in ("uid", "creationTimestamp"):
        assert found["metadata"][kept] == made["metadata"][kept]


def test_replace_with_an_old_version_is_a_conflict(world: KubeWorld, maps: str) -> None:
    old = world.create(maps, config_map("one", {"a": "1"})).ok()
    world.patch(f"{maps}/one", {"data": {"a": "2"}}).ok()
    found = world.replace(f"{maps}/one", {**old, "data": {"a": "3"}}).refusal
    message = f'Operation cannot be fulfilled on configmaps "one": {MODIFIED}'
    assert found == (409, "Conflict", message, {"name": "one", "kind": "configmaps"})


def test_replace_without_a_change_writes_nothing(world: KubeWorld, maps: str) -> None:
    made = world.create(maps, config_map("one", {"a": "1"})).ok()
    assert world.replace(f"{maps}/one", made).ok() == made
    assert world.replace(f"{maps}/one", config_map("one", {"a": "1"})).ok() == made


def test_replace_under_another_name(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("one")).ok()
    message = "the name of the object (two) does not match the name on the URL (one)"
    assert world.replace(f"{maps}/one", config_map("two")).why == (400, "BadRequest", message)


def test_replace_of_another_life_of_the_object(world: KubeWorld, maps: str) -> None:
    uid = world.create(maps, config_map("one")).ok()["metadata"]["uid"]
    other = "00000000-0000-0000-0000-000000000001"
    code, reason, message, _ = world.replace(f"{maps}/one", config_map("one", uid=other)).refusal
    assert (code, reason) == (409, "Conflict")
    assert message.startswith('Operation cannot be fulfilled on configmaps "one": StorageError: invalid object')
    assert message.endswith(f"Precondition failed: UID in precondition: {other}, UID in object meta: {uid}")


def test_a_new_object_has_no_version(world: KubeWorld, maps: str) -> None:
    answer = world.create(maps, config_map("one", resourceVersion="5"))
    assert answer.why == (500, "", "resourceVersion should not be set on objects to be created")


def test_what_is_immutable_stays(world: KubeWorld, maps: str) -> None:
    world.create(maps, {**config_map("one", {"a": "1"}), "immutable": True}).ok()
    message = 'ConfigMap "one" is invalid: data: Forbidden: field is immutable when `immutable` is set'
    assert world.patch(f"{maps}/one", {"data": {"a": "2"}}).why == (422, "Invalid", message)
    assert world.patch(f"{maps}/one", {"metadata": {"labels": {"a": "b"}}}).code == 200


def test_a_secret_keeps_bytes_and_its_type(world: KubeWorld, space: str) -> None:
    secrets = f"/api/v1/namespaces/{space}/secrets"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}, "stringData": {"a": "b"}}
    made = world.create(secrets, secret).ok()
    assert (made["data"], made["type"], "stringData" in made) == ({"a": "Yg=="}, "Opaque", False)


def test_the_list_of_a_namespace_and_of_all(world: KubeWorld, maps: str, unique: str) -> None:
    for name in ("b", "a"):
        world.create(maps, config_map(name, labels={"test": unique})).ok()
    found = world.get(maps, labelSelector=f"test={unique}").ok()
    assert (found["kind"], found["apiVersion"], names(found)) == ("ConfigMapList", "v1", ["a", "b"])
    assert {"kind", "apiVersion"}.isdisjoint(found["items"][0])
    newest = max(int(item["metadata"]["resourceVersion"]) for item in found["items"])
    assert int(found["metadata"]["resourceVersion"]) >= newest
    assert names(world.get("/api/v1/configmaps", labelSelector=f"test={unique}").ok()) == ["a", "b"]


def test_defaults_are_filled_in(world: KubeWorld, pods: str, deployments: str) -> None:
    made = world.create(pods, pod("one")).ok()
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    tolerations = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    assert made["spec"]["tolerations"] == tolerations
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert (made["spec"]["restartPolicy"], made["spec"]["priority"]) == ("Always", 0)
    made = world.create(deployments, deployment("one")).ok()
    assert made["metadata"]["generation"] == 1
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}}
    assert made["spec"]["strategy"] == rolling
    assert (made["spec"]["revisionHistoryLimit"], made["spec"]["progressDeadlineSeconds"]) == (10, 600)


def test_a_pod_needs_containers_and_they_are_checked(world: KubeWorld, pods: str) -> None:
    message = 'Pod "one" is invalid: spec.containers: Required value'
    assert world.create(pods, {**pod("one"), "spec": {}}).why == (422, "Invalid", message)
    wrong = {"containers": [{"name": "c"}, {"image": "x"}]}
    code, _, message, details = world.create(pods, {**pod("one"), "spec": wrong}).refusal
    assert code == 422
    assert message == (
        'Pod "one" is invalid: [spec.containers[0].image: Required value, spec.containers[1].name: Required value]'
    )
    assert [cause["reason"] for cause in details["causes"]] == ["FieldValueRequired", "FieldValueRequired"]


def test_a_deployment_selects_its_own_pods(world: KubeWorld, deployments: str) -> None:
    wrong = deployment("one")
    wrong["spec"]["selector"]["matchLabels"] = {"app": "other"}
    message = (
        'Deployment.apps "one" is invalid: spec.template.metadata.labels: Invalid value: {"app":"one"}: '
        "`selector` does not match template `labels`"
    )
    assert world.create(deployments, wrong).why == (422, "Invalid", message)


def test_what_a_running_pod_may_change(world: KubeWorld, pods: str) -> None:
    world.create(pods, pod("one")).ok()
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "example.org/c:2"}]
    found = world.patch(f"{pods}/one", image, "application/json-patch+json").ok()
    assert found["spec"]["containers"][0]["image"] == "example.org/c:2"
    code, reason, message, _ = world.patch(f"{pods}/one", {"spec": {"hostname": "other"}}).refusal
    assert (code, reason) == (422, "Invalid")
    assert message.startswith('Pod "one" is invalid: spec: Forbidden: pod updates may not change fields other than ')


def test_generation_counts_changes_of_the_spec(world: KubeWorld, deployments: str) -> None:
    def generation(patch: dict[str, object]) -> int:
        return int(world.patch(f"{deployments}/one", patch).ok()["metadata"]["generation"])

    world.create(deployments, deployment("one")).ok()
    assert generation({"metadata": {"labels": {"a": "b"}}}) == 1
    assert generation({"spec": {"minReadySeconds": 3}}) == 2
    assert generation({"spec": {"minReadySeconds": 3}}) == 2


def test_labels_and_annotations_are_checked(world: KubeWorld, maps: str) -> None:
    code, _, message, details = world.create(maps, config_map("one", labels={"a b": "c"})).refusal
    told = (
        "Invalid value: \"a b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must "
        "start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
        "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    )
    assert (code, message) == (422, f'ConfigMap "one" is invalid: metadata.labels: {told}')
    assert details["causes"] == [{"reason": "FieldValueInvalid", "message": told, "field": "metadata.labels"}]
    code, _, _, details = world.create(maps, config_map("one", annotations={"a b": "c"})).refusal
    assert (code, details["causes"][0]["field"]) == (422, "metadata.annotations")


def test_owner_references_are_checked(world: KubeWorld, maps: str) -> None:
    def owner(name: str, uid: str) -> dict[str, object]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "controller": True}

    message = 'ConfigMap "one" is invalid: metadata.ownerReferences[0].uid: Required value: must not be empty'
    nobody = config_map("one", ownerReferences=[owner("x", "")])
    assert world.create(maps, nobody).why == (422, "Invalid", message)
    two = config_map("one", ownerReferences=[owner("x", "1"), owner("y", "2")])
    code, _, message, _ = world.create(maps, two).refusal
    assert code == 422
    assert message.endswith(
        'Only one reference can have Controller set to true. Found "true" in references for '
        "ConfigMap/x and ConfigMap/y"
    )


def test_only_the_metadata(world: KubeWorld, maps: str, space: str) -> None:
    made = world.create(maps, config_map("one", {"a": "1"})).ok()
    found = world.get(f"{maps}/one", accept=METADATA).ok()
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": made["metadata"]}
    assert found == partial
    listed = world.get(maps, accept=METADATA_LIST, fieldSelector="metadata.name=one").ok()
    assert (listed["kind"], listed["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert listed["items"] == [partial]
