"""Strategic merge patches as kubectl sends them."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.strategic import strategic_merge

A, B = {"name": "a", "image": "x:1", "env": [{"name": "E", "value": "1"}]}, {"name": "b"}
LIVE = {"containers": [A, B]}
ORDER = [{"name": "c"}, {"name": "b"}, {"name": "a"}]


@pytest.mark.parametrize(
    ("live", "patch", "merged"),
    [
        ({"a": 1, "b": {"c": 1, "d": 2}}, {"a": None, "b": {"c": 3}}, {"b": {"c": 3, "d": 2}}),
        (LIVE, {"containers": [{"name": "b", "image": "y"}]}, {"containers": [A, {**B, "image": "y"}]}),
        (LIVE, {"containers": [{"name": "a", "$patch": "delete"}]}, {"containers": [{"name": "b"}]}),
        (LIVE, {"containers": [{"name": "n"}, {"$patch": "replace"}]}, {"containers": [{"name": "n"}]}),
        (
            {"containers": [{"name": "a"}, {"name": "b"}]},
            {"$setElementOrder/containers": ORDER, "containers": [{"name": "c"}]},
            {"containers": ORDER},
        ),
        ({"args": ["a"]}, {"args": ["b"]}, {"args": ["b"]}),
        ({"finalizers": ["a", "b"]}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {"finalizers": ["b"]}),
        ({"finalizers": ["a"]}, {"finalizers": ["b"]}, {"finalizers": ["a", "b"]}),
        (
            {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}},
            {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
            {"strategy": {"type": "Recreate"}},
        ),
        ({"a": {"b": 1}}, {"a": {"$patch": "replace", "c": 2}}, {"a": {"c": 2}}),
        (
            {"ports": [{"port": 80, "name": "h"}]},
            {"ports": [{"port": 80, "targetPort": 8080}]},
            {"ports": [{"port": 80, "name": "h", "targetPort": 8080}]},
        ),
    ],
    ids=[
        "map",
        "item",
        "item deleted",
        "list replaced",
        "order",
        "plain",
        "taken out",
        "set",
        "retained",
        "map replaced",
        "ports",
    ],
)
def test_what_comes_of_a_patch(live: dict[str, Any], patch: dict[str, Any], merged: dict[str, Any]) -> None:
    before = str(live)
    assert strategic_merge(live, patch) == merged
    assert str(live) == before


def test_a_directive_that_is_not_known() -> None:
    with pytest.raises(ApiError, match="unknown patch type: burn"):
        strategic_merge({}, {"spec": {"$patch": "burn"}})
