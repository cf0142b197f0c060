"""The rules across fields and the checks of form, each proven by cases: an inventory, and what is said of it.

A case without `cluster_name` gets the three lines every inventory begins with, so its own text begins at line 4.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from talosmith.inventory import check, rules
from talosmith.inventory.layouts import LAYOUTS
from talosmith.inventory.rules.providers import layout_is_possible

FOLDER = Path(__file__).with_name("cases")
HEADER = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\n"


class Case(NamedTuple):
    name: str
    files: dict[str, str]
    expect: list[str]
    fix: str | None
    why: str | None


def _cases(file: Path) -> list[Case]:
    def files(case: dict[str, Any]) -> dict[str, str]:
        if "files" in case:
            return dict(case["files"])
        text = case["cluster"]
        return {"cluster.yaml": text if "cluster_name" in text else HEADER + text}

    return [
        Case(case["case"], files(case), case["expect"], case.get("fix"), case.get("why"))
        for case in yaml.safe_load(file.read_text())
    ]


ALL = [(file.stem, case) for file in sorted(FOLDER.glob("*.yaml")) for case in _cases(file)]


def _run(case: Case, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], list[str], list[str]]:
    for name, text in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(folder)
    main = "env/cluster.yaml" if "env/cluster.yaml" in case.files else "cluster.yaml"
    problems = check(main).problems
    said = [f"{problem.place}: {problem.severity}: {problem.what}" for problem in problems]
    return said, [problem.fix for problem in problems], [problem.why for problem in problems]


@pytest.mark.parametrize("case", [pytest.param(case, id=f"{stem}: {case.name}") for stem, case in ALL])
def test_case(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said, fixes, whys = _run(case, tmp_path, monkeypatch)
    assert said == case.expect
    if case.fix is not None:
        assert case.fix in fixes
    if case.why is not None:
        assert case.why in whys


OF_ALL = [rule for rule in rules.RULES if rule is not layout_is_possible]
OF_LAYOUTS = [(name, rule.__name__) for name, layout in LAYOUTS.items() for rule in layout.rules]


@pytest.mark.parametrize("rule", OF_ALL, ids=lambda rule: rule.__name__)
def test_each_rule_is_proven(rule: rules.Rule, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "RULES", tuple(other for other in rules.RULES if other is not rule))
    _proven(rule.__name__, tmp_path, monkeypatch)


@pytest.mark.parametrize(("provider", "rule"), OF_LAYOUTS)
def test_each_rule_of_a_layout_is_proven(
    provider: str, rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = LAYOUTS[provider]
    monkeypatch.setattr(layout, "rules", tuple(other for other in layout.rules if other.__name__ != rule))
    _proven(f"{provider}_{rule}", tmp_path, monkeypatch)


def _proven(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rule, one of its own cases comes out differently."""
    cases = [case for stem, case in ALL if stem == name]
    assert cases, f"no file cases/{name}.yaml"
    different = []
    for number, case in enumerate(cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        different.append(_run(case, folder, monkeypatch)[0] != case.expect)
    assert any(different)
