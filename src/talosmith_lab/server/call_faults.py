"""Calls of a provider go wrong as those of real ones do. Who keeps the lab is spared, and can end it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from talosmith_lab.server.engine import Engine
from talosmith_lab.world import World

UNAVAILABLE = "unavailable"  # the kind of an answer after which trying again may help


async def unlucky(
    engine: Engine, what: str, arguments: Mapping[str, Any], act: Callable[[], dict[str, Any]]
) -> dict[str, Any] | None:
    """The answer to a call that faults may strike; None: it was executed, and the answer is lost."""
    world = engine.world
    machine = str(arguments.get("name") or next(iter(arguments.get("names", ())), ""))
    engine.tally.asked(machine, what)
    slow = world.strike("slow", machine, what)
    if slow is not None:
        await asyncio.sleep(slow.seconds)
    if world.strike("fail", machine, what) is not None:
        return {"error": "the lab makes this call fail", "kind": UNAVAILABLE}
    lost = world.strike("time-out", machine, what)
    answer = act()
    if "done" in answer:
        engine.tally.done(machine, what)
    if lost is not None:
        return None
    if what == "machine.list" and not machine and "done" in answer:
        answer["done"] = [one for one in answer["done"] if _listed(world, one["name"])]
    return answer


def _listed(world: World, name: str) -> bool:
    late = world.active("unlisted", name)
    return late is None or world.now() - world.machines[name].created >= late.seconds
