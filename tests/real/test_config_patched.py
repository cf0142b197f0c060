"""Patches do what `talosctl machineconfig patch` does, and are refused when it refuses them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from config_documents import patched_configs
from config_peer import Talosctl, known_differences, read_cases
from hypothesis import HealthCheck, given, settings

from talosmith.desired.config.emit import emit
from talosmith.desired.config.load import load
from talosmith.desired.config.patch.apply import apply_patches, load_patch
from talosmith.desired.config.problems import ConfigError

TABLE = read_cases("patch_cases.yaml")
CASES = [pytest.param(case, id=case["name"]) for case in TABLE["cases"]]


@pytest.fixture(scope="module")
def talosctl(peer: Callable[[str], Path]) -> Talosctl:
    return Talosctl(peer("talosctl"))


def _ours(config: str, patches: list[str]) -> str | None:
    try:
        return emit(apply_patches(load(config), [load_patch(patch, "patch.yaml") for patch in patches]))
    except ConfigError as error:
        assert "patch.yaml" in str(error)  # every refusal names the patch
        return None


def test_there_are_enough_cases() -> None:
    assert len({case["name"] for case in TABLE["cases"]}) == len(TABLE["cases"]) >= 80


@pytest.mark.parametrize("case", CASES)
def test_equal_to_machineconfig_patch(case: dict[str, Any], talosctl: Talosctl) -> None:
    config = TABLE["bases"][case["base"]]
    theirs, ours = talosctl.patch(config, case["patches"]), _ours(config, case["patches"])
    if case["name"] in known_differences("patch"):
        assert ours != theirs, "listed as a difference, but there is none"
    else:
        assert ours == theirs


@given(drawn=patched_configs())
@settings(
    max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_generated_patches(drawn: tuple[str, str], talosctl: Talosctl) -> None:
    config, patch = drawn
    assert _ours(config, [patch]) == talosctl.patch(config, [patch])
