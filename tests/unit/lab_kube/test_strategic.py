"""Strategic merge patches without a server: each directive, and that nothing is changed in place."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.schema import Schema, schema_of
from talosmith_lab.kube.strategic import strategic_merge


def pod() -> Schema:
    found = schema_of("", "v1", "Pod")
    assert found is not None
    return found


def live() -> dict[str, Any]:
    return {
        "metadata": {"finalizers": ["a/a", "b/b"], "labels": {"x": "1", "y": "2"}},
        "spec": {
            "containers": [
                {"name": "one", "image": "1", "env": [{"name": "A", "value": "a"}]},
                {"name": "two", "image": "2"},
                {"name": "three", "image": "3"},
            ],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    }


def names(obj: dict[str, Any]) -> list[str]:
    return [one["name"] for one in obj["spec"]["containers"]]


def merged(patch: dict[str, Any]) -> dict[str, Any]:
    before = live()
    kept, given = copy.deepcopy(before), copy.deepcopy(patch)
    after = strategic_merge(before, patch, pod())
    assert before == kept
    assert patch == given
    return after


def test_items_are_merged_by_their_key_and_new_ones_come_first() -> None:
    after = merged({"spec": {"containers": [{"name": "new", "image": "n"}, {"name": "two", "tty": True}]}})
    assert names(after) == ["new", "one", "two", "three"]
    assert after["spec"]["containers"][2] == {"name": "two", "image": "2", "tty": True}


def test_an_item_can_be_deleted_and_a_list_replaced() -> None:
    assert names(merged({"spec": {"containers": [{"name": "two", "$patch": "delete"}]}})) == ["one", "three"]
    assert names(merged({"spec": {"containers": [{"$patch": "replace"}, {"name": "z"}]}})) == ["z"]


def test_the_order_of_the_client_holds() -> None:
    order = [{"name": "three"}, {"name": "one"}, {"name": "two"}]
    assert names(merged({"spec": {"$setElementOrder/containers": order}})) == ["three", "one", "two"]


def test_keys_that_are_not_retained_go() -> None:
    volume = {"name": "v", "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}
    assert merged({"spec": {"volumes": [volume]}})["spec"]["volumes"] == [{"name": "v", "hostPath": {"path": "/x"}}]


def test_primitives_are_joined_and_taken_out() -> None:
    assert merged({"metadata": {"finalizers": ["c/c"]}})["metadata"]["finalizers"] == ["c/c", "a/a", "b/b"]
    patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/a"]}}
    assert merged(patch)["metadata"]["finalizers"] == ["b/b"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"x": None, "z": "3"}, {"y": "2", "z": "3"}),
        ({"$patch": "replace", "z": "3"}, {"z": "3"}),
        ({"$patch": "delete"}, {}),
    ],
)
def test_maps(labels: dict[str, Any], expected: dict[str, str]) -> None:
    assert merged({"metadata": {"labels": labels}})["metadata"]["labels"] == expected


def test_an_item_without_its_key_is_refused() -> None:
    with pytest.raises(ApiError, match="does not contain declared merge key: name"):
        merged({"spec": {"containers": [{"image": "x"}]}})
