"""What these tests rely on in the lab itself: it counts what it is asked for, and a new machine is a new machine."""

from __future__ import annotations

import pytest

from talosmith.lab.client import LabClient
from talosmith.lab.server.lab import LabServer
from talosmith.model.secret import Secret
from talosmith.providers.lab.calls import LabCalls
from talosmith.talos import MaintenanceClient
from tests.contract.worlds import eventually

pytestmark = pytest.mark.anyio


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
    calls = LabCalls(LabClient("lab", *server.address, Secret(server.options.token)), patience=0.5)
    server.control.add_fault("time-out", method="machine.create", times=1)
    with pytest.raises(Exception, match="no answer"):
        await calls("machine.create", name="cp-1")
    server.control.add_fault("fail", method="machine.power-off", times=1)
    with pytest.raises(Exception, match="makes this call fail"):
        await calls("machine.power-off", names=["cp-1"])
    await calls("machine.power-off", names=["cp-1"])
    counted = server.control.calls()
    assert counted["cp-1 machine.create"] == {"asked": 1, "done": 1}
    assert counted["cp-1 machine.power-off"] == {"asked": 2, "done": 1}
