"""A thousand nodes, observed: all of them seen, with a bounded number of connections and little memory."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from talosmith.model.machines import Machine
from talosmith.observed import nodes as asking
from talosmith.observed.observe import observe
from talosmith.talos import Limits, MaintenanceClient, TalosClient
from tests.lab.observe_worlds import desired_of

COUNT = 1000
PATIENCE = 300.0  # seconds

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


class Found:
    """A provider that has found a thousand machines."""

    name, seeds, creates = "found", False, False

    def __init__(self, addresses: list[str]) -> None:
        self.machines = [
            Machine(id=address, name=f"m-{number}", role="worker", power="on", addresses=(address,))
            for number, address in enumerate(addresses)
        ]

    async def find(self) -> list[Machine]:
        return self.machines


async def test_a_thousand_nodes_are_seen(network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "CONNECT", PATIENCE)  # one process plays all the nodes, so each of them is slow
    monkeypatch.setattr(asking, "ANSWER", PATIENCE)
    slow = Limits(connect_timeout=PATIENCE, call_timeout=PATIENCE)
    wide = f"127.{network.split('.')[1]}.240.0/21"  # beside what tests of this process use
    desired = desired_of(tmp_path, network, 1, 0)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.lab.lab_thousand", str(COUNT), wide],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    try:
        addresses = json.loads(await asyncio.to_thread(process.stdout.readline))["addresses"]
        await _listening(addresses)
        files = asyncio.create_task(_most_files())
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        spent, began = time.process_time(), time.monotonic()
        async with (
            TalosClient.from_bundle(desired.bundle, limits=slow) as talos,
            MaintenanceClient(limits=slow) as maintenance,
        ):
            found = await observe(desired, Found(addresses), talos, maintenance, kube=None)  # type: ignore[arg-type]
        spent, took = time.process_time() - spent, time.monotonic() - began
        files.cancel()
    finally:
        process.kill()
        process.wait()
    assert {seen.stage for seen in found.not_in_inventory.values()} == {"maintenance"}
    assert len({seen.fingerprint for seen in found.not_in_inventory.values()}) == COUNT
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert grown < 250, "MB"
    assert spent < 30, f"seconds of CPU, in {took:.1f} s"
    assert most_files < 800, "who may open 1024 files can observe a thousand nodes"


async def _listening(addresses: list[str]) -> None:
    """A machine is in maintenance mode a moment before its API can be reached."""
    async with asyncio.timeout(PATIENCE):
        for address in addresses:
            while True:
                with suppress(OSError):
                    _, writer = await asyncio.open_connection(address, 50000)
                    writer.close()
                    break
                await asyncio.sleep(0.05)


most_files = 0


async def _most_files() -> None:
    global most_files
    while True:
        most_files = max(most_files, len(os.listdir("/proc/self/fd")))  # noqa: PTH208
        await asyncio.sleep(0.02)
