"""The API as controllers use it: by calls, on a clock that stands still."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith_lab import lifecycle, settle, snapshot
from talosmith_lab.kube import storage
from talosmith_lab.kube.api import Api, How
from talosmith_lab.kube.cluster import NoQuorum, kubernetes_of
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kind, find
from tests.lab.lab_worlds import Lab

# No controller makes these by itself.
SECRET, POD, NAMESPACE = find("v1", "Secret"), find("v1", "Pod"), find("v1", "Namespace")
DEFINITION = find("apiextensions.k8s.io/v1", "CustomResourceDefinition")
ME = How(manager="me", user="admin")


def make(api: Api, name: str, kind: Kind = SECRET, **rest: Any) -> dict[str, Any]:
    metadata = {"name": name, **rest.pop("metadata", {})}
    return api.create(kind, {"metadata": metadata, **rest}, "default" if kind.namespaced else "", how=ME)


def pod(api: Api, name: str, node: str = "") -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i"}], **({"nodeName": node} if node else {})}
    return make(api, name, POD, spec=spec)


def refused(act: Any) -> tuple[int, str]:
    with pytest.raises(ApiError) as caught:
        act()
    return caught.value.code, caught.value.reason


def test_the_first_api_server_makes_what_every_cluster_has(api: Api) -> None:
    names = [one["metadata"]["name"] for one in api.list(NAMESPACE)["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    service = api.get(find("v1", "Service"), "kubernetes", "default")
    assert service["spec"]["clusterIP"] == "10.96.0.1"
    view = api.get(find("rbac.authorization.k8s.io/v1", "ClusterRole"), "view")
    assert any("configmaps" in rule["resources"] for rule in view["rules"])
    classes = {
        one["metadata"]["name"]: one["value"] for one in api.items(find("scheduling.k8s.io/v1", "PriorityClass"))
    }
    assert classes == {"system-cluster-critical": 2000000000, "system-node-critical": 2000001000}


def test_what_get_returns_is_the_callers_own(api: Api) -> None:
    make(api, "a", data={"x": "MQ=="})
    mine = api.get(SECRET, "a", "default")
    mine["data"]["x"] = "Mg=="
    assert api.get(SECRET, "a", "default")["data"] == {"x": "MQ=="}


def test_pages_are_of_one_moment(api: Api) -> None:
    for name in "abcde":
        make(api, name)
    first = api.list(SECRET, "default", limit=2)
    assert first["metadata"]["remainingItemCount"] == 3
    make(api, "aa")
    api.delete(SECRET, "d", "default", how=ME)
    rest = api.list(SECRET, "default", limit=5, continue_=first["metadata"]["continue"])
    names = [one["metadata"]["name"] for page in (first, rest) for one in page["items"]]
    assert names == list("abcde")
    assert rest["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    assert "continue" not in rest["metadata"]


def test_a_page_from_too_long_ago_can_be_gone_on_with(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "REMEMBERED", 2)
    for name in "abc":
        make(api, name)
    token = api.list(SECRET, "default", limit=1)["metadata"]["continue"]
    for number in range(4):
        make(api, f"n{number}")
    with pytest.raises(ApiError) as caught:
        api.list(SECRET, "default", limit=1, continue_=token)
    assert (caught.value.code, caught.value.reason) == (410, "Expired")
    rest = api.list(SECRET, "default", continue_=caught.value.status["metadata"]["continue"])
    assert [one["metadata"]["name"] for one in rest["items"]][:2] == ["b", "c"]


def test_a_watch_sees_objects_come_into_its_view_and_leave_it(api: Api) -> None:
    make(api, "a", metadata={"labels": {"app": "web"}})
    watch = api.watch(SECRET, "default", since=str(api.revision), labels="app=web")
    for value in ("db", "web"):
        patch = {"metadata": {"labels": {"app": value}}}
        api.patch(SECRET, "a", "default", "application/merge-patch+json", patch, how=ME)
    make(api, "b")
    api.delete(SECRET, "a", "default", how=ME)
    events = watch.take()
    assert [event.type for event in events] == ["DELETED", "ADDED", "DELETED"]
    assert [event.stored.obj["metadata"]["labels"]["app"] for event in events] == ["web", "web", "web"]
    assert watch.take() == []


def test_a_watch_from_the_start_gets_what_there_is(api: Api) -> None:
    make(api, "a")
    watch = api.watch(SECRET, "default")
    assert [event.type for event in watch.take()] == ["ADDED"]
    make(api, "b")
    assert [event.stored.obj["metadata"]["name"] for event in watch.take()] == ["b"]


def test_a_watch_that_is_too_slow_has_expired(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "REMEMBERED", 2)
    make(api, "a")
    watch = api.watch(SECRET, "default", since=str(api.revision))
    for number in range(4):
        make(api, f"n{number}")
    assert refused(watch.take) == (410, "Expired")
    since = str(api.revision - 4)
    assert refused(lambda: api.watch(SECRET, "default", since=since)) == (410, "Expired")


def test_an_update_that_changes_nothing_is_none(api: Api) -> None:
    made = make(api, "a", data={"x": "MQ=="})
    before = api.revision
    assert api.update(SECRET, made, how=ME)["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert api.revision == before


def test_a_dry_run_leaves_no_trace(api: Api) -> None:
    made = make(api, "a")
    before = api.revision
    dry = How(manager="me", dry_run=True)
    assert api.create(SECRET, {"metadata": {"name": "b"}}, "default", how=dry)["metadata"]["uid"]
    assert api.update(SECRET, {**made, "data": {"x": "MQ=="}}, how=dry)["data"] == {"x": "MQ=="}
    api.delete(SECRET, "a", "default", how=dry)
    assert api.revision == before and api.find(SECRET, "a", "default") is not None


def test_pods_on_nodes_have_time_to_end(api: Api) -> None:
    pod(api, "waiting")
    pod(api, "running", "n1")
    api.delete(POD, "waiting", "default", how=ME)
    assert api.find(POD, "waiting", "default") is None
    ending = api.delete(POD, "running", "default", options={"gracePeriodSeconds": 5}, how=ME)
    assert ending["metadata"]["deletionGracePeriodSeconds"] == 5
    longer = api.delete(POD, "running", "default", options={"gracePeriodSeconds": 50}, how=ME)
    assert longer["metadata"]["deletionGracePeriodSeconds"] == 5  # it never gets longer
    api.delete(POD, "running", "default", options={"gracePeriodSeconds": 0}, how=ME)
    assert api.find(POD, "running", "default") is None


def test_an_object_goes_when_its_last_finalizer_does(api: Api) -> None:
    make(api, "a", metadata={"finalizers": ["x.io/one", "x.io/two"]})
    api.delete(SECRET, "a", "default", how=ME)
    for left in (["x.io/two"], []):
        assert api.find(SECRET, "a", "default") is not None
        patch = {"metadata": {"finalizers": left}}
        api.patch(SECRET, "a", "default", "application/merge-patch+json", patch, how=ME)
    assert api.find(SECRET, "a", "default") is None


def test_a_namespace_goes_when_it_is_finalized(api: Api) -> None:
    make(api, "n", NAMESPACE)
    ending = api.delete(NAMESPACE, "n", how=ME)
    assert ending["status"]["phase"] == "Terminating"
    assert refused(lambda: api.create(SECRET, {"metadata": {"name": "a"}}, "n", how=ME)) == (403, "Forbidden")
    api.update(NAMESPACE, {**ending, "spec": {}}, subresource="finalize", how=ME)
    assert api.find(NAMESPACE, "n") is None


def definition(**version: Any) -> dict[str, Any]:
    names = {"plural": "foos", "kind": "Foo"}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}]
    spec = {"group": "ex.org", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": "foos.ex.org"}, "spec": spec}


def test_a_kind_comes_and_goes_with_its_definition(api: Api) -> None:
    api.create(DEFINITION, definition(), how=ME)
    foo = api.kinds.need("ex.org/v1", "Foo")
    made = api.create(foo, {"metadata": {"name": "a"}, "spec": {"size": 1, "other": 2}}, "default", how=ME)
    assert made["spec"] == {"size": 1, "other": 2}  # a definition names the kind; its schema is not checked
    held = {"metadata": {"name": "b", "finalizers": ["x.io/y"]}}
    api.create(foo, held, "default", how=ME)
    api.delete(DEFINITION, "foos.ex.org", how=ME)
    # One object is held, and so the definition stays.
    assert api.find(DEFINITION, "foos.ex.org") is not None
    assert [one["metadata"]["name"] for one in api.items(foo)] == ["b"]
    api.patch(foo, "b", "default", "application/merge-patch+json", {"metadata": {"finalizers": None}}, how=ME)
    assert api.find(DEFINITION, "foos.ex.org") is None
    assert api.kinds.named("ex.org/v1", "Foo") is None


def test_kinds_are_served_again_after_a_restart(api: Api, lab: Lab) -> None:
    api.create(DEFINITION, definition(), how=ME)
    lab.world.kubernetes.clear()
    again = Api(kubernetes_of(lab.world, lab.etcd))
    assert again.kinds.named("ex.org/v1", "Foo") is not None


def test_two_definitions_do_not_get_the_same_names(api: Api) -> None:
    api.create(DEFINITION, definition(), how=ME)
    other = definition()
    other["metadata"]["name"] = "bars.ex.org"
    other["spec"]["names"]["plural"] = "bars"
    api.create(DEFINITION, other, how=ME)
    conditions = {one["type"]: one for one in api.get(DEFINITION, "bars.ex.org")["status"]["conditions"]}
    assert conditions["NamesAccepted"]["reason"] == "KindConflict"
    assert conditions["Established"]["status"] == "False"
    assert api.kinds.at("ex.org", "v1", "bars") is None


def test_nothing_is_written_or_read_without_quorum(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1", "cp-2", "cp-3")
    api = Api(kubernetes_of(lab.world, cluster))
    make(api, "a")
    for name in ("cp-2", "cp-3"):
        lifecycle.power_off(lab.world, lab.machine(name))
    settle.settle(lab.world)
    for act in (lambda: make(api, "b"), lambda: api.get(SECRET, "a", "default"), lambda: api.list(SECRET)):
        with pytest.raises(NoQuorum, match="etcdserver: request timed out"):
            act()
    lifecycle.power_on(lab.world, lab.machine("cp-2"))
    lab.run()
    make(api, "b")
    assert [one["metadata"]["name"] for one in api.list(SECRET, "default")["items"]] == ["a", "b"]


def test_a_full_disk_stops_writing_but_not_reading(api: Api, lab: Lab) -> None:
    make(api, "a")
    lab.etcd.raise_alarm(next(iter(lab.etcd.members)), "NOSPACE")
    with pytest.raises(ApiError, match="database space exceeded") as caught:
        make(api, "b")
    assert caught.value.code == 500
    assert api.get(SECRET, "a", "default")["metadata"]["name"] == "a"


def test_a_snapshot_carries_the_objects(api: Api, lab: Lab) -> None:
    made = make(api, "a", data={"x": "MQ=="})
    saved = snapshot.write(lab.etcd.store, index=1, term=1, members=[(1, "a", "b")])
    api.delete(SECRET, "a", "default", how=ME)
    lab.etcd.store = snapshot.read(saved)
    assert api.get(SECRET, "a", "default") == made


def test_controllers_hear_of_changes(api: Api, lab: Lab) -> None:
    class Counting:
        seen = 0

        def settle(self) -> None:
            self.seen += 1
            if self.seen == 1:
                make(api, "made-by-it")

    counting = Counting()
    api.kubernetes.controllers = counting
    make(api, "a")
    settle.settle(lab.world)
    assert counting.seen == 2  # once for us, once for itself
    assert api.find(SECRET, "made-by-it", "default") is not None
