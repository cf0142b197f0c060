"""Watches: from where they start, what they tell, and how they end."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.contract.kube.kube_world import METADATA, TABLE, KubeWorld, Obj, config_map, names, until

pytestmark = pytest.mark.slow


def taken(events: Iterator[Obj], count: int) -> list[tuple[str, str]]:
    """The next so many: what happened, and to whom."""
    return [(event["type"], event["object"]["metadata"]["name"]) for event in (next(events) for _ in range(count))]


def version(world: KubeWorld, path: str) -> str:
    return str(world.get(path).ok()["metadata"]["resourceVersion"])


def test_changes_come_as_they_happen(world: KubeWorld, maps: str) -> None:
    with world.watch(maps, resourceVersion=version(world, maps), fieldSelector="metadata.name=one") as events:
        made = world.create(maps, config_map("one", {"a": "1"})).ok()
        added = next(events)
        assert added == {"type": "ADDED", "object": made}
        changed = world.patch(f"{maps}/one", {"data": {"a": "2"}}).ok()
        assert next(events) == {"type": "MODIFIED", "object": changed}
        world.delete(f"{maps}/one").ok()
        deleted = next(events)
        assert deleted["type"] == "DELETED"
        assert deleted["object"]["data"] == {"a": "2"}
        gone_at = int(deleted["object"]["metadata"]["resourceVersion"])
        assert gone_at > int(changed["metadata"]["resourceVersion"])


def test_a_watch_starts_with_what_is_there(world: KubeWorld, maps: str) -> None:
    for name in "ba":
        world.create(maps, config_map(name, labels={"ours": "yes"})).ok()
    # Both starts are of what the server remembers, which may be of a moment ago.
    known = {"labelSelector": "ours", "resourceVersion": "0"}
    until(lambda: names(world.get(maps, **known).ok()), lambda found: found == ["a", "b"])
    for start in ({}, {"resourceVersion": "0"}):
        with world.watch(maps, labelSelector="ours", **start) as events:
            assert taken(events, 2) == [("ADDED", "a"), ("ADDED", "b")]


def test_a_watch_goes_on_from_a_version(world: KubeWorld, maps: str) -> None:
    first = world.create(maps, config_map("one", labels={"ours": "yes"})).ok()
    world.create(maps, config_map("two", labels={"ours": "yes"})).ok()
    world.patch(f"{maps}/one", {"data": {"a": "1"}}).ok()
    world.delete(f"{maps}/two").ok()
    with world.watch(maps, resourceVersion=first["metadata"]["resourceVersion"], labelSelector="ours") as events:
        assert taken(events, 3) == [("ADDED", "two"), ("MODIFIED", "one"), ("DELETED", "two")]


def test_a_selector_makes_things_come_and_go(world: KubeWorld, maps: str) -> None:
    with world.watch(maps, labelSelector="on=yes", resourceVersion=version(world, maps)) as events:
        world.create(maps, config_map("one")).ok()
        world.patch(f"{maps}/one", {"metadata": {"labels": {"on": "yes"}}}).ok()
        world.patch(f"{maps}/one", {"data": {"a": "1"}}).ok()
        world.patch(f"{maps}/one", {"metadata": {"labels": {"on": "no"}}}).ok()
        world.patch(f"{maps}/one", {"metadata": {"labels": {"on": "yes"}}}).ok()
        assert taken(events, 4) == [("ADDED", "one"), ("MODIFIED", "one"), ("DELETED", "one"), ("ADDED", "one")]


def test_one_object_is_watched_by_its_name(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("one")).ok()
    world.create(maps, config_map("two")).ok()
    with world.watch(maps, fieldSelector="metadata.name=two", resourceVersion="0") as events:
        assert taken(events, 1) == [("ADDED", "two")]
        world.delete(f"{maps}/one").ok()
        world.delete(f"{maps}/two").ok()
        assert taken(events, 1) == [("DELETED", "two")]


def test_a_watch_over_all_namespaces(world: KubeWorld, maps: str, unique: str) -> None:
    label = f"test={unique}"
    with world.watch("/api/v1/configmaps", labelSelector=label, resourceVersion=version(world, maps)) as events:
        world.create(maps, config_map("one", labels={"test": unique})).ok()
        event = next(events)
        assert (event["type"], event["object"]["metadata"]["namespace"]) == ("ADDED", unique)


def test_the_start_is_marked_where_it_is_asked_for(world: KubeWorld, maps: str) -> None:
    """What clients do that read a list by a watch."""
    world.create(maps, config_map("one", labels={"ours": "yes"})).ok()
    asked = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    asked["timeoutSeconds"] = "120"  # bookmarks would keep it open for good
    with world.watch(maps, labelSelector="ours", **asked) as events:
        assert taken(events, 1) == [("ADDED", "one")]
        mark = next(events)
        assert mark["type"] == "BOOKMARK"
        assert (mark["object"]["kind"], mark["object"]["apiVersion"]) == ("ConfigMap", "v1")
        meta = mark["object"]["metadata"]
        assert meta["annotations"] == {"k8s.io/initial-events-end": "true"}
        world.create(maps, config_map("two", labels={"ours": "yes"})).ok()
        later = (event for event in events if event["type"] != "BOOKMARK")  # which a server may send at any time
        assert taken(later, 1) == [("ADDED", "two")]
    with world.watch(maps, labelSelector="ours", resourceVersion=meta["resourceVersion"]) as events:
        assert taken(events, 1) == [("ADDED", "two")]


def test_the_start_is_asked_for_properly(world: KubeWorld, maps: str) -> None:
    answer = world.get(maps, watch="true", sendInitialEvents="true")
    message = (
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires setting '
        "resourceVersionMatch to NotOlderThan"
    )
    assert answer.why == (422, "Invalid", message)


def test_a_watch_ends_when_its_time_is_over(world: KubeWorld, maps: str) -> None:
    start = time.monotonic()
    since = version(world, maps)
    # Of nothing that is there: a namespace may get config maps of its controllers at any time.
    with world.watch(maps, resourceVersion=since, timeoutSeconds=1, labelSelector="ours") as events:
        assert list(events) == []
    assert time.monotonic() - start > 0.9


def test_versions_that_are_none(world: KubeWorld, maps: str) -> None:
    answer = world.get(maps, watch="true", resourceVersion="abc")
    message = 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax'
    assert answer.why == (500, "", message)


def test_a_watch_of_tables(world: KubeWorld, maps: str) -> None:
    world.create(maps, config_map("one", {"a": "1"})).ok()
    with world.watch(maps, accept=TABLE, fieldSelector="metadata.name=one", resourceVersion="0") as events:
        first = next(events)["object"]
        assert first["columnDefinitions"][0]["name"] == "Name"
        assert first["rows"][0]["cells"][0] == "one"
        assert first["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
        changed = world.patch(f"{maps}/one", {"data": {"b": "2"}}).ok()
        second = next(events)["object"]
        assert second["columnDefinitions"] is None
        assert second["rows"][0]["cells"][0] == "one"
        assert second["metadata"]["resourceVersion"] == changed["metadata"]["resourceVersion"]


def test_a_watch_of_metadata(world: KubeWorld, maps: str) -> None:
    made = world.create(maps, config_map("one", {"a": "1"})).ok()
    with world.watch(maps, accept=METADATA, fieldSelector="metadata.name=one", resourceVersion="0") as events:
        assert next(events)["object"] == {
            "kind": "PartialObjectMetadata",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": made["metadata"],
        }
