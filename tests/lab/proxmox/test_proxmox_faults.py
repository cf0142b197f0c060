"""Every tenth call to Proxmox VE fails, in seven ways in turn: runs end well, by themselves or after one more."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.lab.proxmox.outcomes_proxmox import converged, destroyed
from tests.lab.proxmox.sites import ISO, Computer
from tests.lab.up.places import UP

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone

RUNS = 2
SEEDS = (1, 2, 3)


def ends_well(computer: Computer, *command: str) -> int:
    """How many runs it took."""
    for number in range(RUNS):
        ended = computer.run(*command)
        assert "Traceback" not in ended.said, ended.said
        if ended.code == 0:
            return number + 1
        assert ended.code == 1, ended.said
    raise AssertionError(ended.said)


@pytest.mark.parametrize("example", ["proxmox", "proxmox-inventory"])
def test_ten_percent_of_all_calls_fail(computers: Callable[..., Computer], example: str) -> None:
    def scenario(seed: int) -> None:
        computer = computers(example)
        computer.boots_from(ISO if example == "proxmox" else "talos.raw")
        faults = computer.site.world.faults
        faults.fail_percent(10, seed)
        ends_well(computer, *UP)
        faults.clear()
        converged(computer, made_once=False)
        faults.fail_percent(10, seed + 100)
        ends_well(computer, *computer.destroying)
        faults.clear()
        destroyed(computer)

    with ThreadPoolExecutor(len(SEEDS)) as pool:
        for done in [pool.submit(scenario, seed) for seed in SEEDS]:
            done.result()
