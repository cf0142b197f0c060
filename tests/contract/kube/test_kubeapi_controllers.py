"""What follows by itself: a real kube-controller-manager and the lab's controllers make the same of the same."""

from __future__ import annotations

import re

import pytest

from tests.contract.kube.kube_space import KeptSpace, conditions, kept_space, kept_web, template, workload
from tests.contract.kube.kube_world import STRATEGIC_PATCH, names, until

pytestmark = pytest.mark.slow

__all__ = ["kept_space", "kept_web"]

SET_NAME = re.compile(r"web-[bcdfghjklmnpqrstvwxz2456789]{6,10}")
POD_NAME = re.compile(r"web-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}")


def test_a_deployment_makes_a_replica_set(web: KeptSpace) -> None:
    (made,) = web.sets.values()
    owner = web.deployment()
    mark = made["metadata"]["labels"]["pod-template-hash"]
    assert SET_NAME.fullmatch(made["metadata"]["name"])
    assert made["metadata"]["name"] == f"web-{mark}"
    assert made["metadata"]["labels"] == {"app": "web", "pod-template-hash": mark}
    assert made["spec"]["selector"] == {"matchLabels": {"app": "web", "pod-template-hash": mark}}
    assert made["spec"]["template"]["metadata"]["labels"] == {"app": "web", "pod-template-hash": mark}
    assert made["metadata"]["annotations"] == {
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
        "deployment.kubernetes.io/revision": "1",
    }
    assert made["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": "web",
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert owner["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}


def test_a_replica_set_makes_pods(web: KeptSpace) -> None:
    (made,) = web.sets.values()
    assert len(web.pods) == 2
    for one in web.pods:
        assert POD_NAME.fullmatch(one["metadata"]["name"])
        assert one["metadata"]["generateName"] == f"{made['metadata']['name']}-"
        assert one["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]
        (owner,) = one["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("ReplicaSet", made["metadata"]["name"], True)
    until(lambda: web.sets["1"]["status"].get("fullyLabeledReplicas"), lambda count: count == 2)


def test_a_deployment_tells_how_it_is(web: KeptSpace) -> None:
    name = next(iter(web.sets.values()))["metadata"]["name"]
    status = web.status(replicas=2, updatedReplicas=2, unavailableReplicas=2)
    assert conditions(status) == {
        "Available": ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
        "Progressing": ("True", "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.'),
    }
    for one in web.pods:
        web.report_ready(one)
    status = web.status(replicas=2, updatedReplicas=2, readyReplicas=2, availableReplicas=2)
    assert "unavailableReplicas" not in status
    status = until(
        lambda: web.deployment()["status"], lambda found: "progressed" in conditions(found)["Progressing"][2]
    )
    assert conditions(status) == {
        "Available": ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        "Progressing": ("True", "NewReplicaSetAvailable", f'ReplicaSet "{name}" has successfully progressed.'),
    }


def test_events_tell_what_was_done(web: KeptSpace) -> None:
    name = next(iter(web.sets.values()))["metadata"]["name"]
    told = ("Normal", "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to 2")
    until(lambda: web.events("Deployment"), lambda found: found == {told})
    created = {("Normal", "SuccessfulCreate", f"Created pod: {one['metadata']['name']}") for one in web.pods}
    until(lambda: web.events("ReplicaSet"), lambda found: found == created)


def test_a_pod_that_goes_is_replaced(web: KeptSpace) -> None:
    first = web.pods[0]["metadata"]["name"]
    web.world.delete(f"{web.core}/pods/{first}", gracePeriodSeconds=0).ok()
    until(lambda: names({"items": web.pods}), lambda found: len(found) == 2 and first not in found)


def test_scaling_up_and_down(web: KeptSpace) -> None:
    path = f"{web.apps}/deployments/web/scale"
    web.world.patch(path, {"spec": {"replicas": 4}}).ok()
    web.status(replicas=4)
    until(lambda: web.pods, lambda found: len(found) == 4)
    third = web.pods[2]
    ready = third["metadata"]["name"]
    web.report_ready(third)
    web.status(readyReplicas=1)
    web.world.patch(path, {"spec": {"replicas": 1}}).ok()
    web.status(replicas=1)
    # Those that are not ready go first.
    until(lambda: names({"items": web.pods}), lambda found: found == [ready])
    (made,) = web.sets.values()
    told = ("Normal", "ScalingReplicaSet", f"Scaled down replica set {made['metadata']['name']} from 4 to 1")
    until(lambda: web.events("Deployment"), lambda found: told in found)


def test_a_new_template_is_rolled_out_step_by_step(web: KeptSpace) -> None:
    for one in web.pods:
        web.report_ready(one)
    web.status(availableReplicas=2)
    web.world.patch(
        f"{web.apps}/deployments/web",
        {"spec": {"template": {"spec": {"hostNetwork": False, "dnsPolicy": "Default"}}}},
    ).ok()
    status = web.status(replicas=3, updatedReplicas=1, availableReplicas=2, unavailableReplicas=1)
    assert status["readyReplicas"] == 2
    assert {revision: one["spec"]["replicas"] for revision, one in web.sets.items()} == {"1": 2, "2": 1}
    assert web.deployment()["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"

    def report_all() -> bool:
        for one in web.pods:
            if not any(c["type"] == "Ready" for c in one["status"].get("conditions") or []):
                web.report_ready(one)
        return bool({r: one["spec"]["replicas"] for r, one in web.sets.items()} == {"1": 0, "2": 2})

    until(report_all, bool)
    web.status(replicas=2, updatedReplicas=2, availableReplicas=2)
    old, new = (web.sets[revision]["metadata"]["name"] for revision in ("1", "2"))
    steps = {
        f"Scaled up replica set {new} from 0 to 1",
        f"Scaled down replica set {old} from 2 to 1",
        f"Scaled up replica set {new} from 1 to 2",
        f"Scaled down replica set {old} from 1 to 0",
    }
    until(lambda: {message for _, _, message in web.events("Deployment")}, lambda found: steps <= found)


def test_back_to_a_template_of_before(web: KeptSpace) -> None:
    before = web.deployment()["spec"]["template"]
    path = f"{web.apps}/deployments/web"
    web.world.patch(path, {"spec": {"template": {"spec": {"dnsPolicy": "Default"}}}}).ok()
    until(lambda: set(web.sets), lambda found: found == {"1", "2"})
    web.world.patch(
        path, [{"op": "replace", "path": "/spec/template", "value": before}], "application/json-patch+json"
    ).ok()
    sets = until(lambda: web.sets, lambda found: set(found) == {"2", "3"})
    assert sets["3"]["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"


def test_a_paused_deployment_waits(web: KeptSpace) -> None:
    path = f"{web.apps}/deployments/web"
    web.world.patch(path, {"spec": {"paused": True}}).ok()
    paused = ("Unknown", "DeploymentPaused", "Deployment is paused")
    until(lambda: conditions(web.deployment()["status"]), lambda found: found["Progressing"] == paused)
    web.world.patch(path, {"spec": {"template": {"spec": {"dnsPolicy": "Default"}}}}).ok()
    web.status()
    assert set(web.sets) == {"1"}
    web.world.patch(path, {"spec": {"paused": False}}).ok()
    until(lambda: set(web.sets), lambda found: found == {"1", "2"})


def test_recreate_ends_the_old_ones_first(space: KeptSpace) -> None:
    made = workload("Deployment", 2, strategy={"type": "Recreate"})
    space.world.create(f"{space.apps}/deployments", made).ok()
    space.status(replicas=2)
    old = {one["metadata"]["uid"] for one in space.pods}
    space.world.patch(
        f"{space.apps}/deployments/web", {"spec": {"template": {"spec": {"dnsPolicy": "Default"}}}}
    ).ok()
    until(lambda: {one["metadata"]["uid"] for one in space.pods}, lambda found: len(found) == 2 and not found & old)
    assert {revision: one["spec"]["replicas"] for revision, one in space.sets.items()} == {"1": 0, "2": 2}


def test_a_replica_set_takes_up_pods_that_fit(space: KeptSpace) -> None:
    lonely = {"apiVersion": "v1", "kind": "Pod", **template()}
    lonely["metadata"] = {"name": "lonely", "labels": {"app": "web"}}
    space.world.create(f"{space.core}/pods", lonely).ok()
    space.known_to_controllers("web", pods=1)
    made = space.world.create(f"{space.apps}/replicasets", workload("ReplicaSet", 2)).ok()
    until(lambda: space.pods, lambda found: len(found) == 2)
    found = until(
        lambda: space.world.get(f"{space.core}/pods/lonely").ok()["metadata"],
        lambda metadata: metadata.get("ownerReferences"),
    )
    assert found["ownerReferences"][0]["uid"] == made["metadata"]["uid"]


def test_stateful_pods_come_one_after_the_other(space: KeptSpace) -> None:
    claims = [
        {
            "metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
        }
    ]
    made = workload("StatefulSet", 3, serviceName="web", volumeClaimTemplates=claims)
    space.world.create(f"{space.apps}/statefulsets", made).ok()
    pods = until(lambda: space.pods, lambda found: names({"items": found}) == ["web-0"])
    labels = pods[0]["metadata"]["labels"]
    revision = labels["controller-revision-hash"]
    assert labels == {
        "app": "web",
        "apps.kubernetes.io/pod-index": "0",
        "controller-revision-hash": revision,
        "statefulset.kubernetes.io/pod-name": "web-0",
    }
    assert (pods[0]["spec"]["hostname"], pods[0]["spec"]["subdomain"]) == ("web-0", "web")
    assert names({"items": space.listed(f"{space.apps}/controllerrevisions")}) == [revision]
    assert names({"items": space.listed(f"{space.core}/persistentvolumeclaims")}) == ["data-web-0"]
    volume = next(one for one in pods[0]["spec"]["volumes"] if one["name"] == "data")
    assert volume == {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}
    space.report_ready(pods[0])
    until(lambda: names({"items": space.pods}), lambda found: found == ["web-0", "web-1"])
    status = until(
        lambda: space.world.get(f"{space.apps}/statefulsets/web").ok()["status"],
        lambda found: found.get("readyReplicas") == 1 and found["replicas"] == 2,
    )
    assert status["currentRevision"] == status["updateRevision"] == revision


def test_a_job_is_done_when_its_pods_are(space: KeptSpace) -> None:
    jobs = f"/apis/batch/v1/namespaces/{space.name}/jobs"
    spec = {"completions": 2, "parallelism": 1, "template": template(restartPolicy="Never")}
    made = space.world.create(
        jobs, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "one"}, "spec": spec}
    ).ok()
    uid = made["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    for number in range(2):
        (pod,) = until(
            lambda: [one for one in space.pods if one["status"]["phase"] == "Pending"], lambda found: len(found) == 1
        )
        assert pod["metadata"]["name"].startswith("one-")
        assert pod["metadata"]["labels"]["batch.kubernetes.io/job-name"] == "one"
        path = f"{space.core}/pods/{pod['metadata']['name']}/status"
        space.world.patch(path, {"status": {"phase": "Succeeded"}}, STRATEGIC_PATCH).ok()
        status = until(
            lambda: space.world.get(f"{jobs}/one").ok()["status"],
            lambda found, wanted=number + 1: found.get("succeeded", 0) == wanted,
        )
    status = until(
        lambda: space.world.get(f"{jobs}/one").ok()["status"], lambda found: "Complete" in conditions(found)
    )
    reached = ("True", "CompletionsReached", "Reached expected number of succeeded pods")
    assert conditions(status) == {"SuccessCriteriaMet": reached, "Complete": reached}
    assert status["completionTime"] >= status["startTime"]
    told = until(
        lambda: space.events("Job"),
        lambda found: (
            ("Normal", "Completed", "Job completed") in found
            and sum(reason == "SuccessfulCreate" for _, reason, _ in found) >= 2
        ),
    )
    assert sum(reason == "SuccessfulCreate" for _, reason, _ in told) == 2


def test_a_job_fails_after_its_last_try(space: KeptSpace) -> None:
    jobs = f"/apis/batch/v1/namespaces/{space.name}/jobs"
    spec = {"backoffLimit": 0, "template": template(restartPolicy="Never")}
    space.world.create(
        jobs, {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "one"}, "spec": spec}
    ).ok()
    (pod,) = until(lambda: space.pods, lambda found: len(found) == 1)
    path = f"{space.core}/pods/{pod['metadata']['name']}/status"
    space.world.patch(path, {"status": {"phase": "Failed"}}, STRATEGIC_PATCH).ok()
    status = until(lambda: space.world.get(f"{jobs}/one").ok()["status"], lambda found: "Failed" in conditions(found))
    why = ("True", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    assert conditions(status) == {"FailureTarget": why, "Failed": why}
    assert status["failed"] == 1
