"""What else follows from objects: owners and what they own, namespaces, budgets, endpoints, certificates, logs."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from talosmith_lab import settle
from talosmith_lab.kube import subresources
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.store import Store
from tests.lab.kube.controllers_lab import HOW, KubeCluster, condition, is_ready, kind_of, names, workload
from tests.lab.lab_worlds import Configs

pytestmark = pytest.mark.slow

SPACE = "team"


@pytest.fixture(scope="module")
def shared() -> KubeCluster:
    return KubeCluster(Configs(), "cp-1", "w-1", "w-2")


@pytest.fixture
def cluster(shared: KubeCluster) -> Iterator[KubeCluster]:
    """With a namespace of its own."""
    shared.create("Namespace", {"metadata": {"name": SPACE}})
    shared.run()
    yield shared
    if shared.find("Namespace", SPACE) is not None:
        shared.delete("Namespace", SPACE)
        shared.run()
    assert shared.find("Namespace", SPACE) is None


def test_a_namespace_gets_an_account_and_the_authority(cluster: KubeCluster) -> None:
    assert names(cluster.list("ServiceAccount", SPACE)) == ["default"]
    authority = cluster.get("ConfigMap", "kube-root-ca.crt", SPACE)["data"]["ca.crt"]
    assert authority == cluster.lab.configs.bundle.k8s.certificate
    cluster.delete("ServiceAccount", "default", SPACE)
    cluster.run()
    assert names(cluster.list("ServiceAccount", SPACE)) == ["default"]


def test_a_deleted_namespace_takes_everything_with_it(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 3), SPACE)
    cluster.create("ConfigMap", {"metadata": {"name": "held", "finalizers": ["example.org/hold"]}}, SPACE)
    cluster.run()
    cluster.delete("Namespace", SPACE)
    cluster.run()
    assert cluster.get("Namespace", SPACE)["status"]["phase"] == "Terminating"
    assert cluster.list("Pod", SPACE) == []
    assert names(cluster.list("ConfigMap", SPACE)) == ["held"]
    cluster.patch("ConfigMap", "held", {"metadata": {"finalizers": None}}, SPACE)
    cluster.run()
    assert cluster.find("Namespace", SPACE) is None


def test_what_is_owned_goes_with_its_owner(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 2), SPACE)
    cluster.run()
    cluster.delete("Deployment", "web", SPACE, propagationPolicy="Background")
    assert cluster.find("Deployment", "web", SPACE) is None
    cluster.run()
    assert cluster.list("ReplicaSet", SPACE) == []
    assert cluster.list("Pod", SPACE) == []


def test_in_the_foreground_the_owner_goes_last(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 2), SPACE)
    cluster.run()
    cluster.delete("Deployment", "web", SPACE, propagationPolicy="Foreground")
    seen = []
    for _ in range(40):
        cluster.run(0.01)
        there = cluster.find("Deployment", "web", SPACE) is not None, len(cluster.list("Pod", SPACE))
        seen.append(there)
        assert there[0] or not there[1]
    cluster.run()
    assert (True, 2) in seen
    assert cluster.find("Deployment", "web", SPACE) is None


def test_orphans_stay(cluster: KubeCluster) -> None:
    cluster.create("ReplicaSet", workload("web", 2), SPACE)
    cluster.run()
    cluster.delete("ReplicaSet", "web", SPACE, propagationPolicy="Orphan")
    cluster.run()
    assert cluster.find("ReplicaSet", "web", SPACE) is None
    pods = cluster.list("Pod", SPACE)
    assert len(pods) == 2
    assert all("ownerReferences" not in pod["metadata"] for pod in pods)


def test_who_has_another_owner_left_stays(cluster: KubeCluster) -> None:
    owners = [cluster.create("ConfigMap", {"metadata": {"name": name}}, SPACE) for name in ("one", "two")]
    told = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": one["metadata"]["name"], "uid": one["metadata"]["uid"]}
        for one in owners
    ]
    cluster.create("Secret", {"metadata": {"name": "owned", "ownerReferences": told}}, SPACE)
    cluster.run()
    cluster.delete("ConfigMap", "one", SPACE)
    cluster.run()
    left = cluster.get("Secret", "owned", SPACE)["metadata"]["ownerReferences"]
    assert [one["name"] for one in left] == ["two"]
    cluster.delete("ConfigMap", "two", SPACE)
    cluster.run()
    assert cluster.find("Secret", "owned", SPACE) is None


def test_a_budget_lets_pods_go_one_by_one(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 3), SPACE)
    budget = {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}}
    cluster.create("PodDisruptionBudget", {"metadata": {"name": "web"}, "spec": budget}, SPACE)
    cluster.run()
    status = cluster.get("PodDisruptionBudget", "web", SPACE)["status"]
    told = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    assert [status[name] for name in told] == [1, 3, 2, 3]
    first, second, _ = names(cluster.list("Pod", SPACE))
    cluster.evict(first, SPACE)
    with pytest.raises(ApiError) as refused:
        cluster.evict(second, SPACE)
    assert refused.value.code == 429
    cluster.run()
    assert first not in names(cluster.list("Pod", SPACE))
    assert all(map(is_ready, cluster.list("Pod", SPACE)))
    cluster.evict(second, SPACE)


def test_a_budget_of_a_share_counts_what_is_wanted(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 4), SPACE)
    budget = {"maxUnavailable": "50%", "selector": {"matchLabels": {"app": "web"}}}
    cluster.create("PodDisruptionBudget", {"metadata": {"name": "web"}, "spec": budget}, SPACE)
    cluster.run()
    assert cluster.get("PodDisruptionBudget", "web", SPACE)["status"]["disruptionsAllowed"] == 2


def test_endpoints_follow_the_ready_pods(cluster: KubeCluster) -> None:
    template = workload("web", 2)
    template["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"name": "http", "containerPort": 8080}]
    cluster.create("Deployment", template, SPACE)
    port = {"port": 80, "targetPort": "http"}
    service = {"metadata": {"name": "web"}, "spec": {"selector": {"app": "web"}, "ports": [port]}}
    cluster.create("Service", service, SPACE)
    cluster.run()
    addresses = sorted(pod["status"]["podIP"] for pod in cluster.list("Pod", SPACE))
    (slice_,) = cluster.list("EndpointSlice", SPACE, labels="kubernetes.io/service-name=web")
    assert sorted(one["addresses"][0] for one in slice_["endpoints"]) == addresses
    assert all(one["conditions"]["ready"] for one in slice_["endpoints"])
    assert slice_["ports"][0]["port"] == 8080
    (subset,) = cluster.get("Endpoints", "web", SPACE)["subsets"]
    assert sorted(one["ip"] for one in subset["addresses"]) == addresses
    cluster.patch("Deployment", "web", {"spec": {"replicas": 0}}, SPACE)
    cluster.run()
    (slice_,) = cluster.list("EndpointSlice", SPACE, labels="kubernetes.io/service-name=web")
    assert not slice_.get("endpoints")
    cluster.delete("Service", "web", SPACE)
    cluster.run()
    assert cluster.list("EndpointSlice", SPACE) == []
    assert cluster.find("Endpoints", "web", SPACE) is None


def test_a_removed_pod_leaves_its_address_to_the_next_one(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 2), SPACE)
    cluster.run()
    before = {pod["status"]["podIP"] for pod in cluster.list("Pod", SPACE)}
    cluster.delete("Deployment", "web", SPACE, propagationPolicy="Background")
    cluster.run()
    cluster.create("Deployment", workload("again", 2), SPACE)
    cluster.run()
    assert {pod["status"]["podIP"] for pod in cluster.list("Pod", SPACE)} == before


def test_a_pods_grace_is_taken_and_its_end_told(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("web", 1), SPACE)
    cluster.run()
    (pod,) = cluster.list("Pod", SPACE)
    name = pod["metadata"]["name"]
    going = cluster.delete("Pod", name, SPACE)
    assert going["metadata"]["deletionGracePeriodSeconds"] == 30
    assert cluster.find("Pod", name, SPACE) is not None
    cluster.run()
    assert cluster.find("Pod", name, SPACE) is None
    assert ("Killing", "Stopping container main") in cluster.events(name, SPACE)


def test_containers_say_something(cluster: KubeCluster) -> None:
    container = {"name": "main", "image": "busybox", "command": ["echo", "hello"]}
    pod = {"metadata": {"name": "once"}, "spec": {"restartPolicy": "Never", "containers": [container]}}
    cluster.create("Pod", pod, SPACE)
    with pytest.raises(ApiError, match="is waiting to start: ContainerCreating"):
        cluster.run(0.001)
        subresources.log_lines(cluster.api, "once", SPACE, "")
    cluster.run()
    assert cluster.get("Pod", "once", SPACE)["status"]["phase"] == "Succeeded"
    lines = subresources.log_lines(cluster.api, "once", SPACE, "")
    assert [line for _, line in lines] == ["hello"]


# Certificates


def request(user: str, group: str, signer: str, usage: str) -> dict[str, object]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name(
        [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group), x509.NameAttribute(NameOID.COMMON_NAME, user)]
    )
    asked = x509.CertificateSigningRequestBuilder().subject_name(name)
    asked = asked.add_extension(x509.SubjectAlternativeName([x509.DNSName("w-1")]), critical=False)
    text = asked.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
    spec = {"request": base64.b64encode(text).decode(), "signerName": signer, "usages": ["digital signature", usage]}
    return {"metadata": {"name": user.replace(":", "-")}, "spec": spec}


def approve(cluster: KubeCluster, name: str) -> None:
    told = {"type": "Approved", "status": "True", "reason": "Fine", "message": "by hand"}
    found = cluster.get("CertificateSigningRequest", name)
    found["status"] = {"conditions": [told]}
    cluster.api.update(kind_of("CertificateSigningRequest"), found, subresource="approval", how=HOW)


def test_an_approved_request_is_signed_by_the_clusters_authority(cluster: KubeCluster) -> None:
    serving = request("system:node:w-1", "system:nodes", "kubernetes.io/kubelet-serving", "server auth")
    cluster.create("CertificateSigningRequest", serving)
    cluster.run()
    assert not cluster.get("CertificateSigningRequest", "system-node-w-1")["status"].get("certificate")
    approve(cluster, "system-node-w-1")
    cluster.run()
    text = cluster.get("CertificateSigningRequest", "system-node-w-1")["status"]["certificate"]
    certificate = x509.load_pem_x509_certificate(base64.b64decode(text))
    authority = x509.load_pem_x509_certificate(cluster.lab.configs.bundle.k8s.certificate.encode())
    certificate.verify_directly_issued_by(authority)
    names_ = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names_.get_values_for_type(x509.DNSName) == ["w-1"]
    assert certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value


def test_a_serving_certificate_is_for_nodes_only(cluster: KubeCluster) -> None:
    cluster.create(
        "CertificateSigningRequest", request("mallory", "us", "kubernetes.io/kubelet-serving", "server auth")
    )
    approve(cluster, "mallory")
    cluster.run()
    status = cluster.get("CertificateSigningRequest", "mallory")["status"]
    assert "certificate" not in status
    assert condition({"status": status}, "Failed")["reason"] == "SignerValidationFailure"


# A lab that was killed


def test_after_a_kill_everything_goes_on_from_the_objects(tmp_path: Path) -> None:
    cluster = KubeCluster(Configs(), "cp-1", "w-1", "w-2")
    cluster.create("Deployment", workload("web", 4))
    cluster.create("Deployment", workload("old", 2))
    cluster.run()
    cluster.patch("Deployment", "web", {"spec": {"replicas": 6}})
    cluster.delete("Deployment", "old", propagationPolicy="Foreground")
    cluster.run(0.02)  # in the middle of it
    lab = cluster.lab
    assert len([pod for pod in cluster.list("Pod") if pod["status"]["phase"] == "Pending"]) > 0
    store = Store(tmp_path / "world.db")
    lab.world.changed.update(lab.world.machines)
    lab.world.changed_clusters.update(lab.world.clusters)
    lab.etcd.store.dirty.update(lab.etcd.store.entries)
    store.save(lab.world)
    store.close()
    lab.world = Store(tmp_path / "world.db").load(lab.clock)
    settle.resume(lab.world)
    cluster.run()
    pods = cluster.list("Pod")
    assert len(pods) == 6
    assert all(map(is_ready, pods))
    assert len({pod["status"]["podIP"] for pod in pods}) == 6
    assert cluster.find("Deployment", "old") is None
    assert cluster.get("Deployment", "web")["status"]["availableReplicas"] == 6
    revision = lab.etcd.store.revision
    cluster.run()
    assert lab.etcd.store.revision == revision  # at rest


def test_the_same_lab_does_the_same(tmp_path: Path) -> None:
    def history() -> list[str]:
        cluster = KubeCluster(CONFIGS, "cp-1", "w-1", "w-2")
        cluster.create("Deployment", workload("web", 5))
        cluster.run()
        return [json.dumps(one, sort_keys=True) for one in (*cluster.list("Pod"), *cluster.list("Event"))]

    assert history() == history()


CONFIGS = Configs()
