"""Configs are accepted and refused as `talosctl validate` does it, in every mode, strict or not."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from config_peer import Talosctl, known_differences, read_cases

from talosmith.desired.config.check.findings import MODES, Mode
from talosmith.desired.config.check.validate import errors_of, validate
from talosmith.desired.config.emit import emit
from talosmith.desired.config.load import load
from talosmith.desired.config.patch.apply import apply_patches, load_patch
from talosmith.desired.config.problems import ConfigError

TABLE = read_cases("validate_cases.yaml")
CASES = [pytest.param(case, id=case["name"]) for case in TABLE["cases"]]


@pytest.fixture(scope="module")
def talosctl(peer: Callable[[str], Path]) -> Talosctl:
    return Talosctl(peer("talosctl"))


def _config(case: dict[str, Any]) -> str:
    text: str = TABLE["bases"][case["base"]]
    if "change" in case:
        text = emit(apply_patches(load(text), [load_patch(case["change"])]))
    return text + case.get("add", "")


def _ours(config: str, mode: Mode, *, strict: bool) -> bool:
    try:
        return not errors_of(validate(load(config), mode, strict=strict))
    except ConfigError:
        return False


def _has_warnings(config: str) -> bool:
    try:
        return any(finding.severity == "warning" for finding in validate(load(config), "cloud"))
    except ConfigError:
        return False


def test_there_are_enough_cases() -> None:
    wrong = [case for case in TABLE["cases"] if not _ours(_config(case), "metal", strict=True)]
    assert len({case["name"] for case in TABLE["cases"]}) == len(TABLE["cases"])
    assert len(wrong) >= 40


@pytest.mark.parametrize("case", CASES)
def test_same_verdict(case: dict[str, Any], talosctl: Talosctl) -> None:
    config = _config(case)
    # Being strict is about warnings. Without any, one mode is enough to see that talosctl has none either.
    strict_modes = MODES if _has_warnings(config) else MODES[:1]
    asked = [(mode, False) for mode in MODES] + [(mode, True) for mode in strict_modes]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda one: talosctl.validate(config, one[0], strict=one[1]), asked))
    theirs = dict(zip(asked, answers, strict=True))
    ours = {(mode, strict): _ours(config, mode, strict=strict) for mode, strict in asked}
    if case["name"] in known_differences("validate"):
        assert ours != theirs, "listed as a difference, but there is none"
    else:
        assert ours == theirs
