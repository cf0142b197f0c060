"""Template functions and the template language, against the real Helm: every line of expressions.txt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from talosmith.helm import yaml_in
from tests.real.helm.helm_peer import Case, by_helm, by_talosmith

LINES = [
    line
    for line in (Path(__file__).parent / "expressions.txt").read_text().splitlines()
    if line and not line.startswith("#")
]
VALUES = {
    "whole": 5, "million": 1000000, "fraction": 0.25, "tiny": 0.0000001, "negative": -3, "big": 12345678901234,
    "on": True, "off": False, "nothing": None, "empty": "", "emptyList": [], "list": ["x", "y", 3],
    "table": {"a": 1, "b": "two", "c": None, "d": [1, {"e": "f"}]},
    "nested": {"one": {"two": "deep"}, "l": [["a"], []]},
    "templated": "{{ .Release.Name }}-{{ .Values.whole }}",
    "tricky": {
        "bool": "true", "number": "12", "float": "1.5", "null": "null", "date": "2020-01-01", "colon": "a: b",
        "hash": "a #b", "dash": "- a", "star": "*", "quote": "it's", "double": 'say "x"', "time": "12:30:45",
        "octal": "0777", "yes": "yes", "space": " lead", "trail": "trail ", "tab": "a\tb", "brace": "{a}",
        "at": "@x", "percent": "%x", "tilde": "~", "exp": "1e3", "hex": "0x1f", "dots": "...", "unicode": "ünï ☃ 🎉",
        "bell": "\x07", "question": "? a", "bang": "!x", "amp": "&a", "pipe": "|", "gt": ">", "comma": "a, b",
        "equals": "=", "merge": "<<", "under": "1_000", "inf": ".inf", "dot": ".", "minus": "-", "bracket": "[a",
        "slash": "a\\b", "cidr": "10.0.0.0/8", "image": "quay.io/x/y:v1@sha256:abc", "on": "on", "n": "n",
    },
    "long": {
        "plain": "word " * 30 + "end", "path": "/" + "x" * 120, "quoted": "a: " + "word " * 25,
        "list": ["word " * 25 + "end", {"k": "more " * 25 + "end"}],
    },
    "multi": {
        "lines": "one\ntwo\n", "no_end": "one\ntwo", "more": "one\n\n\n", "indented": "  one\ntwo\n", "only": "\n",
        "spaces": "one \ntwo\n", "list": ["a\nb\n", "c\n  d\n"], "tabs": "\tone\ntwo\n", "start": "\none\n",
        "special": "a\x07b\n", "crlf": "a\r\nb\r\n",
    },
}  # fmt: skip
API_VERSIONS = ("extra.example/v1",)


@pytest.fixture(scope="module")
def chart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each line is a template of its own; its output stands as JSON in an object."""
    folder = tmp_path_factory.mktemp("chart") / "cases"
    (folder / "templates").mkdir(parents=True)
    (folder / "data").mkdir()
    (folder / "data" / "one.txt").write_text("first\nsecond\n")
    (folder / "data" / "two.cfg").write_text("two")
    (folder / "Chart.yaml").write_text(
        "apiVersion: v2\nname: cases\nversion: 1.2.3\nappVersion: 1.10\ntype: application\nannotations: {a: b}\n"
        "keywords: [k]\nmaintainers: [{name: M, email: m@example.com}]\n"
    )
    parts = ['{{- define "inner" }}[{{ .a }}]{{ end }}']
    for number, line in enumerate(LINES):
        parts.append(f'{{{{- define "case{number}" }}}}{line}{{{{ end }}}}')
    (folder / "templates" / "_cases.tpl").write_text("\n".join(parts))
    for number in range(len(LINES)):
        (folder / "templates" / f"case{number}.yaml").write_text(
            f'kind: Case\nmetadata: {{name: "{number}"}}\ntext: {{{{ include "case{number}" . | toJson }}}}\n'
        )
    return folder


@pytest.fixture(scope="module")
def expected(chart: Path, helm: Path) -> dict[int, str]:
    documents, error = by_helm(helm, chart, Case(VALUES, api_versions=API_VERSIONS))
    assert not error, error
    return _texts(documents)


@pytest.fixture(scope="module")
def rendered(chart: Path) -> dict[int, str]:
    documents, error = by_talosmith(chart, Case(VALUES, api_versions=API_VERSIONS))
    assert not error, error
    return _texts(documents)


def _texts(documents: list[tuple[str, str]]) -> dict[int, str]:
    objects = [yaml_in.load(text) for _, text in documents]
    return {int(one["metadata"]["name"]): one["text"] for one in objects}


@pytest.mark.parametrize("number", range(len(LINES)), ids=lambda number: LINES[number][:60])
def test_a_template_gives_what_helm_gives(number: int, expected: dict[int, str], rendered: dict[int, str]) -> None:
    assert rendered[number] == expected[number], json.dumps(LINES[number])
