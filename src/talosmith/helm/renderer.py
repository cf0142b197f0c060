"""Renders a chart: values, subcharts, templates, objects. Nothing is asked of a cluster or of the network."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from posixpath import basename
from typing import Any

from talosmith.helm import dependencies, manifests, volatile
from talosmith.helm.capabilities import Capabilities
from talosmith.helm.chart import Chart, parse
from talosmith.helm.compile import Compiler
from talosmith.helm.errors import ChartError, TemplateError
from talosmith.helm.files import Files
from talosmith.helm.functions import function_map
from talosmith.helm.manifests import RenderedObject
from talosmith.helm.ranges import in_range
from talosmith.helm.release import Release, Rendered
from talosmith.helm.schema import check
from talosmith.helm.scope import Program, Scope, add
from talosmith.helm.values import coalesced
from talosmith.helm.volatile import Volatile

_NOTES = "NOTES.txt"
_MOST_PROGRAMS = 5000
_DEEPEST_CALLS = 30_000


@lru_cache(maxsize=1)
def _compiler() -> Compiler:
    """One for the process: parsing is most of the work, and the next values meet the same templates."""
    return Compiler(function_map())


@dataclass(frozen=True)
class _Template:
    name: str
    text: str
    data: dict[str, Any]
    base_path: str


def render_files(
    files: Mapping[str, bytes],
    release: Release,
    values: Mapping[str, Any],
    cluster: Capabilities,
    *,
    check_schema: bool = True,
) -> Rendered:
    """Everything that the chart in these files makes of the values."""
    with _no_collections():
        return _rendered(files, release, values, cluster, check_schema)


def _rendered(
    files: Mapping[str, bytes],
    release: Release,
    values: Mapping[str, Any],
    cluster: Capabilities,
    check_schema: bool,
) -> Rendered:
    chart = parse(files)
    given = dict(values)
    dependencies.process(chart, given)
    if chart.is_library:
        raise ChartError(f"chart {chart.name} is a library: it is for other charts, and renders nothing")
    wanted = str(chart.metadata["KubeVersion"])
    if wanted and not in_range(wanted, str(cluster.KubeVersion)):
        raise ChartError(
            f"chart {chart.name} {chart.version} requires kubeVersion {wanted}, "
            f"which Kubernetes {cluster.KubeVersion.Version} is not"
        )
    final = coalesced(chart, given)
    if check_schema:
        check(chart, final)
    with volatile.watching() as made_up:
        rendered = _texts(chart, final, release, cluster)
    objects, hooks = manifests.sort(rendered)
    found: Volatile = {}
    if made_up():
        with volatile.watching(later=True):
            again = _texts(chart, coalesced(chart, given), release, cluster)
        found = _volatile((*objects, *hooks), rendered, again)
    return Rendered(tuple(objects), tuple(hooks), tuple(manifests.objects_of(chart.crds())), volatile=found)


def _texts(chart: Chart, values: dict[str, Any], release: Release, cluster: Capabilities) -> dict[str, str]:
    with _deep_nesting():
        return _run(_collect(chart, values, release.as_table(), cluster))


def _volatile(objects: tuple[RenderedObject, ...], first: dict[str, str], second: dict[str, str]) -> Volatile:
    """Only templates whose text differs are read once more."""
    differing = {source: text for source, text in second.items() if first.get(source) != text}
    again, hooks_again = manifests.sort(differing)
    return volatile.differences((one for one in objects if one.source in differing), (*again, *hooks_again))


@contextmanager
def _no_collections() -> Iterator[None]:
    """Nearly all that is allocated meanwhile stays; to look for garbage in it takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@contextmanager
def _deep_nesting() -> Iterator[None]:
    """Templates that use each other nest Python's calls deeper than it allows unasked; `compile` has a limit too."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, _DEEPEST_CALLS))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def _collect(
    chart: Chart, values: dict[str, Any], release: dict[str, Any], cluster: Capabilities
) -> dict[str, _Template]:
    found: dict[str, _Template] = {}
    _add(chart, values, release, cluster, found)
    return found


def _add(
    chart: Chart, values: dict[str, Any], release: dict[str, Any], cluster: Capabilities, found: dict[str, _Template]
) -> dict[str, Any]:
    """Adds the chart's templates with what they see; each subchart sees its own part of the values."""
    inner: dict[str, Any] = {}
    data = {
        "Chart": {**chart.metadata, "IsRoot": chart.parent is None},
        "Files": Files(chart.files),
        "Release": release,
        "Capabilities": cluster,
        "Values": values,
        "Subcharts": inner,
    }
    for subchart in chart.subcharts:
        part = values.get(subchart.name)
        inner[subchart.name] = _add(subchart, part if isinstance(part, dict) else {}, release, cluster, found)
    for name, content in chart.templates.items():
        if chart.is_library and not basename(name).startswith("_"):
            continue
        path = f"{chart.path}/{name}"
        found[path] = _Template(path, content.decode(errors="replace"), data, f"{chart.path}/templates")
    return data


def _run(templates: dict[str, _Template]) -> dict[str, str]:
    compiler = _compiler()
    if compiler.size > _MOST_PROGRAMS:
        _compiler.cache_clear()
    programs: dict[str, Program] = {}
    # Deeper ones first: of two templates of one name the last counts, and a chart's own should.
    names = sorted(templates, key=lambda name: (name.count("/"), name), reverse=True)
    for name in names:
        add(programs, compiler.compile(name, templates[name].text))
    scope = Scope(programs, compiler.compile)
    rendered: dict[str, str] = {}
    for name in names:
        if basename(name).startswith("_"):
            continue
        template = templates[name]
        template.data["Template"] = {"Name": name, "BasePath": template.base_path}
        scope.name = name
        try:
            text = scope.execute(name, template.data)
        except RecursionError:
            raise TemplateError("templates are nested too deep", template=name, line=1) from None
        if not name.endswith(_NOTES):
            rendered[name] = text.replace("<no value>", "")
    return rendered
