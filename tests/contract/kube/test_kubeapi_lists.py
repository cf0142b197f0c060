"""Lists: selectors of labels and fields, pages, and versions."""

from __future__ import annotations

import pytest

from tests.contract.kube.kube_world import KubeWorld, config_map, names, pod, until

pytestmark = pytest.mark.slow


@pytest.fixture
def three(world: KubeWorld, maps: str) -> str:
    """The path of three config maps; a namespace may have more, of its controllers."""
    for name, labels in (("a", {"app": "web"}), ("b", {"app": "db", "level": "5"}), ("c", {"other": ""})):
        world.create(maps, config_map(name, labels={"ours": "yes", **labels})).ok()
    return maps


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("app=web", "a"),
        ("app==web", "a"),
        ("app!=web", "bc"),
        ("app in (web,db)", "ab"),
        ("app notin (web)", "bc"),
        ("app", "ab"),
        ("!app", "c"),
        ("app=web,level", ""),
        ("app, level = 5", "b"),
        ("level>4", "b"),
        ("level<4", ""),
        ("other=", "c"),
        ("app in ()", ""),
        ("app in (web, ,db)", "ab"),
    ],
)
def test_labels_select(world: KubeWorld, three: str, selector: str, found: str) -> None:
    assert names(world.get(three, labelSelector=f"ours,{selector}").ok()) == list(found)


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("app in (web", "unable to parse requirement: found '', expected: ',' or ')'"),
        (
            "app=-x",
            'unable to parse requirement: values[0][app]: Invalid value: "-x": a valid label must be an empty string '
            "or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
            "character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
    ],
    ids=["no operator", "no key", "open list", "bad value"],
)
def test_labels_that_cannot_be_read(world: KubeWorld, maps: str, selector: str, message: str) -> None:
    assert world.get(maps, labelSelector=selector).why == (400, "BadRequest", message)


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("metadata.name=a", "a"),
        ("metadata.name==a", "a"),
        ("metadata.name!=a", "bc"),
        ("metadata.name=a,metadata.name=b", ""),
    ],
)
def test_fields_select(world: KubeWorld, three: str, selector: str, found: str) -> None:
    assert names(world.get(three, labelSelector="ours", fieldSelector=selector).ok()) == list(found)


def test_fields_of_pods(world: KubeWorld, pods: str, space: str) -> None:
    bound = pod("bound")
    bound["spec"]["nodeName"] = "nowhere"
    world.create(pods, bound).ok()
    world.create(pods, pod("free")).ok()
    for selector, found in (
        ("spec.nodeName=nowhere", ["bound"]),
        ("spec.nodeName=", ["free"]),
        ("spec.nodeName!=nowhere,status.phase=Pending", ["free"]),
        ("status.phase!=Pending", []),
        ("spec.schedulerName=nobody", ["bound", "free"]),
        ("spec.restartPolicy=Always", ["bound", "free"]),
        (f"metadata.namespace={space}", ["bound", "free"]),
    ):
        assert names(world.get(pods, fieldSelector=selector).ok()) == found, selector


def test_fields_that_do_not_select(world: KubeWorld, maps: str, pods: str) -> None:
    assert world.get(maps, fieldSelector="data.x=1").why[:2] == (400, "BadRequest")
    message = "field label not supported: spec.foo"
    assert world.get(pods, fieldSelector="spec.foo=1").why == (400, "BadRequest", message)
    message = "invalid selector: 'metadata.name'; can't understand 'metadata.name'"
    assert world.get(maps, fieldSelector="metadata.name").why == (400, "BadRequest", message)


def test_pages(world: KubeWorld, pods: str) -> None:
    for name in "abcde":
        world.create(pods, pod(name)).ok()
    first = world.get(pods, limit=2).ok()
    assert names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    second = world.get(pods, limit=2, continue_=first["metadata"]["continue"]).ok()
    assert names(second) == ["c", "d"]
    assert second["metadata"]["remainingItemCount"] == 1
    assert second["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]
    last = world.get(pods, limit=2, continue_=second["metadata"]["continue"]).ok()
    assert names(last) == ["e"]
    assert {"continue", "remainingItemCount"}.isdisjoint(last["metadata"])
    rest = world.get(pods, continue_=first["metadata"]["continue"]).ok()
    assert names(rest) == ["c", "d", "e"]


def test_pages_of_a_selection_do_not_count_the_rest(world: KubeWorld, three: str) -> None:
    first = world.get(three, limit=1, labelSelector="ours").ok()
    assert names(first) == ["a"]
    assert "remainingItemCount" not in first["metadata"]
    rest = world.get(three, limit=5, labelSelector="ours", continue_=first["metadata"]["continue"]).ok()
    assert names(rest) == ["b", "c"]


def test_a_page_that_ends_exactly_is_the_last(world: KubeWorld, pods: str) -> None:
    for name in "ab":
        world.create(pods, pod(name)).ok()
    found = world.get(pods, limit=2).ok()
    assert names(found) == ["a", "b"]
    assert "continue" not in found["metadata"]


def test_pages_that_cannot_be_had(world: KubeWorld, three: str) -> None:
    message = 'strconv.ParseInt: parsing "x": invalid syntax'
    assert world.get(three, limit="x").why == (400, "BadRequest", message)
    code, reason, message = world.get(three, limit=1, continue_="abc").why
    assert (code, reason) == (400, "BadRequest")
    assert message.startswith("invalid continue token: continue key is not valid: ")
    token = world.get(three, limit=1).ok()["metadata"]["continue"]
    message = "specifying resource version is not allowed when using continue"
    answer = world.get(three, limit=1, continue_=token, resourceVersion="1")
    assert answer.why == (400, "BadRequest", message)


def test_versions_of_lists(world: KubeWorld, three: str) -> None:
    version = world.get(three).ok()["metadata"]["resourceVersion"]
    found = world.get(three, resourceVersion=version, labelSelector="ours").ok()
    assert names(found) == ["a", "b", "c"]
    # Any version will do, so the one that the server remembers may be of a moment ago.
    until(
        lambda: names(world.get(three, resourceVersion="0", labelSelector="ours").ok()),
        lambda found: found == ["a", "b", "c"],
    )
    exact = world.get(three, resourceVersion=version, resourceVersionMatch="Exact", labelSelector="ours").ok()
    assert (names(exact), exact["metadata"]["resourceVersion"]) == (["a", "b", "c"], version)
    message = (
        'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden '
        "unless resourceVersion is provided"
    )
    assert world.get(three, resourceVersionMatch="Exact").why == (422, "Invalid", message)
    message = (
        'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": '
        "invalid syntax"
    )
    assert world.get(three, resourceVersion="abc").why == (400, "BadRequest", message)
