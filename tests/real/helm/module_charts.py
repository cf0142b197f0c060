"""Charts as Go modules have them, made whole: a module lacks what a publisher adds."""

from __future__ import annotations

from pathlib import Path

import yaml

# Subcharts that are off unless asked for, and that come from elsewhere.
LACKING = {"argo-cd": "redis-ha"}


def drop_dependency(chart: Path, name: str) -> None:
    """Take a subchart out of Chart.yaml that is not in the charts/ folder."""
    path = chart / "Chart.yaml"
    described = yaml.safe_load(path.read_text())
    described["dependencies"] = [one for one in described["dependencies"] if one["name"] != name]
    path.write_text(yaml.safe_dump(described))
    (chart / "Chart.lock").unlink(missing_ok=True)
