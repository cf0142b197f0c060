"""The table of what is there: each node's line says what is wrong with it."""

from __future__ import annotations

import io
from typing import Any

import pytest

from talosmith.report.status import as_data, as_text
from talosmith.report.style import Style
from tests.plans.plan_worlds import desired, observed

WANTED = desired({"controlplane": 3, "workers": [{"name": "w-1", "ip": "127.19.0.20"}]})
WELL = {"cp-1": "ready", "cp-2": "ready", "cp-3": "ready", "w-1": "ready"}


def lines(**worlds: Any) -> dict[str, dict[str, Any]]:
    seen = observed(
        WANTED, {**WELL, **{name.replace("_", "-"): state for name, state in worlds.items()}}, etcd={}, api=None
    )
    return {one["node"]: one for one in as_data(WANTED, seen)}


def test_all_is_well() -> None:
    found = lines()
    assert [(one["etcd"], one["remark"]) for one in found.values()] == [
        ("leader", ""), ("member", ""), ("member", ""), ("", ""),
    ]  # fmt: skip
    assert {one["kubernetes"] for one in found.values()} == {"Ready v1.36.3"}
    assert {one["config"] for one in found.values()} == {"as it should be"}


@pytest.mark.parametrize(
    ("state", "field", "said"),
    [
        ("gone", "machine", "none"),
        ("off", "machine", "off"),
        ("unknown", "machine", "unknown"),
        ("silent", "remark", "connection refused"),
        ("stranger", "remark", "shows a certificate of another cluster"),
        ("maintenance", "stage", "maintenance"),
        ("unready", "remark", "services: kubelet not running"),
        ({"is": "ready", "config": {"machine.sysctls": {"a": "1"}}}, "config", "differs"),
        ({"is": "ready", "talos": "v1.13.8"}, "talos", "v1.13.8"),
        ({"is": "ready", "at": "127.19.0.30"}, "remark", "the inventory says 127.19.0.20"),
        ({"is": "ready", "at": "127.19.0.20"}, "remark", ""),
    ],
    ids=["gone", "off", "unknown", "silent", "stranger", "empty", "unready", "differs", "older", "moved", "there"],
)
def test_what_is_wrong_with_a_node(state: Any, field: str, said: str) -> None:
    assert lines(w_1=state)["w-1"][field] == said


def test_who_is_no_longer_in_the_inventory() -> None:
    assert lines(w_9="ready")["w-9"]["remark"] == "not in the inventory"


def test_as_a_table() -> None:
    seen = observed(WANTED, {**WELL, "w-1": "silent"}, etcd={}, api=None)
    header, *rows = as_text(WANTED, seen, Style(io.StringIO())).splitlines()
    assert header.split()[:3] == ["NODE", "ROLE", "MACHINE"]  # a column that is empty is left out
    assert len(rows) == 4 and "no answer" in rows[3] and rows[3].endswith("connection refused")
