"""What these tests rely on in the lab itself: it counts what it is asked for, and a new machine is a new machine."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from talosmith.model.secret import Secret
from talosmith.providers.lab import process
from talosmith.providers.lab.calls import LabCalls
from talosmith.providers.lab.client import LabClient
from talosmith.providers.lab.process import Made, Place
from talosmith.talos import MaintenanceClient
from talosmith_lab.server.lab import LabServer
from tests.contract.worlds import eventually
from tests.waiting import PATIENCE, until


async def test_a_machine_of_the_same_name_shows_its_own_certificate(server: LabServer) -> None:
    seen = []
    for _ in range(2):
        described = server.control.create("cp-1")
        async with MaintenanceClient() as client:
            node = client.node(described["address"], fingerprint=described["fingerprint"])
            await eventually(node.version, bool)
            seen.append(await node.fingerprint())
        server.control.delete(["cp-1"])
    assert seen[0] != seen[1]


async def test_what_is_asked_for_is_counted_and_what_is_carried_out_too(server: LabServer) -> None:
    async def counts() -> dict[str, dict[str, int]]:
        return server.control.calls()

    calls = LabCalls(LabClient("lab", *server.address, Secret(server.options.token)), patience=120.0)
    server.control.add_fault("time-out", method="machine.create", times=1)
    with pytest.raises(Exception, match="no answer"):
        await replace(calls, patience=2.0)("machine.create", name="cp-1")
    await eventually(counts, lambda found: "cp-1 machine.create" in found)  # on a busy machine, only now
    server.control.add_fault("fail", method="machine.power-off", times=1)
    with pytest.raises(Exception, match="makes this call fail"):
        await calls("machine.power-off", names=["cp-1"])
    await calls("machine.power-off", names=["cp-1"])
    counted = server.control.calls()
    assert counted["cp-1 machine.create"] == {"asked": 1, "done": 1}
    assert counted["cp-1 machine.power-off"] == {"asked": 2, "done": 1}


@pytest.mark.slow
def test_a_lab_that_somebody_has_just_started_who_was_killed_is_the_lab(
    tmp_path: Path, network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes up while another one is started in its place."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    popen, started = subprocess.Popen, list[Any]()

    def after_another(*arguments: Any, **options: Any) -> Any:
        for _ in range(2):
            started.append(popen(*arguments, **options))
            until(Place("one").runs)
        return started[1]

    monkeypatch.setattr(process.subprocess, "Popen", after_another)
    lab = process.start("one", Made(clock="instant", network=network))
    try:
        assert lab.machines() == []
        assert json.loads(Place("one").running_file.read_text())["pid"] == started[0].pid
        assert started[1].wait(PATIENCE) != 0
    finally:
        process.stop("one", delete=True)
        for one in started:
            one.wait(PATIENCE)
