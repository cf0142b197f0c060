"""A resolved chart: known by its digest, with the fields that differ from one rendering to the next."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.charts import ChartContent, images_of, render_chart
from talosmith.helm import ChartError, Release, Rendered, Store, archive, capabilities, manifests, rendering
from talosmith.model.cluster import ChartPin
from tests.chart_server import sha256
from tests.charts import packed, standin_chart

META = "Chart.yaml"
HEAD = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"


def content(files: dict[str, str] | bytes) -> ChartContent:
    data = (
        files if isinstance(files, bytes) else packed({META: "{apiVersion: v2, name: web, version: 1.0.0}", **files})
    )
    return ChartContent(ChartPin("oci://ghcr.io/org/web", "1.0.0"), "1.0.0", sha256(data), data)


def rendered(files: dict[str, str] | bytes, store: Store, values: Any = ()) -> Rendered:
    return render_chart(content(files), Release("web", "apps"), values, cluster=capabilities("v1.36.3"), store=store)


def test_a_warm_call_does_not_unpack_the_chart(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    chart = standin_chart("web", "1.0.0")
    first = rendered(chart, store)
    rendering._memory.clear()  # as in another process
    monkeypatch.setattr(archive, "unpack", None)
    assert rendered(chart, store) == first
    with pytest.raises(TypeError):
        rendered(chart, store, {"replicas": 2})


@pytest.mark.parametrize(
    ("template", "paths"),
    [
        ("stringData: {a: {{ randAlphaNum 20 }}, b: c}", [("stringData", "a")]),
        ("data: {a: {{ uuidv4 | b64enc }}, b: {{ randBytes 8 }}}", [("data", "a"), ("data", "b")]),
        ("x: y\ndata:\n  {{- $ca := genCA \"x\" 365 }}\n  ca: {{ $ca.Cert | quote }}", [("data", "ca")]),
        ("l: [a, {{ randNumeric 9 | quote }}, {b: {{ randAscii 9 | quote }}}]", [("l", 1), ("l", 2, "b")]),
        ("stringData: {a: {{ htpasswd \"a\" \"b\" | quote }}}", [("stringData", "a")]),
        ("at: {{ now | date \"2006\" | quote }}\nhour: {{ now | date \"15\" | quote }}", [("at",), ("hour",)]),
        ("at: {{ now | unixEpoch }}", [("at",)]),
        ("l: {{ list 1 2 3 4 5 6 7 8 9 10 11 12 | toString | shuffle | quote }}", [("l",)]),
        ("a: {{ derivePassword 1 \"long\" \"p\" \"u\" \"s\" }}", []),
        ("a: {{ len (randAlphaNum 8) }}", []),
        ("{{- if false }}a: {{ randAlphaNum 8 }}{{ end }}", []),
    ],
)  # fmt: skip
def test_fields_that_differ_are_named(template: str, paths: list[Any], store: Store) -> None:
    found = rendered({"templates/s.yaml": f"{HEAD}{template}\n"}, store)
    assert found.volatile == ({("v1", "Secret", "", "s"): tuple(paths)} if paths else {})


def test_what_depends_on_a_made_up_value_differs_too(store: Store) -> None:
    found = rendered(
        {
            "templates/_helpers.tpl": '{{ define "hash" }}{{ include "pass" . | sha256sum }}{{ end }}',
            "templates/a.yaml": '{{ define "pass" }}{{ randAlpha 9 }}{{ end }}' + HEAD + 'x: {{ include "pass" . }}',
            "templates/b.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\n  namespace: apps\n  annotations:\n"
            '    sum: {{ include "hash" . }}\n    not: it',
        },
        store,
    )
    assert found.volatile == {
        ("v1", "Secret", "", "s"): (("x",),),
        ("v1", "Pod", "apps", "p"): (("metadata", "annotations", "sum"),),
    }


def test_an_object_with_another_name_each_time_is_named_as_a_whole(store: Store) -> None:
    found = rendered({"templates/j.yaml": "kind: Job\nmetadata: {name: j-{{ randAlpha 9 | lower }}}\n"}, store)
    (one,) = found.volatile
    assert one[3] == found.objects[0].name
    assert found.volatile[one] == ((),)


def test_hooks_have_volatile_fields(store: Store) -> None:
    hook = "kind: Job\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\nx: {{ randAlpha 9 }}\n"
    assert rendered({"templates/h.yaml": hook}, store).volatile == {("", "Job", "", "h"): (("x",),)}


def test_volatile_fields_are_kept_with_the_rest(store: Store) -> None:
    files = {"templates/a.yaml": "kind: ConfigMap\nmetadata: {name: c}\nl: [{x: {{ uuidv4 }}}]\n"}
    first = rendered(files, store)
    rendering._memory.clear()
    again = rendered(files, store)
    assert again == first
    assert again.volatile == {("", "ConfigMap", "", "c"): (("l", 0, "x"),)}


def test_secrets_stay_in_memory(store: Store) -> None:
    rendered({"templates/s.yaml": HEAD + "stringData: {a: b}\n"}, store)
    assert not store.folder.exists()
    empty = {"templates/s.yaml": HEAD + "type: Opaque\n"}
    first = rendered(empty, store)
    rendering._memory.clear()
    assert [path.name for path in store.folder.iterdir()] == ["rendered"]  # a Secret without content is none
    assert rendered(empty, store) == first


def test_too_many_objects_are_refused(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "MAX_OBJECTS", 20)
    many = "{{ range until (int .Values.count) }}\n---\nkind: ConfigMap\nmetadata: {name: c{{ . }}}\n{{ end }}"
    assert len(rendered({"templates/a.yaml": many}, store, {"count": 20}).objects) == 20
    with pytest.raises(ChartError, match=r"web/templates/a\.yaml: the chart renders more than 20 objects"):
        rendered({"templates/a.yaml": many}, store, {"count": 21})
    with pytest.raises(ChartError, match=r"web/crds/a\.yaml: the chart has more than 20 objects"):
        rendered({"crds/a.yaml": "---\nkind: CRD\n" * 21}, store)


def test_the_last_values_win(store: Store) -> None:
    found = rendered(standin_chart("web", "1.0.0"), store, [{"replicas": 2, "note": "a"}, {"note": "b"}])
    (workload,) = (one.content for one in found.objects if one.kind == "Deployment")
    assert workload["spec"]["replicas"] == 2
    assert workload["metadata"]["annotations"] == {"example.org/note": "b"}


@pytest.mark.parametrize("kind", ["Deployment", "DaemonSet", "StatefulSet"])
def test_a_stand_in_renders_a_workload(kind: Any, store: Store) -> None:
    found = rendered(standin_chart("agent", "2.1.0", kind, definitions=[("Policy", "example.org", "v1")]), store)
    assert [(one.kind, one.name) for one in found.objects] == [("ServiceAccount", "web"), (kind, "web")]
    assert [one.name for one in found.crds] == ["policies.example.org"]
    assert images_of(one.content for one in found.objects) == ["registry.example.org/agent:2.1.0"]


def test_a_stand_in_may_have_definitions_alone(store: Store) -> None:
    found = rendered(standin_chart("crds", "1.0.0", "crds", definitions=[("Gateway", "example.org", "v1")]), store)
    assert [one.name for one in found.objects] == ["gateways.example.org"]
