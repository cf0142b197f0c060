"""Kinds with ways of their own: scale, status, binding, services, nodes, leases and events."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

import pytest

from tests.contract.kube.kube_world import STRATEGIC_PATCH, KubeWorld, deployment, names, pod

pytestmark = pytest.mark.slow


def test_a_deployment_is_scaled(world: KubeWorld, deployments: str, space: str) -> None:
    uid = world.create(deployments, deployment("one")).ok()["metadata"]["uid"]
    scale = world.get(f"{deployments}/one/scale").ok()
    assert (scale["kind"], scale["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (scale["metadata"]["uid"], scale["spec"]) == (uid, {})
    assert scale["status"] == {"replicas": 0, "selector": "app=one"}
    scale["spec"]["replicas"] = 3
    scale["metadata"] = {"name": "one", "namespace": space}
    assert world.replace(f"{deployments}/one/scale", scale).ok()["spec"] == {"replicas": 3}
    found = world.get(f"{deployments}/one").ok()
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (3, 2)
    assert world.patch(f"{deployments}/one/scale", {"spec": {"replicas": 0}}).ok()["spec"] == {}


def test_a_scale_is_not_below_nothing(world: KubeWorld, deployments: str) -> None:
    world.create(deployments, deployment("one")).ok()
    message = (
        'Scale.autoscaling "one" is invalid: spec.replicas: Invalid value: -1: must be greater than or equal to 0'
    )
    assert world.patch(f"{deployments}/one/scale", {"spec": {"replicas": -1}}).why == (422, "Invalid", message)


def test_status_changes_by_its_own_path_only(world: KubeWorld, deployments: str) -> None:
    one = f"{deployments}/one"
    world.create(deployments, {**deployment("one"), "status": {"collisionCount": 1}}).ok()
    assert "collisionCount" not in world.get(one).ok()["status"]
    found = world.patch(f"{one}/status", {"status": {"collisionCount": 7}, "spec": {"minReadySeconds": 9}}).ok()
    assert (found["status"]["collisionCount"], found["metadata"]["generation"]) == (7, 1)
    assert "minReadySeconds" not in found["spec"]
    found = world.patch(one, {"status": {"collisionCount": 8}}).ok()
    assert found["status"]["collisionCount"] == 7
    assert world.get(f"{one}/status").ok()["kind"] == "Deployment"


def test_selectors_stay(world: KubeWorld, deployments: str) -> None:
    world.create(deployments, deployment("one")).ok()
    other = {"matchLabels": {"app": "z"}}
    template = {"metadata": {"labels": {"app": "z"}}}
    patch = {"spec": {"selector": other, "template": template}}
    message = (
        'Deployment.apps "one" is invalid: spec.selector: Invalid value: {"matchLabels":{"app":"z"}}: '
        "field is immutable"
    )
    assert world.patch(f"{deployments}/one", patch).why == (422, "Invalid", message)


def binding(name: str, node: str) -> dict[str, object]:
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}


def test_a_pod_is_bound_once(world: KubeWorld, pods: str) -> None:
    world.create(pods, pod("one")).ok()
    bound = world.create(f"{pods}/one/binding", binding("one", "nowhere"))
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
    assert (bound.code, bound.body) == (201, status)
    found = world.get(f"{pods}/one").ok()
    assert found["spec"]["nodeName"] == "nowhere"
    (scheduled,) = [one for one in found["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert scheduled["status"] == "True"
    refused = world.create(f"{pods}/one/binding", binding("one", "elsewhere")).refusal
    message = 'Operation cannot be fulfilled on pods/binding "one": pod one is already assigned to node "nowhere"'
    assert refused == (409, "Conflict", message, {"name": "one", "kind": "pods/binding"})
    assert world.create(f"{pods}/none/binding", binding("none", "x")).why == (
        404,
        "NotFound",
        'pods "none" not found',
    )


def test_logs_of_a_pod_that_runs_nowhere(world: KubeWorld, pods: str) -> None:
    world.create(pods, pod("one")).ok()
    answer = world.get(f"{pods}/one/log")
    assert (answer.code, answer.text) == (204, "")
    assert world.get(f"{pods}/none/log").why == (404, "NotFound", 'pods "none" not found')
    message = "container x is not valid for pod one"
    assert world.get(f"{pods}/one/log", container="x").why == (400, "BadRequest", message)


def test_a_service_gets_an_address(world: KubeWorld, space: str) -> None:
    services = f"/api/v1/namespaces/{space}/services"
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "one"},
        "spec": {"selector": {"app": "x"}, "ports": [{"port": 80}]},
    }
    made = world.create(services, service).ok()["spec"]
    assert made["clusterIPs"] == [made["clusterIP"]]
    assert ip_address(made["clusterIP"]) in ip_network("10.96.0.0/12")
    assert made["ports"] == [{"protocol": "TCP", "port": 80, "targetPort": 80}]
    assert (made["type"], made["sessionAffinity"], made["internalTrafficPolicy"]) == ("ClusterIP", "None", "Cluster")
    assert (made["ipFamilies"], made["ipFamilyPolicy"]) == (["IPv4"], "SingleStack")
    other = next(one for one in ("10.96.7.7", "10.96.7.8") if one != made["clusterIP"])
    changed = world.patch(f"{services}/one", {"spec": {"clusterIP": other}})
    message = f'Service "one" is invalid: spec.clusterIPs[0]: Invalid value: ["{other}"]: may not change once set'
    assert changed.why == (422, "Invalid", message)
    service["spec"] = {"clusterIP": "None", "selector": {"app": "x"}}
    service["metadata"] = {"name": "headless"}
    assert world.create(services, service).ok()["spec"]["clusterIPs"] == ["None"]


def test_a_node_is_not_ready_at_first(world: KubeWorld, unique: str) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": unique}}
    made = world.create("/api/v1/nodes", node).ok()
    assert {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"} in made["spec"]["taints"]
    world.delete(f"/api/v1/nodes/{unique}").ok()


def test_nodes_are_cordoned_and_found(world: KubeWorld, unique: str) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": unique}}
    world.create("/api/v1/nodes", node).ok()
    path = f"/api/v1/nodes/{unique}"
    world.patch(path, {"spec": {"unschedulable": True}}, STRATEGIC_PATCH).ok()
    selector = f"spec.unschedulable=true,metadata.name={unique}"
    assert names(world.get("/api/v1/nodes", fieldSelector=selector).ok()) == [unique]
    taint = {"key": "example.org/a", "value": "1", "effect": "NoSchedule"}
    # Unlike other lists of objects, taints are one value: all are given, or lost.
    found = world.patch(path, {"spec": {"taints": [taint]}}, STRATEGIC_PATCH).ok()
    assert found["spec"]["taints"] == [taint]
    world.delete(path).ok()


def test_a_lease_keeps_microseconds(world: KubeWorld, space: str) -> None:
    leases = f"/apis/coordination.k8s.io/v1/namespaces/{space}/leases"
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.123456Z"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "one"}, "spec": spec}
    made = world.create(leases, lease).ok()
    assert made["spec"] == spec
    made["spec"]["holderIdentity"] = "you"
    taken = world.replace(f"{leases}/one", made).ok()
    assert taken["spec"]["holderIdentity"] == "you"
    assert world.replace(f"{leases}/one", made).why[:2] == (409, "Conflict")


def test_events_are_found_by_what_they_are_about(world: KubeWorld, space: str) -> None:
    events = f"/api/v1/namespaces/{space}/events"
    for name, kind, level in (("a", "Pod", "Normal"), ("b", "Deployment", "Warning")):
        about = {"kind": kind, "namespace": space, "name": "p"}
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": about}
        world.create(events, {**event, "reason": "Tested", "message": "hello", "type": level}).ok()
    for selector, found in (
        ("involvedObject.name=p", ["a", "b"]),
        ("involvedObject.kind=Pod", ["a"]),
        ("type=Warning", ["b"]),
        ("reason!=Tested", []),
        (f"involvedObject.namespace={space},involvedObject.kind!=Pod", ["b"]),
    ):
        assert names(world.get(events, fieldSelector=selector).ok()) == found, selector


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "kube-node-lease"])
def test_namespaces_that_are_always_there(world: KubeWorld, name: str) -> None:
    assert world.get(f"/api/v1/namespaces/{name}").ok()["status"]["phase"] == "Active"


def test_the_api_is_a_service_of_its_own(world: KubeWorld) -> None:
    found = world.get("/api/v1/namespaces/default/services/kubernetes").ok()["spec"]
    assert found["clusterIP"] == "10.96.0.1"
    assert found["ports"] == [
        {"name": "https", "protocol": "TCP", "port": 443, "targetPort": found["ports"][0]["targetPort"]}
    ]


def test_priority_classes_of_the_system(world: KubeWorld) -> None:
    path = "/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical"
    assert world.get(path).ok()["value"] == 2000001000


def test_a_pod_of_a_class_has_its_priority(world: KubeWorld, pods: str) -> None:
    critical = pod("one")
    critical["spec"]["priorityClassName"] = "system-cluster-critical"
    made = world.create(pods, critical).ok()
    assert made["spec"]["priority"] == 2000000000
    unknown = pod("two")
    unknown["spec"]["priorityClassName"] = "nonsense"
    message = 'pods "two" is forbidden: no PriorityClass with name nonsense was found'
    assert world.create(pods, unknown).why == (403, "Forbidden", message)
