"""Operators of add-ons: kinds and conditions come with their pods, and with nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith_lab.kube.kinds import Obj
from talosmith_lab.kube.operators import OPERATORS, images_of
from tests.charts import definition
from tests.lab.kube.controllers_lab import HOW, KubeCluster, condition, workload
from tests.lab.lab_worlds import Configs

pytestmark = pytest.mark.slow

CERTIFICATES, GATEWAYS = "cert-manager.io/v1", "gateway.networking.k8s.io/v1"
KINDS = (
    ("ClusterIssuer", CERTIFICATES, "Cluster"),
    ("Certificate", CERTIFICATES, "Namespaced"),
    ("GatewayClass", GATEWAYS, "Cluster"),
    ("Gateway", GATEWAYS, "Namespaced"),
)
CERT_MANAGER = "quay.io/jetstack/cert-manager-controller:v1.21.2"
ENVOY = "gateway.envoyproxy.io/gatewayclass-controller"


@pytest.fixture(scope="module")
def configs() -> Configs:
    return Configs()


@pytest.fixture
def cluster(configs: Configs) -> KubeCluster:
    found = KubeCluster(configs, "cp-1", "w-1")
    for kind, api_version, scope in KINDS:
        group, _, version = api_version.partition("/")
        made = definition(kind, group, version, scope=scope)
        found.api.create(found.api.kinds.need(made["apiVersion"], "CustomResourceDefinition"), made, how=HOW)  # type: ignore[arg-type]
    return found


def custom(cluster: KubeCluster, api_version: str, kind: str, name: str, spec: Obj) -> None:
    found = cluster.api.kinds.named(api_version, kind)
    assert found is not None
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    cluster.api.create(found, obj, "default" if found.namespaced else "", how=HOW)


def status(cluster: KubeCluster, api_version: str, kind: str, name: str) -> dict[str, tuple[Any, ...]]:
    """Its conditions: status, reason, generation."""
    found = cluster.api.kinds.named(api_version, kind)
    assert found is not None
    obj = cluster.api.get(found, name, "default" if found.namespaced else "")
    told = (obj.get("status") or {}).get("conditions") or ()
    return {one["type"]: (one["status"], one["reason"], one["observedGeneration"]) for one in told}


def test_an_issuer_is_ready_once_cert_manager_runs(cluster: KubeCluster) -> None:
    custom(cluster, CERTIFICATES, "ClusterIssuer", "root", {"selfSigned": {}})
    cluster.run()
    assert status(cluster, CERTIFICATES, "ClusterIssuer", "root") == {}
    cluster.create("Deployment", workload("controller", 1, image=CERT_MANAGER))
    cluster.run()
    assert status(cluster, CERTIFICATES, "ClusterIssuer", "root") == {"Ready": ("True", "IsReady", 1)}


def test_without_its_pods_an_operator_does_nothing(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("cert-manager", 1))
    cluster.run()
    cluster.patch("Deployment", "cert-manager", {"spec": {"replicas": 0}})
    cluster.run()
    custom(cluster, CERTIFICATES, "ClusterIssuer", "late", {"ca": {"secretName": "root"}})
    cluster.run()
    assert status(cluster, CERTIFICATES, "ClusterIssuer", "late") == {}
    cluster.patch("Deployment", "cert-manager", {"spec": {"replicas": 1}})
    cluster.run()
    assert status(cluster, CERTIFICATES, "ClusterIssuer", "late") == {"Ready": ("True", "KeyPairVerified", 1)}


def test_a_changed_object_is_looked_at_again(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("cert-manager", 1))
    custom(cluster, CERTIFICATES, "ClusterIssuer", "one", {"selfSigned": {}})
    cluster.run()
    kind = cluster.api.kinds.named(CERTIFICATES, "ClusterIssuer")
    assert kind is not None
    before = cluster.api.get(kind, "one")["status"]["conditions"][0]["lastTransitionTime"]
    merge = "application/merge-patch+json"
    cluster.api.patch(kind, "one", "", merge, {"spec": {"acme": {}, "selfSigned": None}}, how=HOW)
    cluster.run(5)
    assert status(cluster, CERTIFICATES, "ClusterIssuer", "one") == {"Ready": ("True", "ACMEAccountRegistered", 2)}
    assert cluster.api.get(kind, "one")["status"]["conditions"][0]["lastTransitionTime"] == before


def test_a_certificate_waits_for_its_issuer(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("cert-manager", 1))
    custom(cluster, CERTIFICATES, "Certificate", "web", {"issuerRef": {"kind": "ClusterIssuer", "name": "root"}})
    cluster.run()
    assert status(cluster, CERTIFICATES, "Certificate", "web") == {}
    custom(cluster, CERTIFICATES, "ClusterIssuer", "root", {"selfSigned": {}})
    cluster.run()
    assert status(cluster, CERTIFICATES, "Certificate", "web") == {"Ready": ("True", "Ready", 1)}


def test_gateways_of_envoys_class_are_programmed_and_no_others(cluster: KubeCluster) -> None:
    cluster.create("Deployment", workload("envoy-gateway", 1))
    for name, controller in (("envoy", ENVOY), ("other", "example.org/controller")):
        custom(cluster, GATEWAYS, "GatewayClass", name, {"controllerName": controller})
        custom(cluster, GATEWAYS, "Gateway", name, {"gatewayClassName": name})
    cluster.run()
    assert status(cluster, GATEWAYS, "GatewayClass", "envoy") == {"Accepted": ("True", "Accepted", 1)}
    programmed = {"Accepted": ("True", "Accepted", 1), "Programmed": ("True", "Programmed", 1)}
    assert status(cluster, GATEWAYS, "Gateway", "envoy") == programmed
    assert status(cluster, GATEWAYS, "GatewayClass", "other") == {}
    assert status(cluster, GATEWAYS, "Gateway", "other") == {}


def test_ciliums_operator_registers_its_kinds(cluster: KubeCluster) -> None:
    kinds = cluster.api.kinds
    assert kinds.named("cilium.io/v2", "CiliumLoadBalancerIPPool") is None
    image = "quay.io/cilium/operator-generic:v1.20.2@sha256:0123"
    cluster.create("Deployment", workload("any", 1, image=image), "kube-system")
    cluster.run()
    pool = kinds.named("cilium.io/v2", "CiliumLoadBalancerIPPool")
    policy = kinds.named("cilium.io/v2alpha1", "CiliumL2AnnouncementPolicy")
    assert pool is not None
    assert policy is not None
    assert not pool.namespaced
    assert kinds.named("cilium.io/v2", "CiliumL2AnnouncementPolicy") is None
    custom(cluster, "cilium.io/v2", "CiliumLoadBalancerIPPool", "one", {"blocks": [{"cidr": "10.0.0.0/24"}]})
    assert cluster.api.get(pool, "one")["spec"]["blocks"] == [{"cidr": "10.0.0.0/24"}]


def test_at_rest_nothing_is_written(cluster: KubeCluster) -> None:
    for name in ("cert-manager", "envoy-gateway", "cilium"):
        cluster.create("Deployment", workload(name, 1))
    custom(cluster, CERTIFICATES, "ClusterIssuer", "root", {"selfSigned": {}})
    cluster.run()
    revision = cluster.lab.etcd.store.revision
    cluster.patch("Deployment", "cert-manager", {"metadata": {"labels": {"a": "b"}}})
    cluster.run()
    assert cluster.lab.etcd.store.revision == revision + 1


def test_an_api_of_another_server_is_available_with_its_pods(cluster: KubeCluster) -> None:
    kind = cluster.api.kinds.need("apiregistration.k8s.io/v1", "APIService")
    spec = {"group": "metrics.k8s.io", "version": "v1beta1", "service": {"name": "metrics", "namespace": "default"}}
    obj = {"metadata": {"name": "v1beta1.metrics.k8s.io"}, "spec": spec}

    def state() -> tuple[str, str]:
        cluster.run()
        found = condition(cluster.api.get(kind, "v1beta1.metrics.k8s.io"), "Available")
        return found["status"], found["reason"]

    cluster.api.create(kind, {"apiVersion": kind.api_version, "kind": kind.kind, **obj}, how=HOW)
    assert state() == ("False", "ServiceNotFound")
    ports = [{"port": 443, "targetPort": 10250}]
    cluster.create("Service", {"metadata": {"name": "metrics"}, "spec": {"selector": {"app": "m"}, "ports": ports}})
    assert state() == ("False", "MissingEndpoints")
    cluster.create("Deployment", workload("m", 1))
    assert state() == ("True", "Passed")
    cluster.delete("Deployment", "m")
    assert state() == ("False", "MissingEndpoints")


def test_images_are_known_by_their_repository() -> None:
    made = workload("any", 1, image="mirror.example.org:5000/envoyproxy/gateway:v1.9.1")
    assert list(images_of(made)) == ["/mirror.example.org:5000/envoyproxy/gateway"]
    runs = [one.name for one in OPERATORS if one.runs_in(made)]
    assert runs == ["envoy-gateway"]
    other = workload("any", 1, image="gateway")
    assert not any(one.runs_in(other) for one in OPERATORS)
