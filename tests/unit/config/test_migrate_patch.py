"""Patches in v1alpha1 form become documents: the text of each case, and that Talos' rules take it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith.desired.config.migrate import BOTH, Scope, migrate_patch
from talosmith.desired.config.migrate.rules import CONTROLPLANE_KINDS, REASONS, RULES
from talosmith.desired.config.patch.apply import load_patch
from talosmith.desired.config.schema.documents import KINDS, MAIN
from talosmith.desired.config.schema.notation import Struct

CASES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("migrate_cases.yaml").read_text())


def scope(case: dict[str, Any]) -> Scope:
    roles = frozenset(case["roles"]) if "roles" in case else BOTH
    return Scope(roles, tainted=case.get("tainted", True), install_match=case.get("install_match", ""))


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_a_patch_becomes_documents(case: dict[str, Any]) -> None:
    found = migrate_patch(case["old"], "p.yaml", scope(case))
    assert found.text == case["text"]
    assert found.controlplane == case.get("controlplane", "")
    assert [one.old for one in found.blocking] == case.get("blocking", [])
    assert [one.old for one in found.kept if not one.blocking] == case.get("kept", [])
    assert all(one.reason for one in (*found.moved, *found.kept))
    for text in (found.text, found.controlplane):
        if text:
            load_patch(text, "p.yaml")


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_a_migrated_patch_has_nothing_to_move(case: dict[str, Any]) -> None:
    first = migrate_patch(case["old"], "p.yaml", scope(case))
    for text in (first.text, first.controlplane):
        if text:
            again = migrate_patch(text, "p.yaml", scope(case))
            assert (again.moved, again.text) == ((), text)


def test_every_rule_leads_from_a_field_to_a_field() -> None:
    for rule in RULES:
        of: Any = MAIN
        for key in rule.old:
            of = of.fields[key].type
        target: Any = KINDS[rule.kind]
        for key in rule.new:
            target = target.fields[key].type
        assert isinstance(of, Struct) == isinstance(target, Struct), rule.place
        assert rule.kind in REASONS


def test_reasons_and_kinds_are_those_of_documents() -> None:
    assert not {*REASONS} - {*KINDS}
    assert not CONTROLPLANE_KINDS - {*KINDS}


def test_placeholders_move_along() -> None:
    found = migrate_patch("machine:\n  nodeLabels:\n    example.org/zone: ${node.host}\n")
    assert found.text.endswith("labels:\n  example.org/zone: ${node.host}\n")


def test_moves_say_from_where_and_why() -> None:
    found = migrate_patch("machine:\n  kubelet:\n    extraArgs: {v: '4'}\n")
    (moved,) = found.moved
    assert (moved.old, moved.new, moved.line) == ("machine.kubelet.extraArgs", "KubeletConfig.extraArgs", 3)
    assert "machine.kubelet" in moved.reason
