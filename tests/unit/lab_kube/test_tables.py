"""Tables without a server; that the cells are those of a real one is proven where a real one is."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kind, builtin, find
from talosmith_lab.kube.tables import table
from talosmith_lab.kube.tables_columns import human_duration, selector
from talosmith_lab.kube.tables_custom import find as found_at

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
POD = find("v1", "Pod")
MINUTE, HOUR, DAY, YEAR = 60, 3600, 86400, 365 * 86400


def named(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "creationTimestamp": "2027-01-15T07:57:30Z"}, **more}


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "<invalid>"),
        (-0.5, "0s"),
        (119.9, "119s"),
        (2 * MINUTE, "2m"),
        (2 * MINUTE + 5, "2m5s"),
        (10 * MINUTE + 5, "10m"),
        (3 * HOUR - 1, "179m"),
        (3 * HOUR + 2 * MINUTE, "3h2m"),
        (8 * HOUR + 2 * MINUTE, "8h"),
        (2 * DAY + HOUR, "2d1h"),
        (8 * DAY + HOUR, "8d"),
        (2 * YEAR + DAY, "2y1d"),
        (9 * YEAR + DAY, "9y"),
    ],
)
def test_ages_are_short(seconds: float, told: str) -> None:
    assert human_duration(seconds) == told


def test_every_kind_has_a_row_as_wide_as_its_columns() -> None:
    for kind in builtin():
        made = table(kind, [named("one")], crd=None, include="", now=NOW)
        (row,) = made["rows"]
        wide = len(made["columnDefinitions"]) + (kind.plural == "ipaddresses")  # the real one has a cell too many
        assert len(row["cells"]) == wide, kind.plural


def test_the_object_comes_along_as_asked() -> None:
    item = named("one", spec={"containers": []}, status={"phase": "Pending"})
    rows = {
        include: table(POD, [item], crd=None, include=include, now=NOW)["rows"][0]["object"]
        for include in ("", "Metadata", "Object", "None")
    }
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": item["metadata"]}
    assert rows == {
        "": partial,
        "Metadata": partial,
        "Object": {"kind": "Pod", "apiVersion": "v1", **item},
        "None": None,
    }
    with pytest.raises(ApiError, match="includeObject"):
        table(POD, [], crd=None, include="All", now=NOW)


def test_kinds_that_nobody_knows_have_a_name_and_a_date() -> None:
    kind = Kind(group="x", version="v1", kind="Thing", plural="things")
    made = table(kind, [named("one")], crd=None, include="None", now=NOW)
    assert [column["name"] for column in made["columnDefinitions"]] == ["Name", "Created At"]
    assert made["rows"][0]["cells"] == ["one", "2027-01-15T07:57:30Z"]


def test_an_empty_selector_is_told_apart_from_one_with_words() -> None:
    assert selector(None) == selector({}) == "<none>"
    expressions = [{"key": "b", "operator": "Exists"}, {"key": "a", "operator": "In", "values": ["z", "y"]}]
    assert selector({"matchExpressions": expressions}) == "a in (y,z),b"


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", [1]),
        (".a.none", []),
        (r".dots.x\.y", ["z"]),
        (".list[*].n", ["one", "two"]),
        (".list[-1].n", ["two"]),
        (".list[5]", []),
        ('.list[?(@.n=="two")].v', [2]),
        (".list[?(@.v>1)].n", ["two"]),
        (".list[?(@.v<=1)].n", ["one"]),
        (".a[0]", []),
        ("nonsense", []),
    ],
)
def test_paths_into_objects(path: str, found: list[Any]) -> None:
    item = {"a": {"b": 1}, "dots": {"x.y": "z"}, "list": [{"n": "one", "v": 1}, {"n": "two", "v": 2}]}
    assert found_at(item, path) == found
