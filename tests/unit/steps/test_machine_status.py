"""Watching a node until it is ready: a watch whose first answer was lost is not sat out."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from talosmith.steps import machine_status
from talosmith.steps.machine_status import statuses
from talosmith.talos import MaintenanceClient, NotReady
from talosmith.talos.proto import cosi_pb2
from tests.unit.talos.server import maintenance_context, never, resource, serving


async def booting_then_running(stream: Any) -> None:
    await stream.recv_message()
    for stage in ("booting", "running"):
        item = resource("MachineStatuses.runtime.talos.dev", "machine", f"stage: {stage}\nstatus: {{ready: true}}\n")
        event = cosi_pb2.Event(event_type=cosi_pb2.EventType.UPDATED, resource=item)
        await stream.send_message(cosi_pb2.WatchResponse(event=[event]))
    await asyncio.Event().wait()


async def test_a_watch_that_does_not_even_begin_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_status, "_FIRST", 0.05)
    async with serving(maintenance_context(), state_Watch=never) as address, MaintenanceClient() as client:
        with pytest.raises(NotReady, match=r"cp-1: no machine status within 0\.05 s"):
            async for status in statuses(client.node(address, "cp-1")):
                raise AssertionError(status)


async def test_a_watch_that_has_begun_is_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_status, "_FIRST", 120.0)
    seen = []
    async with (
        serving(maintenance_context(), state_Watch=booting_then_running) as address,
        MaintenanceClient() as client,
        aclosing(statuses(client.node(address, "cp-1"))) as watched,
    ):
        async for status in watched:
            seen.append(status.stage)
            if status.stage == "running":
                break
    assert seen == ["booting", "running"]
