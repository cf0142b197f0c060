"""Values, subcharts, hooks, files and errors, on charts made for it: talosmith does what the real Helm does."""
# ruff: noqa: E501 (small files of charts are easier to read on one line)

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from talosmith.helm import Override
from tests.real.helm.helm_peer import Case, by_helm, by_talosmith, differences

DUMP = """
kind: Dump
metadata: {name: {{ .Chart.Name }}}
values: {{ .Values | toJson }}
root: {{ .Chart.IsRoot }}
path: {{ .Template.BasePath }}
version: {{ .Chart.Version }}
subcharts: {{ keys .Subcharts | sortAlpha | toJson }}
dependencies: {{ range .Chart.Dependencies }}{{ .Name }},{{ end }}
install: {{ .Release.IsInstall }}
helper: {{ include "who" . }}
"""

FAMILY = {
    "Chart.yaml": """
apiVersion: v2
name: parent
version: 1.0.0
dependencies:
  - {name: one, version: ">=1.0.0", condition: "one.enabled,global.one", repository: ""}
  - {name: one, version: "1.x", alias: again, tags: [extra], repository: ""}
  - {name: two, version: "~2.1", tags: [front, back], repository: "", import-values: [data, {child: deep.table, parent: taken}]}
  - {name: lib, version: 0.1.0, repository: ""}
""",
    "values.yaml": """
global: {shared: {a: 1, b: 2}, flat: top}
tags: {front: true}
one: {enabled: true, override: parent, list: [1, 2], gone: null, table: {x: 1, y: null}}
own: {keep: 1, drop: 2, nested: {p: q, r: null}}
nothing: null
""",
    "templates/dump.yaml": DUMP,
    "templates/_who.tpl": '{{ define "who" }}parent of {{ .Chart.Name }}{{ end }}',
    "templates/lib.yaml": 'kind: FromLibrary\nmetadata: {name: x}\ntext: {{ include "lib.text" . | quote }}\n',
    "templates/NOTES.txt": "Thank you for {{ .Release.Name }}",
    "templates/empty.yaml": "{{- if false }}x{{ end }}\n---\n# only a comment\n",
    "templates/.hidden.yaml": "{{ fail \"never read\" }}",
    "ignored/x.yaml": "x",
    "kept.txt": "kept",
    ".helmignore": "# comment\nignored/\n*.bak\n/rooted.txt\n",
    "rooted.txt": "root",
    "a.bak": "bak",
    "templates/files.yaml": "kind: Files\nmetadata: {name: f}\nnames: {{ range $p, $_ := .Files }}{{ $p }} {{ end }}\n",
    "crds/a.yaml": "kind: CustomResourceDefinition\nmetadata: {name: a}\n---\nkind: CustomResourceDefinition\nmetadata: {name: b}\n",
    "crds/README.md": "no manifest",
    "charts/one/Chart.yaml": "apiVersion: v2\nname: one\nversion: 1.2.0\n",
    "charts/one/values.yaml": "override: child\nlist: [3]\ngone: here\ntable: {x: 5, y: 6, z: 7}\nglobal: {shared: {b: 9, c: 3}, sub: s}\ndefaulted: null\n",
    "charts/one/templates/dump.yaml": DUMP,
    "charts/one/templates/_who.tpl": '{{ define "who" }}child{{ end }}',
    "charts/one/crds/c.yml": "kind: CustomResourceDefinition\nmetadata: {name: c}\n",
    "charts/two/Chart.yaml": "apiVersion: v2\nname: two\nversion: 2.1.5\ndependencies: [{name: deep, version: 0.0.1, condition: deep.on, repository: ''}]\n",
    "charts/two/values.yaml": "exports: {data: {imported: yes, own: {keep: 7, more: 8}}}\ndeep: {on: true, table: {t: 1}}\n",
    "charts/two/templates/dump.yaml": DUMP,
    "charts/two/charts/deep/Chart.yaml": "apiVersion: v2\nname: deep\nversion: 0.0.1\n",
    "charts/two/charts/deep/values.yaml": "table: {u: 2}\nfrom: deep\n",
    "charts/two/charts/deep/templates/dump.yaml": DUMP,
    "charts/lib/Chart.yaml": "apiVersion: v2\nname: lib\nversion: 0.1.0\ntype: library\n",
    "charts/lib/templates/_text.tpl": '{{ define "lib.text" }}library for {{ .Release.Name }}{{ end }}',
    "charts/lib/templates/not.yaml": "{{ fail \"a library renders nothing\" }}",
    "charts/unnamed/Chart.yaml": "apiVersion: v2\nname: unnamed\nversion: 9.9.9\n",
    "charts/unnamed/templates/dump.yaml": DUMP,
}  # fmt: skip

HOOKS = """
kind: Job
metadata: {name: later, annotations: {helm.sh/hook: "post-install, post-upgrade", helm.sh/hook-weight: "5"}}
---
kind: Job
metadata: {name: sooner, annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: "-5", helm.sh/hook-delete-policy: "hook-succeeded,before-hook-creation"}}
---
kind: ConfigMap
metadata: {name: same-weight, annotations: {helm.sh/hook: pre-install, helm.sh/hook-weight: "5"}}
---
kind: Pod
metadata: {name: tested, annotations: {helm.sh/hook: test}}
---
kind: Pod
metadata: {name: unknown, annotations: {helm.sh/hook: never}}
---
kind: Zebra
metadata: {name: z}
---
kind: Deployment
metadata: {name: d}
---
kind: Service
metadata: {name: s2}
---
kind: Apple
metadata: {name: a}
---
kind: Service
metadata: {name: s1}
---
kind: Namespace
metadata: {name: n}
---
kind: Secret
metadata: {name: k}
stringData: {y: yes, n: "no", date: 2020-01-01, big: 12345678901234567890, octal: 0755}
"""  # fmt: skip


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("charts") / "parent", FAMILY)


@pytest.mark.parametrize(
    "case",
    [
        Case(),
        Case({"one": {"enabled": False}}),
        Case({"one": {"enabled": None}, "global": {"one": False}}),
        Case({"tags": {"front": False, "back": False, "extra": False}}),
        Case({"tags": {"front": False, "back": True}}),
        Case({"own": {"drop": None, "nested": None, "added": None}, "one": None}),
        Case({"own": None, "one": {"table": {"x": None, "z": None}, "override": None}}),
        Case({"two": {"deep": {"on": False}, "exports": {"data": {"imported": "mine"}}}}),
        Case({"taken": {"t": "mine"}, "imported": "mine", "again": {"override": "alias"}}),
        Case({"global": {"shared": {"a": None, "b": "user"}, "new": [1]}, "one": {"global": {"shared": {"b": "child"}}}}),
        Case({"own": "no table", "unnamed": {"x": 1}, "deep": {"unrelated": True}}),
        Case({"own": {"keep": {"now": "a table"}}}, is_upgrade=True),
        Case(overrides=[Override("own.keep", 5), Override("one.list[1]", "x"), Override("own.drop", None)]),
        Case(overrides=[Override(r"own.dotted\.key", True), Override("fresh.list[0].name", "a"), Override("n", 1000000)]),
        Case({"own": {"keep": 1000000}}, overrides=[Override("own.nested", {"whole": {"table": [1, 2]}})]),
    ],
    ids=str,
)  # fmt: skip
def test_values_reach_charts_and_subcharts_as_by_helm(case: Case, family: Path, helm: Path) -> None:
    count, found = differences(helm, family, case)
    assert not found, "\n\n".join(found)
    assert count >= 3


def test_hooks_and_kinds_are_ordered_as_by_helm(helm: Path, tmp_path: Path) -> None:
    chart = write(
        tmp_path / "hooks",
        {"Chart.yaml": "{apiVersion: v2, name: hooks, version: 1.0.0}", "templates/all.yaml": HOOKS},
    )
    count, found = differences(helm, chart, Case())
    assert not found, "\n\n".join(found)
    assert count == 11


def test_a_packed_subchart_is_the_same_as_an_unpacked_one(family: Path, helm: Path, tmp_path: Path) -> None:
    files = {name: text for name, text in FAMILY.items() if not name.startswith("charts/one/")}
    chart = write(tmp_path / "parent", files)
    with tarfile.open(chart / "charts" / "one-1.2.0.tgz", "w:gz") as packed:
        for name, text in FAMILY.items():
            if name.startswith("charts/one/"):
                member = tarfile.TarInfo(name.removeprefix("charts/"))
                member.size = len(text.encode())
                packed.addfile(member, io.BytesIO(text.encode()))
    count, found = differences(helm, chart, Case())
    assert not found, "\n\n".join(found)
    assert by_talosmith(chart, Case()) == by_talosmith(family, Case())
    assert count


BROKEN: dict[str, dict[str, Any]] = {
    "{{ .Values.a.b.c }}": {},
    "{{ required \"give a name\" .Values.name }}": {},
    "{{ fail \"no way\" }}": {},
    "{{ include \"none\" . }}": {},
    "{{ .Values.text.field }}": {"text": "x"},
    "{{ eq .Values.number 5 }}": {"number": 5},
    "{{ index .Values.list 7 }}": {"list": [1]},
    "{{ template \"self\" . }}{{ define \"self\" }}{{ if .Values.on }}{{ include \"self\" . }}{{ end }}{{ end }}": {"on": True},
    "{{ unknownFunction 1 }}": {},
    "{{ if }}": {},
    "{{ .Values.x ": {},
    "{{ end }}": {},
    "{{ $undefined }}": {},
    "a: [": {},
    "- a list": {},
    "{{ range .Values.number }}{{ end }}": {"number": 5},
    "{{ .Release.Name 5 }}": {},
    "{{ upper .Values.missing }}": {},
    "{{ trunc 5 .Values.number }}": {"number": 5},
    "{{ dict \"a\" | len }}{{ lt .Values.a 1 }}": {"a": "x"},
    "{{ mustRegexMatch \"(\" \"x\" }}": {},
    "{{ semverCompare \"bad range\" \"1.0.0\" }}": {},
    "{{ break }}": {},
    "{{ len .Values.missing }}": {},
    "{{ .Capabilities.None }}": {},
    "{{ tpl \"{{ .a.b.c }}\" . }}": {},
    "{{ tpl \"{{ if }}\" . }}": {},
    "{{ first 5 }}": {},
    "{{ fromYaml .Values.table }}": {"table": {"a": 1}},
}  # fmt: skip


@pytest.mark.parametrize("template", BROKEN)
def test_what_helm_refuses_is_refused_with_template_and_line(template: str, helm: Path, tmp_path: Path) -> None:
    text = f"kind: X\nmetadata:\n  name: {template}\n" if template[0] == "{" else template
    chart = write(
        tmp_path / "broken",
        {"Chart.yaml": "{apiVersion: v2, name: broken, version: 1.0.0}", "templates/x.yaml": text},
    )
    case = Case(BROKEN[template])
    _, their_error = by_helm(helm, chart, case)
    _, our_error = by_talosmith(chart, case)
    assert their_error, "Helm takes it"
    assert our_error, f"Helm says {their_error}"
    assert "broken/templates/x.yaml" in our_error
    if template[0] == "{" and "tpl" not in template and template not in ("{{ end }}",):
        assert "broken/templates/x.yaml:3" in our_error


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"Chart.yaml": "{apiVersion: v2, name: x, version: 1.0.0, kubeVersion: '>=1.99.0'}"}, "kubeVersion"),
        ({"Chart.yaml": "{apiVersion: v2, name: x, version: 1.0.0, type: library}"}, "library"),
        ({"Chart.yaml": "{apiVersion: v2, name: x, version: 1.0.0, dependencies: [{name: gone, version: '1'}]}"}, "gone"),
        ({"Chart.yaml": "{apiVersion: v2, name: x}"}, "version"),
        ({"Chart.yaml": "{apiVersion: v2, name: x, version: 1.0.0}", "values.yaml": "a: ["}, "values.yaml"),
        (
            {
                "Chart.yaml": "{apiVersion: v2, name: x, version: 1.0.0}",
                "values.schema.json": '{"type": "object", "required": ["port"], "properties": {"port": {"type": "integer"}}}',
            },
            "port",
        ),
    ],
    ids=["kube version", "library", "missing subchart", "no version", "bad values", "schema"],
)  # fmt: skip
def test_a_chart_that_helm_refuses_is_refused(files: dict[str, str], said: str, helm: Path, tmp_path: Path) -> None:
    chart = write(tmp_path / "x", files)
    _, their_error = by_helm(helm, chart, Case())
    _, our_error = by_talosmith(chart, Case())
    assert said in their_error
    assert said in our_error
