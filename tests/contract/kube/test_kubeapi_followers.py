"""What follows from other objects: budgets that count, what is owned and what is in a namespace, ways to pods."""

from __future__ import annotations

import pytest

from tests.contract.kube.kube_space import KeptSpace, conditions, kept_space, kept_web, template, workload
from tests.contract.kube.kube_world import STRATEGIC_PATCH, Obj, config_map, until

pytestmark = pytest.mark.slow

__all__ = ["kept_space", "kept_web"]


def budget_status(space: KeptSpace, name: str, **wanted: int) -> Obj:
    path = f"/apis/policy/v1/namespaces/{space.name}/poddisruptionbudgets/{name}"
    status: Obj = until(
        lambda: space.world.get(path).ok()["status"],
        lambda found: found.get("observedGeneration") and wanted.items() <= found.items(),
    )
    return status


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        ({"minAvailable": 1}, {"desiredHealthy": 1, "disruptionsAllowed": 1}),
        ({"minAvailable": "100%"}, {"desiredHealthy": 2, "disruptionsAllowed": 0}),
        ({"maxUnavailable": 1}, {"desiredHealthy": 1, "disruptionsAllowed": 1}),
        ({"maxUnavailable": "50%"}, {"desiredHealthy": 1, "disruptionsAllowed": 1}),
    ],
    ids=["least", "all", "most", "half"],
)
def test_budgets_count_pods(web: KeptSpace, rule: Obj, wanted: dict[str, int]) -> None:
    for one in web.pods:
        web.report_ready(one)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, **rule},
    }
    web.world.create(f"/apis/policy/v1/namespaces/{web.name}/poddisruptionbudgets", budget).ok()
    status = budget_status(web, "web", currentHealthy=2, expectedPods=2, **wanted)
    allowed = wanted["disruptionsAllowed"] > 0
    (told,) = status["conditions"]
    assert (told["type"], told["status"]) == ("DisruptionAllowed", "True" if allowed else "False")
    assert told["reason"] == ("SufficientPods" if allowed else "InsufficientPods")
    web.report_ready(web.pods[0], "False")
    budget_status(web, "web", currentHealthy=1, disruptionsAllowed=0)


def owned(name: str, owner: Obj, *, blocking: bool = False) -> Obj:
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "blockOwnerDeletion": blocking,
    }
    return config_map(name, ownerReferences=[reference])


def test_what_is_owned_goes_with_its_owner(space: KeptSpace) -> None:
    maps = f"{space.core}/configmaps"
    owner = space.world.create(maps, config_map("owner")).ok()
    child = space.world.create(maps, owned("child", owner)).ok()
    space.world.create(maps, owned("grandchild", child)).ok()
    space.world.delete(f"{maps}/owner", {"propagationPolicy": "Background"}).ok()
    assert space.world.get(f"{maps}/owner").code == 404
    until(lambda: space.world.get(f"{maps}/grandchild").code, lambda code: code == 404)


def test_an_owner_waits_for_what_it_owns(space: KeptSpace) -> None:
    maps = f"{space.core}/configmaps"
    owner = space.world.create(maps, config_map("owner")).ok()
    held = owned("child", owner, blocking=True)
    held["metadata"]["finalizers"] = ["example.org/a"]
    space.world.create(maps, held).ok()
    space.world.delete(f"{maps}/owner", {"propagationPolicy": "Foreground"}).ok()
    until(lambda: space.world.get(f"{maps}/child").ok()["metadata"], lambda metadata: "deletionTimestamp" in metadata)
    assert space.world.get(f"{maps}/owner").ok()["metadata"]["finalizers"] == ["foregroundDeletion"]
    space.world.patch(f"{maps}/child", {"metadata": {"finalizers": None}}).ok()
    until(lambda: space.world.get(f"{maps}/owner").code, lambda code: code == 404)


def test_an_owner_may_leave_what_it_owns(space: KeptSpace) -> None:
    maps = f"{space.core}/configmaps"
    owner = space.world.create(maps, config_map("owner")).ok()
    space.world.create(maps, owned("child", owner)).ok()
    space.world.delete(f"{maps}/owner", {"propagationPolicy": "Orphan"}).ok()
    until(lambda: space.world.get(f"{maps}/owner").code, lambda code: code == 404)
    assert "ownerReferences" not in space.world.get(f"{maps}/child").ok()["metadata"]


def test_what_has_no_owner_any_more_goes(space: KeptSpace) -> None:
    maps = f"{space.core}/configmaps"
    owner = space.world.create(maps, config_map("owner")).ok()
    space.world.delete(f"{maps}/owner").ok()
    space.world.create(maps, owned("late", owner)).ok()
    until(lambda: space.world.get(f"{maps}/late").code, lambda code: code == 404)


def test_a_deployment_goes_with_all_that_is_its(web: KeptSpace) -> None:
    web.world.delete(f"{web.apps}/deployments/web", {"propagationPolicy": "Foreground"}).ok()
    until(lambda: web.world.get(f"{web.apps}/deployments/web").code, lambda code: code == 404)
    # The collector may not have heard of them all when it lets the deployment go; then they follow it.
    for path in (f"{web.apps}/replicasets", f"{web.core}/pods"):
        until(lambda path=path: web.listed(path), lambda found: found == [])


def test_a_namespace_goes_with_all_that_is_in_it(web: KeptSpace) -> None:
    web.world.create(f"{web.core}/configmaps", config_map("one")).ok()
    web.world.delete(web.core).ok()
    until(lambda: web.world.get(web.core).code, lambda code: code == 404)
    for path in (f"{web.core}/configmaps", f"{web.core}/pods", f"{web.apps}/deployments"):
        assert web.listed(path) == []


def test_a_namespace_says_what_holds_it(space: KeptSpace) -> None:
    maps = f"{space.core}/configmaps"
    space.world.create(maps, config_map("held", finalizers=["example.org/a"])).ok()
    space.world.delete(space.core).ok()
    found = until(
        lambda: space.world.get(space.core).ok()["status"],
        lambda status: conditions(status).get("NamespaceFinalizersRemaining", ("", "", ""))[0] == "True",
    )
    assert found["phase"] == "Terminating"
    told = conditions(found)
    remaining = "Some content in the namespace has finalizers remaining: example.org/a in 1 resource instances"
    assert told["NamespaceFinalizersRemaining"] == ("True", "SomeFinalizersRemain", remaining)
    content = "Some resources are remaining: configmaps. has 1 resource instances"
    assert told["NamespaceContentRemaining"] == ("True", "SomeResourcesRemain", content)
    space.world.patch(f"{maps}/held", {"metadata": {"finalizers": None}}).ok()
    until(lambda: space.world.get(space.core).code, lambda code: code == 404)


def test_a_service_leads_to_its_pods(space: KeptSpace) -> None:
    """On a node that is lost already, whose pods stay: nobody who looks after nodes has anything to change."""
    web, stays = space, template(tolerations=[{"operator": "Exists"}])
    web.world.create(f"{web.apps}/deployments", workload("Deployment", 2, template=stays)).ok()
    web.status(replicas=2)
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "targetPort": 8080}]},
    }
    web.world.create(f"{web.core}/services", service).ok()
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": web.name}}
    lost = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    web.world.create("/api/v1/nodes", {**node, "status": {"conditions": [lost]}}).ok()
    for number, one in enumerate(web.pods):
        name = one["metadata"]["name"]
        target = {"apiVersion": "v1", "kind": "Node", "name": web.name}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        web.world.create(f"{web.core}/pods/{name}/binding", binding).ok()
        address = f"10.244.9.{number + 1}"
        status = {"podIP": address, "podIPs": [{"ip": address}]}
        web.world.patch(f"{web.core}/pods/{name}/status", {"status": status}, STRATEGIC_PATCH).ok()
    web.report_ready(web.pods[0])
    slices = f"/apis/discovery.k8s.io/v1/namespaces/{web.name}/endpointslices"
    (found,) = until(
        lambda: web.listed(slices),
        lambda found: (
            len(found) == 1
            and sorted(one["conditions"]["ready"] for one in found[0]["endpoints"] or []) == [False, True]
        ),
    )
    assert found["metadata"]["generateName"] == "web-"
    assert found["metadata"]["labels"]["kubernetes.io/service-name"] == "web"
    assert found["addressType"] == "IPv4"
    assert found["ports"] == [{"name": "", "port": 8080, "protocol": "TCP"}]
    by_address = {one["addresses"][0]: one for one in found["endpoints"]}
    ready = by_address["10.244.9.1"]
    assert ready["conditions"] == {"ready": True, "serving": True, "terminating": False}
    assert ready["targetRef"]["name"] == web.pods[0]["metadata"]["name"]
    assert ready["nodeName"] == web.name
    assert by_address["10.244.9.2"]["conditions"]["ready"] is False
    web.world.delete(f"/api/v1/nodes/{web.name}").ok()
