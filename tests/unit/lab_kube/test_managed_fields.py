"""Server-side apply without a server: who owns what, what goes, what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith_lab.kube.managed_fields import FieldConflicts, server_side_apply, shares_of, track

NOW, LATER = "2027-01-15T08:00:00Z", "2027-01-15T09:00:00Z"
Obj = dict[str, Any]


def applied(live: Obj | None, spec: Obj, manager: str = "a", force: bool = False, now: str = NOW) -> Obj:
    obj = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}
    return server_side_apply(live, obj, manager=manager, force=force, now=now)


def updated(live: Obj, spec: Obj, manager: str = "editor") -> Obj:
    return track(live, {**live, "spec": spec}, manager=manager, now=LATER)


def template(*containers: Obj) -> Obj:
    return {"template": {"spec": {"containers": list(containers)}}}


def owners(obj: Obj) -> dict[str, set[str]]:
    return {owner.manager: {path[-1] for path in share.fields} for owner, share in shares_of(obj).items()}


def test_what_one_no_longer_applies_goes() -> None:
    live = applied(None, {"replicas": 1, "paused": True})
    live["spec"]["strategy"] = {"type": "Recreate"}  # a default, which nobody owns
    assert applied(live, {"replicas": 1})["spec"] == {"replicas": 1, "strategy": {"type": "Recreate"}}


def test_defaults_go_with_the_part_they_were_filled_into() -> None:
    live = applied(None, template({"name": "c", "livenessProbe": {"httpGet": {"path": "/"}}}))
    live["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["periodSeconds"] = 10
    assert applied(live, template({"name": "c"}))["spec"] == template({"name": "c"})


def test_items_of_lists_have_owners_of_their_own() -> None:
    live = applied(None, template({"name": "c", "image": "x:1"}))
    live = applied(live, template({"name": "side", "image": "y:1"}), "b")
    assert [one["name"] for one in live["spec"]["template"]["spec"]["containers"]] == ["c", "side"]
    live = applied(live, template({"name": "c", "image": "x:2"}))
    assert [one["image"] for one in live["spec"]["template"]["spec"]["containers"]] == ["x:2", "y:1"]
    live = applied(live, {"paused": True})
    assert live["spec"]["template"]["spec"]["containers"] == [{"name": "side", "image": "y:1"}]


def test_another_value_for_anothers_field_is_a_conflict_unless_forced() -> None:
    live = applied(None, {"replicas": 1, "paused": True})
    with pytest.raises(FieldConflicts) as caught:
        applied(live, {"replicas": 2}, "b")
    assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "a": .spec.replicas'
    assert [cause["field"] for cause in caught.value.causes] == [".spec.replicas"]
    forced = applied(live, {"replicas": 2}, "b", force=True)
    assert forced["spec"] == {"replicas": 2, "paused": True}
    assert owners(forced) == {"a": {"f:paused"}, "b": {"f:replicas"}}


def test_the_same_value_is_shared() -> None:
    live = applied(applied(None, {"replicas": 1}), {"replicas": 1}, "b")
    assert owners(live) == {"a": {"f:replicas"}, "b": {"f:replicas"}}
    assert applied(live, {"paused": True})["spec"] == {"replicas": 1, "paused": True}


def test_an_update_takes_what_it_changes() -> None:
    live = updated(applied(None, {"replicas": 1, "paused": True}), {"replicas": 3, "paused": True})
    assert owners(live) == {"a": {"f:paused"}, "editor": {"f:replicas"}}
    with pytest.raises(FieldConflicts, match=r'conflict with "editor" using apps/v1: \.spec\.replicas'):
        applied(live, {"replicas": 1})


def test_several_conflicts_are_all_told() -> None:
    live = applied(None, {"replicas": 1, **template({"name": "c", "image": "x"})})
    with pytest.raises(FieldConflicts) as caught:
        applied(live, {"replicas": 2, **template({"name": "c", "image": "y"})}, "b")
    assert str(caught.value) == (
        'Apply failed with 2 conflicts: conflicts with "a":\n- .spec.replicas\n'
        '- .spec.template.spec.containers[name="c"].image'
    )


def test_what_was_there_before_anybody_applied_is_not_overwritten() -> None:
    live = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 1}}
    with pytest.raises(FieldConflicts, match="before-first-apply"):
        applied(live, {"replicas": 2})


def test_kubectl_takes_over_what_it_applied_from_the_client_side() -> None:
    live = applied(None, {"replicas": 1}, "other")
    live = updated(live, {"replicas": 2}, "kubectl-client-side-apply")
    assert applied(live, {"replicas": 3}, "kubectl")["spec"] == {"replicas": 3}


def test_an_apply_that_changes_nothing_keeps_its_time() -> None:
    live = applied(None, {"replicas": 1})
    assert applied(live, {"replicas": 1}, now=LATER) == live


def test_an_apply_that_changes_nothing_leaves_the_owners_in_their_order() -> None:
    first = applied(None, {"replicas": 1})
    edited = updated(first, {"replicas": 1, "paused": True})
    assert applied(edited, {"replicas": 1}, now=LATER) == edited
