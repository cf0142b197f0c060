"""Charts that ask for more than memory or a day holds are stopped, with the template and the line."""

from __future__ import annotations

import pytest

from talosmith.helm import TemplateError, budget, capabilities
from talosmith.helm.release import Release
from talosmith.helm.renderer import render_files

META = {"Chart.yaml": b"{apiVersion: v2, name: web, version: 1.0.0}"}


def render(template: str) -> int:
    files = {**META, "templates/_t.tpl": TWICE.encode(), "templates/a.yaml": f"\n{template}".encode()}
    return len(render_files(files, Release("r"), {}, capabilities()).objects)


TWICE = '{{ define "twice" }}{{ if . }}{{ include "twice" (rest .) }}{{ include "twice" (rest .) }}{{ end }}{{ end }}'


@pytest.mark.parametrize(
    "template",
    [
        "{{ range until 1000000000 }}{{ end }}",
        "{{ range untilStep 0 1000000000 1 }}{{ end }}",
        "{{ seq 1000000000 }}",
        '{{ repeat 1000000000 "x" }}',
        "{{ randAlphaNum 1000000000 }}",
        "{{ randBytes 1000000000 }}",
    ],
)
def test_a_function_that_makes_too_much_is_stopped(template: str) -> None:
    with pytest.raises(TemplateError, match=r"web/templates/a\.yaml:2: .*1,000,000 are allowed"):
        render(template)


def test_templates_that_use_each_other_too_often_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_CALLS", 1000)
    numbers = " ".join(map(str, range(40)))
    with pytest.raises(TemplateError, match="used more than"):
        render(f'{{{{ include "twice" (list {numbers}) }}}}')


def test_templates_that_write_too_much_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_TEXT", 1000)
    with pytest.raises(TemplateError, match="write more than"):
        render('{{ define "long" }}{{ repeat 100 "x" }}{{ end }}{{ range until 99 }}{{ include "long" . }}{{ end }}')


def test_what_charts_do_is_allowed() -> None:
    assert render('kind: X\nl: [{{ range until 1000 }}{{ . }},{{ end }}]\nt: {{ repeat 1000 "ab" }}\n') == 1
    assert render("kind: X\nt: {{ seq 3 1 | quote }}{{ range untilStep 9 1 -2 }}{{ end }}\n") == 1


def test_an_error_of_a_chart_repeats_no_key() -> None:
    key = "LS0tLS1CRUdJTiBFRDI1NTE5IFBSSVZBVEUgS0VZLS0tLS0K"
    with pytest.raises(TemplateError, match=r"no use: \*\*\*$"):
        render(f'{{{{ fail "no use: {key}" }}}}')
