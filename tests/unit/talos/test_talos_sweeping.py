"""Many nodes asked at once: not all at once, and each answer or error kept by its node."""

from __future__ import annotations

import asyncio
import gc
import ssl
from contextlib import AsyncExitStack

import pytest

from talosmith.errors import UsageError
from talosmith.talos import Address, Credentials, TalosClient, TalosNode, Unreachable, sweep
from tests.loopback import unused_port
from tests.unit.talos.conftest import PATIENT
from tests.unit.talos.server import LOOPBACK, Counting, serving


async def test_a_sweep_keeps_results_and_errors_by_node(credentials: Credentials, context: ssl.SSLContext) -> None:
    handlers = [Counting(f"node-{number}") for number in range(20)]
    async with AsyncExitStack() as stack:
        places = [await stack.enter_async_context(serving(context, machine_Hostname=handler)) for handler in handlers]
        dead = Address(LOOPBACK, stack.enter_context(unused_port()))
        client = await stack.enter_async_context(TalosClient(credentials, limits=PATIENT))
        nodes = [client.node(place, handler.name) for place, handler in zip(places, handlers, strict=True)]
        swept = await sweep([*nodes, client.node(dead, "dead")], lambda node: node.hostname(), at_once=8)
    assert swept.results == {handler.name: handler.name for handler in handlers}
    assert list(swept.errors) == ["dead"]
    assert isinstance(swept.errors["dead"], Unreachable)


async def test_a_sweep_asks_no_more_nodes_at_once_than_it_may(client: TalosClient) -> None:
    now = most = 0

    async def ask(node: TalosNode) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001)
        now -= 1
        return node.name

    nodes = [client.node(Address("10.0.0.1", 1000 + number)) for number in range(100)]
    swept = await sweep(nodes, ask, at_once=7)
    assert most == 7
    assert len(swept.results) == 100


async def test_garbage_is_looked_for_seldom_while_many_are_asked(client: TalosClient) -> None:
    before = gc.get_threshold()
    assert 0 < before[0] < 10_000
    seen: set[int] = set()

    async def ask(node: TalosNode) -> None:
        seen.add(gc.get_threshold()[0])

    await sweep([client.node(f"10.0.0.{number}") for number in range(100)], ask)
    assert min(seen) >= 10_000
    assert gc.get_threshold() == before


async def test_a_sweep_refuses_two_nodes_of_one_name(client: TalosClient) -> None:
    async def ask(node: TalosNode) -> str:
        return node.name

    with pytest.raises(UsageError, match="cp-1"):
        await sweep([client.node("10.0.0.1", "cp-1"), client.node("10.0.0.2", "cp-1")], ask)


async def test_a_mistake_of_the_caller_is_not_taken_for_a_nodes_error(
    client: TalosClient, context: ssl.SSLContext
) -> None:
    async def broken(node: TalosNode) -> None:
        raise KeyError("mine")

    with pytest.raises(ExceptionGroup) as caught:
        await sweep([client.node("10.0.0.1")], broken)
    assert isinstance(caught.value.exceptions[0], KeyError)
