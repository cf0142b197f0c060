"""Owners of fields without a server: what a write does to them, and how they are written down."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from talosmith_lab.kube.managed_fields import FieldConflicts, server_side_apply, track
from talosmith_lab.kube.managed_fields_owners import MOST_UPDATERS, shares_of
from talosmith_lab.kube.managed_fields_paths import Path, read, written
from talosmith_lab.kube.managed_fields_values import compare, field_set, merge, remove
from talosmith_lab.kube.schema import Obj, Schema, schema_of

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"
elements = st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}', 'v:"y"'])
paths = st.frozensets(st.lists(elements, min_size=1, max_size=4).map(tuple), max_size=12)


def config_map() -> Schema:
    found = schema_of("", "v1", "ConfigMap")
    assert found is not None
    return found


def obj(data: dict[str, str], **metadata: Any) -> Obj:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}, "data": data}


def applied(live: Obj | None, data: dict[str, str], manager: str, now: str = EARLY, *, force: bool = False) -> Obj:
    return server_side_apply(live, obj(data), manager=manager, force=force, schema=config_map(), now=now)


def owners(one: Obj) -> dict[str, set[Path]]:
    return {owner.name: set(share.fields) for owner, share in shares_of(one).items()}


@pytest.mark.slow
@given(paths)
def test_what_is_written_is_read_again(some: frozenset[Path]) -> None:
    assert read(written(some)) == some


json_values = st.recursive(
    st.sampled_from(["1", "2", 3, True]),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.slow
@given(json_values, json_values)
def test_a_comparison_names_what_differs(left: Any, right: Any) -> None:
    schema = Schema.from_crd({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    one, other = {"spec": left}, {"spec": right}
    difference = compare(one, other, schema)
    assert bool(difference.added or difference.modified or difference.removed) == (one != other)
    assert not compare(one, merge(one, {}, schema), schema).modified
    assert field_set(merge(one, other, schema), schema) >= field_set(other, schema)
    assert remove(one, {("f:spec",)}, schema) is None


def test_what_is_no_longer_applied_goes_unless_another_has_it_too() -> None:
    live = applied(None, {"a": "1", "b": "2"}, "one")
    live = applied(live, {"b": "2"}, "two")
    live = applied(live, {}, "one")
    assert live["data"] == {"b": "2"}
    assert owners(live) == {"two": {("f:data", "f:b")}, "one": {("f:data",)}}


def test_a_conflict_names_its_owner_and_force_takes_over() -> None:
    live = applied(None, {"a": "1", "b": "2"}, "one")
    with pytest.raises(FieldConflicts) as caught:
        applied(live, {"a": "3"}, "two")
    assert str(caught.value) == 'Apply failed with 1 conflict: conflict with "one": .data.a'
    assert caught.value.pairs == [('"one"', ".data.a")]
    forced = applied(live, {"a": "3"}, "two", force=True)
    assert owners(forced) == {"one": {("f:data", "f:b")}, "two": {("f:data", "f:a")}}


def test_an_apply_that_changes_nothing_leaves_the_times() -> None:
    live = applied(None, {"a": "1"}, "one")
    assert applied(live, {"a": "1"}, "one", LATE) == live
    later = applied(live, {"a": "2"}, "one", LATE)
    assert [entry["time"] for entry in later["metadata"]["managedFields"]] == [LATE]


def test_an_update_takes_only_what_it_changes() -> None:
    live = track(None, obj({"a": "1", "b": "2"}), manager="one", schema=config_map(), now=EARLY)
    change = {**live, "data": {"a": "1", "b": "3"}}
    after = track(live, change, manager="two", schema=config_map(), now=LATE)
    assert owners(after) == {"one": {("f:data",), ("f:data", "f:a")}, "two": {("f:data", "f:b")}}
    times = {entry["manager"]: entry["time"] for entry in after["metadata"]["managedFields"]}
    assert times == {"one": EARLY, "two": LATE}


def test_many_updaters_become_one() -> None:
    live = track(None, obj({"k": "0"}), manager="first", schema=config_map(), now=EARLY)
    for number in range(MOST_UPDATERS + 5):
        change = {**live, "data": {**live["data"], f"k{number}": "1"}}
        now = f"2026-01-01T00:01:{number:02}Z"
        live = track(live, change, manager=f"m{number}", schema=config_map(), now=now)
    entries = live["metadata"]["managedFields"]
    assert len(entries) == MOST_UPDATERS
    assert "ancient-changes" in {entry["manager"] for entry in entries}
    everything = set().union(*owners(live).values())
    assert {("f:data", f"f:{key}") for key in live["data"]} <= everything
