"""Deployments, StatefulSets, DaemonSets and Jobs get their pods, and their status tells how far they are."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.kube.controllers_lab import KubeCluster, condition, is_ready, names, workload
from tests.lab.lab_worlds import Configs

BEHAVIOUR = "lab.talosmith.dev/behaviour"


@pytest.fixture(scope="module")
def shared() -> KubeCluster:
    return KubeCluster(Configs(), "cp-1", "w-1", "w-2")


@pytest.fixture
def cluster(shared: KubeCluster) -> Iterator[KubeCluster]:
    yield shared
    for kind in (
        "CronJob",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "ReplicaSet",
        "Pod",
        "PodDisruptionBudget",
    ):
        for one in shared.list(kind):
            if shared.find(kind, one["metadata"]["name"]) is not None:
                shared.delete(kind, one["metadata"]["name"], propagationPolicy="Background")
    shared.run()


def image(name: str) -> dict[str, object]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": name}]}}}}


def test_a_deployment_gets_its_pods_on_workers_only(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 4))
    cluster.run()
    pods = cluster.list("Pod")
    assert len(pods) == 4
    assert all(map(is_ready, pods))
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == ["w-1", "w-1", "w-2", "w-2"]
    assert len({pod["status"]["podIP"] for pod in pods}) == 4
    status = cluster.get("Deployment", "web")["status"]
    assert (status["replicas"], status["updatedReplicas"], status["availableReplicas"]) == (4, 4, 4)
    assert condition(cluster.get("Deployment", "web"), "Progressing")["reason"] == "NewReplicaSetAvailable"
    assert ("Scheduled", f"Successfully assigned default/{names(pods)[0]} to {pods[0]['spec']['nodeName']}") in (
        cluster.events(names(pods)[0])
    )
    assert [reason for reason, _ in cluster.events(names(pods)[0])] == ["Scheduled", "Pulled", "Created", "Started"]


def test_addresses_of_pods_are_of_their_nodes_network(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 6))
    cluster.run()
    networks = {node["metadata"]["name"]: node["spec"]["podCIDR"] for node in cluster.list("Node")}
    assert len(set(networks.values())) == 3
    for pod in cluster.list("Pod"):
        network = networks[pod["spec"]["nodeName"]].rpartition(".")[0]
        assert pod["status"]["podIP"].rpartition(".")[0] == network


def test_scaling_down_takes_pods_away(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 5))
    cluster.run()
    cluster.patch("Deployment", "web", {"spec": {"replicas": 2}})
    cluster.run()
    assert len(cluster.list("Pod")) == 2
    told = [message for reason, message in cluster.events("web") if reason == "ScalingReplicaSet"]
    assert told[-1].startswith("Scaled down replica set web-")
    assert told[-1].endswith(" from 5 to 2")


def test_a_new_image_rolls_through_with_enough_pods_all_the_time(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 4))
    cluster.run()
    cluster.patch("Deployment", "web", image("nginx:2"))
    fewest, most = 4, 4
    for _ in range(200):
        cluster.run(0.02)
        pods = [pod for pod in cluster.list("Pod") if "deletionTimestamp" not in pod["metadata"]]
        fewest, most = min(fewest, sum(map(is_ready, pods))), max(most, len(pods))
    assert (fewest, most) == (3, 5)  # a quarter fewer, a quarter more
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.list("Pod")} == {"nginx:2"}
    sets = cluster.list("ReplicaSet")
    assert sorted(one["spec"]["replicas"] for one in sets) == [0, 4]
    revision = "deployment.kubernetes.io/revision"
    assert sorted(one["metadata"]["annotations"][revision] for one in sets) == ["1", "2"]


def test_going_back_to_an_old_template_uses_its_replica_set_again(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 2))
    cluster.run()
    first = names(cluster.list("ReplicaSet"))
    for name in ("nginx:2", "nginx:1"):
        cluster.patch("Deployment", "web", image(name))
        cluster.run()
    active = [one for one in cluster.list("ReplicaSet") if one["spec"]["replicas"]]
    assert names(active) == first
    assert cluster.get("Deployment", "web")["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "3"


def test_a_paused_deployment_keeps_its_template_and_follows_its_number(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 2))
    cluster.run()
    cluster.patch("Deployment", "web", {"spec": {"paused": True}})
    cluster.patch("Deployment", "web", image("nginx:2"))
    cluster.patch("Deployment", "web", {"spec": {"replicas": 3}})
    cluster.run()
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.list("Pod")} == {"nginx:1"}
    assert len(cluster.list("Pod")) == 3
    assert condition(cluster.get("Deployment", "web"), "Progressing")["reason"] == "DeploymentPaused"
    cluster.patch("Deployment", "web", {"spec": {"paused": None}})
    cluster.run()
    assert {pod["spec"]["containers"][0]["image"] for pod in cluster.list("Pod")} == {"nginx:2"}


def test_a_rollout_that_never_gets_ready_keeps_the_old_pods_and_says_so(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 4))
    cluster.run()
    broken = image("nginx:2")
    broken["spec"]["template"]["metadata"] = {"annotations": {BEHAVIOUR: "never-ready"}}  # type: ignore[index]
    cluster.patch("Deployment", "web", broken)
    cluster.run()
    ready = [pod for pod in cluster.list("Pod") if is_ready(pod)]
    assert len(ready) == 3
    assert {pod["spec"]["containers"][0]["image"] for pod in ready} == {"nginx:1"}
    progressing = condition(cluster.get("Deployment", "web"), "Progressing")
    assert (progressing["status"], progressing["reason"]) == ("False", "ProgressDeadlineExceeded")


def test_recreate_ends_the_old_before_it_starts_the_new(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 2, strategy={"type": "Recreate"}))
    cluster.run()
    cluster.patch("Deployment", "web", image("nginx:2"))
    for _ in range(100):
        cluster.run(0.01)
        images = {pod["spec"]["containers"][0]["image"] for pod in cluster.list("Pod") if is_ready(pod)}
        assert len(images) < 2
    cluster.run()
    assert [pod["spec"]["containers"][0]["image"] for pod in cluster.list("Pod")] == ["nginx:2"] * 2


def test_a_missing_image_is_told_as_kubernetes_does(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 1, image="nginx:does-not-exist"))
    cluster.run()
    (pod,) = cluster.list("Pod")
    assert pod["status"]["phase"] == "Pending"
    assert pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] == "ImagePullBackOff"
    assert ("Failed", "Error: ErrImagePull") in cluster.events(names([pod])[0])


def test_what_fails_is_started_again_with_longer_and_longer_pauses(cluster: KubeCluster) -> None:
    template = workload("web", 1)
    template["spec"]["template"]["metadata"]["annotations"] = {BEHAVIOUR: "fails"}
    cluster.create("Deployment", template)
    cluster.run()
    (pod,) = cluster.list("Pod")
    (container,) = pod["status"]["containerStatuses"]
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container["lastState"]["terminated"]["exitCode"] == 1
    assert container["restartCount"] == 5
    assert not is_ready(pod)


def test_a_pod_whose_labels_no_longer_fit_is_left_and_replaced(cluster: KubeCluster) -> None:
    cluster.create("ReplicaSet", workload("web", 2))
    cluster.run()
    first, _ = names(cluster.list("Pod"))
    cluster.patch("Pod", first, {"metadata": {"labels": {"app": "apart"}}})
    cluster.run()
    assert len(cluster.list("Pod")) == 3
    assert "ownerReferences" not in cluster.get("Pod", first)["metadata"]
    cluster.patch("Pod", first, {"metadata": {"labels": {"app": "web"}}})
    cluster.run()
    assert len(cluster.list("Pod")) == 2  # it was taken up again, and one too many went


# StatefulSets


def test_a_stateful_set_makes_one_pod_after_the_other(cluster: KubeCluster) -> None:
    cluster.create("StatefulSet", workload("db", 3, serviceName="db"))
    order: list[str] = []
    for _ in range(200):
        cluster.run(0.01)
        pods = cluster.list("Pod")
        for pod in pods:
            if pod["metadata"]["name"] not in order:
                assert all(map(is_ready, [one for one in pods if one["metadata"]["name"] in order]))
                order.append(pod["metadata"]["name"])
    assert order == ["db-0", "db-1", "db-2"]
    status = cluster.get("StatefulSet", "db")["status"]
    assert (status["readyReplicas"], status["updatedReplicas"]) == (3, 3)
    assert status["currentRevision"] == status["updateRevision"]


def test_a_stateful_set_updates_the_last_pod_first_and_keeps_names_and_claims(cluster: KubeCluster) -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
               "resources": {"requests": {"storage": "1Gi"}}}}]  # fmt: skip
    cluster.create("StatefulSet", workload("db", 2, serviceName="db", volumeClaimTemplates=claims))
    cluster.run()
    assert names(cluster.list("PersistentVolumeClaim")) == ["data-db-0", "data-db-1"]
    cluster.patch(
        "StatefulSet",
        "db",
        {
            **image("nginx:2"),
        },
    )
    order: list[str] = []
    for _ in range(200):
        cluster.run(0.01)
        for pod in cluster.list("Pod"):
            name = pod["metadata"]["name"]
            if pod["spec"]["containers"][0]["image"] == "nginx:2" and name not in order:
                order.append(name)
    assert order == ["db-1", "db-0"]
    cluster.patch("StatefulSet", "db", {"spec": {"replicas": 1}})
    cluster.run()
    assert names(cluster.list("Pod")) == ["db-0"]
    assert names(cluster.list("PersistentVolumeClaim")) == ["data-db-0", "data-db-1"]


def test_a_partition_keeps_the_first_pods_as_they_are(cluster: KubeCluster) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    cluster.create("StatefulSet", workload("db", 2, serviceName="db", updateStrategy=strategy))
    cluster.run()
    cluster.patch("StatefulSet", "db", image("nginx:2"))
    cluster.run()
    images = {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in cluster.list("Pod")}
    assert images == {"db-0": "nginx:1", "db-1": "nginx:2"}


# DaemonSets


def test_a_daemon_set_runs_on_nodes_that_it_tolerates(cluster: KubeCluster) -> None:
    cluster.create("DaemonSet", workload("agent"))
    cluster.run()
    assert sorted(pod["spec"]["nodeName"] for pod in cluster.list("Pod")) == ["w-1", "w-2"]
    tolerations = [{"operator": "Exists", "effect": "NoSchedule"}]
    cluster.patch("DaemonSet", "agent", {"spec": {"template": {"spec": {"tolerations": tolerations}}}})
    cluster.run()
    assert sorted(pod["spec"]["nodeName"] for pod in cluster.list("Pod")) == ["cp-1", "w-1", "w-2"]
    status = cluster.get("DaemonSet", "agent")["status"]
    assert (status["desiredNumberScheduled"], status["updatedNumberScheduled"], status["numberAvailable"]) == (
        3,
        3,
        3,
    )
    assert len(cluster.list("ControllerRevision", labels="app=agent")) == 2


def test_a_daemon_set_follows_labels_of_nodes(cluster: KubeCluster) -> None:
    template = workload("agent")
    template["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "fast"}
    cluster.create("DaemonSet", template)
    cluster.run()
    assert cluster.list("Pod") == []
    cluster.patch("Node", "w-2", {"metadata": {"labels": {"disk": "fast"}}})
    cluster.run()
    assert [pod["spec"]["nodeName"] for pod in cluster.list("Pod")] == ["w-2"]
    cluster.patch("Node", "w-2", {"metadata": {"labels": {"disk": None}}})
    cluster.run()
    assert cluster.list("Pod") == []


# Jobs


def job(name: str, command: list[str] | None = None, **spec: object) -> dict[str, object]:
    container = {"name": "main", "image": "busybox", **({"command": command} if command else {})}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {"metadata": {"name": name}, "spec": {"template": template, **spec}}


def test_a_job_completes_as_often_as_wanted_and_no_more_at_once(cluster: KubeCluster) -> None:
    cluster.create("Job", job("sum", completions=5, parallelism=2))
    most = 0
    for _ in range(300):
        cluster.run(0.02)
        most = max(most, cluster.get("Job", "sum")["status"].get("active", 0))
    found = cluster.get("Job", "sum")
    assert most == 2
    assert found["status"]["succeeded"] == 5
    assert condition(found, "Complete")["status"] == "True"
    assert {pod["status"]["phase"] for pod in cluster.list("Pod")} == {"Succeeded"}
    assert len(cluster.list("Pod")) == 5


def test_a_job_that_fails_too_often_has_failed(cluster: KubeCluster) -> None:
    cluster.create("Job", job("bad", ["sh", "-c", "exit 3"], backoffLimit=2))
    cluster.run()
    found = cluster.get("Job", "bad")
    assert condition(found, "Failed")["reason"] == "BackoffLimitExceeded"
    assert found["status"]["failed"] == 3
    codes = {pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] for pod in cluster.list("Pod")}
    assert codes == {3}


def test_an_indexed_job_gives_each_pod_its_index(cluster: KubeCluster) -> None:
    cluster.create("Job", job("parts", completions=3, parallelism=3, completionMode="Indexed"))
    cluster.run()
    index = "batch.kubernetes.io/job-completion-index"
    assert sorted(pod["metadata"]["annotations"][index] for pod in cluster.list("Pod")) == ["0", "1", "2"]
    assert condition(cluster.get("Job", "parts"), "Complete")["status"] == "True"


def test_a_finished_job_goes_after_its_time_to_live(cluster: KubeCluster) -> None:
    cluster.create("Job", job("brief", ttlSecondsAfterFinished=30))
    cluster.run(10)
    assert condition(cluster.get("Job", "brief"), "Complete")["status"] == "True"
    cluster.run(60)
    assert cluster.find("Job", "brief") is None
    assert cluster.list("Pod") == []


# CronJobs
