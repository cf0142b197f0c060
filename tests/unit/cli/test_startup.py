"""What a command has imported when it asks its first node: not what only the answer, or a run, needs."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench.measure import command
from bench.startup import UNTIL_ASKING, write_inventory

LATER = {
    "email.mime",
    "h11",
    "httpx2",
    "jsonschema",
    "libvirt",
    "rich",
    "ruamel.yaml",
    "sqlite3",
    "talosmith.charts",
    "talosmith.cli.run_plan",
    "talosmith.desired.addons",
    "talosmith.desired.machine.render",
    "talosmith.engine.journal",
    "talosmith.engine.runner",
    "talosmith.helm",
    "talosmith.kube.client",
    "talosmith.kustomize",
    "talosmith.observed.health",
    "talosmith.operations.up",
    "talosmith.report.graph",
    "talosmith.report.timeline",
    "talosmith.steps.context",
    "talosmith_lab",
}


@pytest.mark.slow
@pytest.mark.parametrize("addons", ["", "addons: {cilium: true, metrics-server: true, mine: {chart: ./none}}\n"])
@pytest.mark.parametrize("name", ["plan", "status", "up"])
def test_a_command_asks_its_first_node_with_little_imported(name: str, addons: str, tmp_path: Path) -> None:
    """Charts are read, and a chart that does not exist is noticed, after the nodes have been asked."""
    folder, places = write_inventory(tmp_path)
    with (folder / "cluster.yaml").open("a") as inventory:
        inventory.write(addons)
    told = command(
        [sys.executable, "-c", UNTIL_ASKING, name, "-i", folder], runs=1, environment=places | {"MODULES": "1"}
    )
    imported = set(told.said.split())
    assert "talosmith.talos.client" in imported, told.said
    assert not imported & LATER
