"""Charts as Go modules have them, made whole: a module lacks what a publisher adds."""

from __future__ import annotations

import shutil
from pathlib import Path

import yaml

from tools.peers.helm_recipes import CHARTS, ChartModule, find_chart

# Subcharts that are off unless asked for, and that come from elsewhere.
LACKING = {"argo-cd": "redis-ha"}


def module_of(name: str) -> ChartModule:
    """The first module that has this chart."""
    return next(module for module in CHARTS if name in module.names)


def published(name: str, scratch: Path) -> tuple[Path, str]:
    """A copy of the chart as its publisher packs it, and its version."""
    module = module_of(name)
    target = scratch / name
    shutil.copytree(find_chart(module, name), target)
    if name in LACKING:
        drop_dependency(target, LACKING[name])
    described = next(yaml.safe_load_all((target / "Chart.yaml").read_text()))
    return target, module.released or str(described["version"])


def drop_dependency(chart: Path, name: str) -> None:
    """Take a subchart out of Chart.yaml that is not in the charts/ folder."""
    path = chart / "Chart.yaml"
    described = yaml.safe_load(path.read_text())
    described["dependencies"] = [one for one in described["dependencies"] if one["name"] != name]
    path.write_text(yaml.safe_dump(described))
    (chart / "Chart.lock").unlink(missing_ok=True)
