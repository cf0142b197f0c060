"""Real charts: talosmith and the real Helm render the same objects, in the same order, with the same text."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.real.helm.helm_peer import Case, differences
from tests.real.helm.module_charts import LACKING, drop_dependency
from tools.peers import PeerUnavailable
from tools.peers.helm_recipes import CHARTS, ChartModule, find_chart

API_VERSIONS = ("monitoring.coreos.com/v1", "monitoring.coreos.com/v1/ServiceMonitor", "gateway.networking.k8s.io/v1")
SPECIAL = {"external-dns of bitnami": ("github.com/bitnami/charts", "external-dns")}
CASES: dict[str, list[dict[str, Any]]] = yaml.safe_load((Path(__file__).parent / "chart_cases.yaml").read_text())


def _module_of(title: str) -> tuple[ChartModule, str]:
    wanted, name = SPECIAL.get(title, ("", title))
    for module in CHARTS:
        if name in module.names and wanted in ("", module.module):
            return module, name
    raise LookupError(title)


def _complete(module: ChartModule, name: str, scratch: Path) -> Path:
    """The chart, with the library in place that it names and that lies beside it in its module."""
    try:
        chart = find_chart(module, name)
    except PeerUnavailable as problem:
        pytest.skip(str(problem))
    if "common" not in module.names and name not in LACKING:
        return chart
    target = scratch / Path(name).name
    shutil.copytree(chart, target)
    if name in LACKING:
        drop_dependency(target, LACKING[name])
    else:
        shutil.copytree(find_chart(module, "common"), target / "charts" / "common")
    return target


def _questions() -> Iterator[Any]:
    for title, sets in CASES.items():
        for number, values in enumerate(sets):
            yield pytest.param(title, values or {}, id=f"{title}-{number}")


@pytest.mark.parametrize(("title", "values"), list(_questions()))
def test_a_real_chart_renders_as_by_helm(title: str, values: dict[str, Any], helm: Path, tmp_path: Path) -> None:
    module, name = _module_of(title)
    chart = _complete(module, name, tmp_path)
    count, found = differences(helm, chart, Case(values, api_versions=API_VERSIONS))
    assert not found, "\n\n".join(found)[:4000]
    assert count > 0
