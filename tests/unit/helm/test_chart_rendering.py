"""The front door: layers of values, the cache, the fallback, errors that name their place."""

from __future__ import annotations

import stat
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from talosmith.errors import UsageError
from talosmith.helm import (
    ChartError,
    LocalChart,
    Override,
    Release,
    Store,
    TemplateError,
    capabilities,
    render,
    rendering,
)
from talosmith.helm.overrides import applied, parse_path

CONFIG = "kind: ConfigMap\nmetadata: {name: c}\ndata: {{ .Values | toJson }}\n"


def write(folder: Path, templates: Mapping[str, str], values: str = "{}") -> LocalChart:
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("{apiVersion: v2, name: web, version: 1.0.0}")
    (folder / "values.yaml").write_text(values)
    for name, text in templates.items():
        (folder / "templates" / name).write_text(text)
    return LocalChart(folder)


def data(chart: LocalChart, store: Store, *arguments: Any) -> Any:
    (only,) = render(chart, Release("r"), *arguments, store=store).objects
    return only.content["data"]


def test_later_layers_win_and_overrides_come_last(tmp_path: Path, store: Store) -> None:
    chart = write(tmp_path / "web", {"a.yaml": CONFIG}, "{a: {b: 1, c: 2, d: 3}, keep: k}")
    layers = [{"a": {"b": 10}}, {"a": {"c": None}}]
    assert data(chart, store, layers, [Override("a.d", 7), Override("keep", None)]) == {"a": {"b": 10, "d": 7}}


def test_nothing_that_is_given_is_changed(tmp_path: Path, store: Store) -> None:
    chart = write(tmp_path / "web", {"a.yaml": '{{ $_ := set .Values.table "x" 1 }}' + CONFIG})
    given = {"table": {"list": [1]}}
    data(chart, store, given, [Override("table.list[1]", 2)])
    assert given == {"table": {"list": [1]}}


def test_the_same_question_is_answered_from_memory_and_from_disk(tmp_path: Path, store: Store) -> None:
    chart = write(tmp_path / "web", {"a.yaml": "kind: X\nmetadata: {name: {{ randAlphaNum 20 }}}\n"})
    first = render(chart, Release("r"), store=store)
    assert render(chart, Release("r"), store=store) == first
    rendering._memory.clear()
    assert render(chart, Release("r"), store=store) == first


@pytest.mark.parametrize("change", ["values", "override", "release", "version", "apis", "template"])
def test_another_question_is_rendered_anew(change: str, tmp_path: Path, store: Store) -> None:
    chart = write(tmp_path / "web", {"a.yaml": "kind: X\nmetadata: {name: {{ randAlphaNum 20 }}}\n"})
    first = render(chart, Release("r"), {"a": 1}, store=store)
    if change == "template":
        (tmp_path / "web" / "templates" / "a.yaml").write_text("kind: Y\nmetadata: {name: y}\n")
    second = render(
        chart,
        Release("other" if change == "release" else "r"),
        {"a": 2 if change == "values" else 1},
        [Override("a", 3)] if change == "override" else [],
        cluster={"version": capabilities("v1.30.0"), "apis": capabilities(api_versions=("x/v1",))}.get(change),
        store=store,
    )
    assert second != first


def test_a_result_with_secrets_stays_off_the_disk(tmp_path: Path, store: Store) -> None:
    chart = write(
        tmp_path / "web", {"a.yaml": "kind: Secret\nmetadata: {name: s}\nstringData: {a: {{ .Values.p }}}\n"}
    )
    render(chart, Release("r"), {"p": "hush-hush"}, store=store)
    assert not [path for path in store.folder.rglob("*") if path.is_file()]


def test_what_is_on_the_disk_is_for_its_owner_alone(tmp_path: Path, store: Store) -> None:
    render(write(tmp_path / "web", {"a.yaml": CONFIG}), Release("r"), store=store)
    (kept,) = [path for path in store.folder.rglob("*") if path.is_file()]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_damaged_result_is_rendered_anew(tmp_path: Path, store: Store) -> None:
    chart = write(tmp_path / "web", {"a.yaml": CONFIG})
    first = render(chart, Release("r"), store=store)
    (kept,) = [path for path in store.folder.rglob("*") if path.is_file()]
    kept.write_bytes(b"{")
    rendering._memory.clear()
    assert render(chart, Release("r"), store=store) == first


def test_an_error_names_its_template_line_and_way(tmp_path: Path, store: Store) -> None:
    chart = write(
        tmp_path / "web",
        {
            "_inner.tpl": '{{ define "inner" }}\n\n{{ required "a name, please" .Values.name }}{{ end }}',
            "a.yaml": 'kind: X\nname: {{ include "inner" . }}\n',
        },
    )
    with pytest.raises(TemplateError) as caught:
        render(chart, Release("r"), store=store)
    assert str(caught.value) == "web/templates/_inner.tpl:3: a name, please (used at web/templates/a.yaml:2)"


def test_without_a_helm_the_error_of_our_renderer_stays(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    chart = write(tmp_path / "web", {"a.yaml": "{{ 1i }}"})
    with pytest.raises(TemplateError, match=r"web/templates/a\.yaml:1"):
        render(chart, Release("r"), store=store, fall_back=True)


def test_hooks_stand_apart_in_the_order_of_running(tmp_path: Path, store: Store) -> None:
    hook = (
        "kind: Job\nmetadata: {{name: {0}, annotations: {{helm.sh/hook: '{1}', helm.sh/hook-weight: '{2}'}}}}\n---\n"
    )
    text = hook.format("b", "pre-install,pre-upgrade", 1) + hook.format("a", "test", 1) + hook.format("z", "test", -3)
    rendered = render(write(tmp_path / "web", {"a.yaml": text + "kind: Service\n"}), Release("r"), store=store)
    assert [one.kind for one in rendered.objects] == ["Service"]
    assert [(one.name, one.weight, one.events) for one in rendered.hooks] == [
        ("z", -3, ("test",)),
        ("a", 1, ("test",)),
        ("b", 1, ("pre-install", "pre-upgrade")),
    ]


def test_a_template_without_end_stops(tmp_path: Path, store: Store) -> None:
    chart = write(tmp_path / "web", {"a.yaml": '{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}'})
    begin = time.process_time()
    with pytest.raises(TemplateError, match=r"without end|too deep"):
        render(chart, Release("r"), store=store)
    assert time.process_time() - begin < 20


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("a", ["a"]),
        ("a.b[0].c", ["a", "b", 0, "c"]),
        ("a[1][2]", ["a", 1, 2]),
        (r"a.b\.c/d", ["a", "b.c/d"]),
        (r"a\[x", ["a[x"]),
    ],
)
def test_paths_of_overrides(path: str, steps: list[str | int]) -> None:
    assert parse_path(path) == steps


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "[0]", "a[x]", "a[0", "a[99999999]", "a]b"])
def test_a_path_that_cannot_be_meant_is_refused(path: str) -> None:
    with pytest.raises(UsageError):
        parse_path(path)


def test_an_override_does_not_bend_what_is_there() -> None:
    with pytest.raises(UsageError, match="no table"):
        applied({"a": 5}, [Override("a.b", 1)])
    with pytest.raises(UsageError, match="no list"):
        applied({"a": {"b": 1}}, [Override("a[0]", 1)])
    assert applied({"a": [1]}, [Override("a[3]", 4)]) == {"a": [1, None, None, 4]}


def test_templates_may_nest_deeply(tmp_path: Path, store: Store) -> None:
    count = '{{ define "n" }}{{ with sub . 1 }}{{ include "n" . }}{{ else }}end{{ end }}{{ end }}'
    chart = write(tmp_path / "web", {"_n.tpl": count, "a.yaml": 'kind: X\nname: {{ include "n" 900 }}\n'})
    (only,) = render(chart, Release("r"), store=store).objects
    assert only.content["name"] == "end"


@pytest.mark.parametrize(
    "template",
    [
        "{{ range .Values.secret }}{{ end }}",
        "{{ atoi .Values.secret }}",
        "{{ mustToDate .Values.secret .Values.secret }}",
        "{{ mustToDuration .Values.secret }}",
        "{{ semverCompare .Values.secret .Values.secret }}",
        "{{ .Values.secret.field }}",
        "{{ eq .Values.secret 5 }}",
        "{{ index .Values.secret .Values.secret }}",
    ],
)
def test_an_error_does_not_show_values(template: str, tmp_path: Path, store: Store) -> None:
    chart = write(tmp_path / "web", {"a.yaml": template + '{{ fail "reached" }}'})
    with pytest.raises(TemplateError) as caught:
        render(chart, Release("r"), {"secret": "hush-hush"}, store=store)
    assert "hush" not in str(caught.value)


def test_a_schema_s_objection_does_not_show_the_value(tmp_path: Path, store: Store) -> None:
    chart = write(tmp_path / "web", {"a.yaml": CONFIG})
    schema = '{"properties": {"port": {"type": "integer"}, "kind": {"enum": ["a", "b"]}}, "required": ["name"]}'
    (chart.path / "values.schema.json").write_text(schema)
    with pytest.raises(ChartError) as caught:
        render(chart, Release("r"), {"port": "hush-hush", "kind": "hush-hush"}, store=store)
    told = str(caught.value)
    assert "hush" not in told
    assert all(part in told for part in ("port", "integer", "kind", '["a", "b"]', "'name' is a required property"))
    assert render(chart, Release("r"), {"port": 80, "name": "n"}, store=store).objects
    assert render(chart, Release("r"), {"port": "x"}, store=store, check_schema=False).objects
