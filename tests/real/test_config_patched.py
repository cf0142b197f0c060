"""Patches do what `talosctl machineconfig patch` does, and are refused when it refuses them.

talosmith merges as talosctl 1.14 does, for nodes of every Talos. What talosctl 1.13 accepts gives the same result; it
refuses some patches that 1.14 accepts.
"""

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
from talosmith.desired.config.schema.since import Line

TABLE = read_cases("patch_cases.yaml")
CASES = [pytest.param(case, id=case["name"]) for case in TABLE["cases"]]
OLDER: Line = (1, 13)
generated = settings(
    max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.fixture(scope="module")
def talosctl(peer: Callable[[str], Path]) -> Talosctl:
    return Talosctl(peer("talosctl"))


@pytest.fixture(scope="module")
def older(peer: Callable[[str], Path]) -> Talosctl:
    return Talosctl(peer("talosctl-1.13"))


def _ours(config: str, patches: list[str]) -> str | None:
    try:
        return emit(apply_patches(load(config), [load_patch(patch, "patch.yaml") for patch in patches]))
    except ConfigError as error:
        assert "patch.yaml" in str(error)  # every refusal names the patch
        return None


def test_there_are_enough_cases() -> None:
    assert len({case["name"] for case in TABLE["cases"]}) == len(TABLE["cases"]) >= 180


@pytest.mark.parametrize("case", CASES)
def test_equal_to_machineconfig_patch(case: dict[str, Any], talosctl: Talosctl) -> None:
    config = TABLE["bases"][case["base"]]
    theirs, ours = talosctl.patch(config, case["patches"]), _ours(config, case["patches"])
    if case["name"] in known_differences("patch"):
        assert ours != theirs, "listed as a difference, but there is none"
    else:
        assert ours == theirs


@pytest.mark.parametrize("case", CASES)
def test_what_1_13_accepts_has_the_same_result(case: dict[str, Any], older: Talosctl) -> None:
    config = TABLE["bases"][case["base"]]
    theirs, ours = older.patch(config, case["patches"]), _ours(config, case["patches"])
    if case["name"] in known_differences("patch on 1.13"):
        assert theirs not in (None, ours), "listed as a difference, but there is none"
    else:
        assert theirs in (None, ours)


@given(drawn=patched_configs())
@generated
def test_generated_patches(drawn: tuple[str, str], talosctl: Talosctl) -> None:
    config, patch = drawn
    assert _ours(config, [patch]) == talosctl.patch(config, [patch])


def test_generated_patches_of_1_13(older: Talosctl) -> None:
    accepted = []

    @given(drawn=patched_configs(OLDER))
    @generated
    def compare(drawn: tuple[str, str]) -> None:
        config, patch = drawn
        theirs = older.patch(config, [patch])
        assert theirs in (None, _ours(config, [patch]))
        accepted.append(theirs is not None)

    compare()
    assert sum(accepted) >= 10
