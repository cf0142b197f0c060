"""What a node tells of itself, in the lab and on real Talos: services, logs, kernel messages, events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from talosmith.errors import UsageError
from talosmith.observed.log_lines import kernel_messages, log_names, service_log
from talosmith.observed.machine_events import kept_events
from talosmith.talos import Event, MaintenanceClient, TalosNode, Unsupported
from talosmith.talos.events import SequenceStep, ServiceStep
from talosmith.talos.views import MachineStatus
from tests.contract.worlds import World, applied, eventually, refused

pytestmark = pytest.mark.slow


async def test_logs_kernel_messages_and_events(world: World) -> None:
    (machine,) = await world.fresh()
    async with MaintenanceClient() as client:  # where they are needed most
        node = client.node(machine.address)
        assert {"machined", "apid"} <= {one.id for one in await eventually(node.services)}
        assert await eventually(lambda: _lines(node, "machined"))
        assert await eventually(lambda: kept_events(node))
    await applied(world, machine)
    async with world.client() as client:
        node = client.node(machine.address)
        await eventually(lambda: log_names(node, ""), lambda found: {"machined", "apid"} <= {*found})
        whole = await eventually(lambda: _lines(node, "machined"), lambda lines: len(lines) > 1)
        (last,) = await eventually(lambda: _lines(node, "machined", 1))
        assert last and whole
        with pytest.raises(UsageError, match="does not exist"):
            await log_names(node, "no-such-service")
        await refused(lambda: _lines(node, "no-such-service"), Unsupported)
        assert len(await eventually(lambda: _kernel(node))) > 1

        found = await eventually(lambda: kept_events(node), _tells_of_the_boot)
        now = datetime.now(UTC)
        assert all(now - timedelta(hours=1) < event.at < now + timedelta(minutes=1) for event in found)
        assert len({event.id for event in found}) == len(found)
        assert [event.id for event in await kept_events(node, 2)] != []


def _tells_of_the_boot(events: list[Event]) -> bool:
    kinds = {type(event.what) for event in events}
    return {MachineStatus, SequenceStep, ServiceStep} <= kinds


async def _lines(node: TalosNode, service: str, tail: int = -1) -> list[str]:
    return [line async for line in service_log(service, follow=False)(node, tail)]


async def _kernel(node: TalosNode) -> list[str]:
    return [line async for line in kernel_messages(follow=False)(node, -1)]
