"""Credentials are exchanged while a client is in use: later calls use the new ones, running ones end in peace."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest

from talosmith.desired.pki import CertificateAndKey
from talosmith.kube import Credentials, KubeClient, Ref
from talosmith.model.secret import Secret
from tests.unit.kube.kube_server import TOKEN, Asked, Reply, serve

NODE = Ref("v1", "Node", "cp-1")


@pytest.fixture
def new(authority: CertificateAndKey) -> Credentials:
    return Credentials(authority.certificate, token=Secret("new"), server_name="kubernetes")


def found(asked: Asked) -> Reply:
    return Reply(200, {"kind": "Node", "metadata": {"name": "cp-1"}})


async def test_later_calls_use_the_new_ones(
    authority: CertificateAndKey, connect: Callable[..., KubeClient], new: Credentials
) -> None:
    async with serve(authority, found) as server, connect(server) as client:
        await client.get(NODE)
        old = client._transport._connections
        await client.exchange(new)
        assert old.closed, "nobody waited for an answer"
        await client.get(NODE)
        assert [one.headers["authorization"] for one in server.asked] == [f"Bearer {TOKEN}", "Bearer new"]


async def test_an_answer_that_is_read_is_read_to_its_end(
    authority: CertificateAndKey, connect: Callable[..., KubeClient], new: Credentials
) -> None:
    lines = tuple({"type": "ADDED", "object": {"metadata": {"name": f"n{number}"}}} for number in range(3))

    def answer(asked: Asked) -> Reply:
        return Reply(lines=lines) if "watch" in asked.query else found(asked)

    async with serve(authority, answer) as server, connect(server) as client:
        watch = client.events("v1", "Node", "", "1", seconds=60)
        read = [await anext(watch)]
        old = client._transport._connections
        await client.exchange(new)
        assert not old.closed
        await client.get(NODE)
        read += [line async for line in watch]
        assert len(read) == 3
        assert old.closed


async def test_a_question_without_an_answer_holds_its_connection_until_it_is_given_up(
    authority: CertificateAndKey, connect: Callable[..., KubeClient], new: Credentials
) -> None:
    async with serve(authority, lambda asked: Reply(hang=True)) as server, connect(server) as client:
        waiting = asyncio.create_task(client.get(NODE))
        while not server.asked:
            await asyncio.sleep(0.01)
        old = client._transport._connections
        await client.exchange(new)
        assert not old.closed
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting
        assert old.closed


async def test_closing_ends_the_retired_ones_too(
    authority: CertificateAndKey, connect: Callable[..., KubeClient], new: Credentials
) -> None:
    async with serve(authority, lambda asked: Reply(hang=True)) as server, connect(server) as client:
        waiting = asyncio.create_task(client.get(NODE))
        while not server.asked:
            await asyncio.sleep(0.01)
        old = client._transport._connections
        await client.exchange(new)
        await client.close()
        assert old.closed
        waiting.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await waiting
