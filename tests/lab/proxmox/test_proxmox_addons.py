"""The examples of Proxmox VE with their add-ons: from nothing to Ready, on simulated hosts with lab nodes behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.inventory import load
from tests.addon_charts import addons_of, mirrors_block, offer_addons
from tests.chart_server import serving
from tests.lab.proxmox.outcomes_proxmox import converged
from tests.lab.proxmox.sites import EXAMPLES, Computer

pytestmark = [pytest.mark.slow, pytest.mark.real]  # for their length alone
BOOTS = {"proxmox": ("talos.iso", "cilium"), "proxmox-inventory": ("talos.raw", "argo-cd")}


@pytest.mark.parametrize("example", BOOTS)
def test_an_example_with_its_addons(
    computers: Callable[..., Computer], example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    image, addon = BOOTS[example]
    computer = computers(example, token="root")
    computer.boots_from(image)
    inventory: Path = computer.folder / "cluster.yaml"
    with serving() as server:
        inventory.write_text(inventory.read_text() + addons_of(EXAMPLES / example / "cluster.yaml"))
        for name, value in computer.access.items():
            monkeypatch.setenv(name, value)
        offer_addons(server, load(computer.folder))
        inventory.write_text(inventory.read_text() + mirrors_block(server))
        assert "✓ add-ons are ready" in computer.must("up", "--yes")
        converged(computer)
        listed = computer.must("addons", "list")
        assert addon in listed and all("in sync" in line for line in listed.splitlines()[1:]), listed
        assert computer.destroy().code == 0
