"""Waiting inside a call, as long as the lab's clock says."""

from __future__ import annotations

import asyncio

from talosmith_lab.clock import Wait
from talosmith_lab.server.methods import Call


async def pause(call: Call, what: Wait) -> None:
    await asyncio.sleep(call.world.pace.duration(what, call.machine.name, call.machine.boots))
