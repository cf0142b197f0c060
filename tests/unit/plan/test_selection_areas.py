"""A selection that leaves an area of steps out: what it would need is not read then."""

from __future__ import annotations

import pytest

from talosmith.plan.builder import Selection


@pytest.mark.parametrize(
    ("selection", "so"),
    [
        (Selection(), True),
        (Selection(targets=("w-1",)), False),
        (Selection(skip=("addon/*",)), False),
        (Selection(skip=("addon/web",)), True),
        (Selection(skip=("addon/web*",)), True),
        (Selection(skip=("machine/*",)), True),
        (Selection(only=("machine/*",)), False),
        (Selection(only=("machine/*", "addon/web")), True),
        (Selection(only=("addon/*",)), True),
        (Selection(only=("*",)), True),
    ],
)
def test_addons_are_included(selection: Selection, so: bool) -> None:
    assert selection.includes("addon") is so
