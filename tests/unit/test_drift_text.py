"""Every kind of drift reads the same in plan, status and doctor, and none with an arrow to nothing."""

from __future__ import annotations

from typing import get_args

import pytest

from talosmith.model.drift import Drift, DriftKind, drift_text


@pytest.mark.parametrize("kind", get_args(DriftKind))
@pytest.mark.parametrize("wanted", ["", "after"])
def test_every_kind_has_a_text(kind: DriftKind, wanted: str) -> None:
    text = str(Drift(node="cp-1", kind=kind, live="before", wanted=wanted))
    assert text and "{" not in text and not text.endswith("→ ")


@pytest.mark.parametrize(
    ("kind", "wanted", "text"),
    [
        ("talos-version", "v2", "Talos v1 → v2"),
        ("size", "", "machine: v1"),
        ("config", "v2", "machine config differs"),
        ("pending-reboot", "v2", "v1, and needs a reboot"),
        ("not-in-inventory", "", "not in the inventory"),
        ("of-a-later-version", "v2", "v1 → v2"),
    ],
)
def test_texts(kind: str, wanted: str, text: str) -> None:
    assert drift_text(kind, "v1", wanted) == text


def test_braces_of_a_node_are_text() -> None:
    assert drift_text("unknown", "{wanted}", "") == "unknown: {wanted}"
