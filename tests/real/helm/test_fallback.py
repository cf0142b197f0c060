"""What our renderer stops at, a `helm` on PATH renders; the result says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith.helm import LocalChart, Release, Store, TemplateError, capabilities, render
from tests.real.helm.test_chart_semantics import FAMILY, write

COMPLEX = "kind: X\nmetadata: {name: x}\ntext: '{{ 1i }} {{ .Values.secret }}'\n"  # Go's imaginary numbers


@pytest.fixture
def on_path(helm: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(helm.parent))
    return helm


def test_the_helm_on_path_renders_what_ours_does_not(on_path: Path, tmp_path: Path) -> None:
    chart = LocalChart(write(tmp_path / "parent", {**FAMILY, "templates/complex.yaml": COMPLEX}))
    store = Store(tmp_path / "store")
    with pytest.raises(TemplateError, match=r"templates/complex\.yaml:3"):
        render(chart, Release("r"), {"secret": "ünï 🎉"}, store=store)
    rendered = render(chart, Release("r", "ns"), {"secret": "ünï 🎉"}, store=store, fall_back=True)
    assert rendered.renderer == "helm"
    assert str(on_path) in rendered.note
    assert "complex.yaml:3" in rendered.note
    texts = {one.name: one.content.get("text") for one in rendered.objects if one.kind == "X"}
    assert texts == {"x": "(0+1i) ünï 🎉"}
    assert [one.name for one in rendered.crds] == ["a", "b", "c", "c"]  # the subchart and its alias


def test_fields_that_helm_makes_up_are_found_by_asking_it_twice(on_path: Path, tmp_path: Path) -> None:
    made_up = "kind: X\nmetadata: {name: made}\na: {{ randAlphaNum 9 }}\nat: {{ now | unixEpoch }}\nb: c\n"
    chart = {**FAMILY, "templates/complex.yaml": COMPLEX, "templates/made_up.yaml": made_up}
    source = LocalChart(write(tmp_path / "parent", chart))
    rendered = render(source, Release("r", "ns"), {}, store=Store(tmp_path / "store"), fall_back=True)
    assert rendered.renderer == "helm"
    assert rendered.volatile == {("", "X", "", "made"): (("a",), ("at",))}


def test_both_renderers_give_the_same_result(on_path: Path, tmp_path: Path) -> None:
    from talosmith.helm import binary, folder
    from talosmith.helm.renderer import render_files

    files = folder.read(write(tmp_path / "parent", FAMILY))
    question = (Release("r", "ns"), {"own": {"keep": 2.0}}, capabilities("v1.36.3", ("x/v1",)))
    ours, theirs = render_files(files, *question), binary.render(str(on_path), files, *question)
    for part in ("objects", "hooks", "crds"):
        assert [(one.source, one.content) for one in getattr(ours, part)] == [
            (one.source, one.content) for one in getattr(theirs, part)
        ]


def test_an_error_of_the_chart_itself_is_told_with_its_line(on_path: Path, tmp_path: Path) -> None:
    chart = LocalChart(write(tmp_path / "parent", {**FAMILY, "templates/f.yaml": '\n{{ fail "no" }}'}))
    with pytest.raises(TemplateError, match=r"templates/f\.yaml:2: no"):
        render(chart, Release("r"), store=Store(tmp_path / "store"), fall_back=True)
