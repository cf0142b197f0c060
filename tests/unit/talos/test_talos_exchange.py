"""Credentials are exchanged while a client is in use, as a rotation of the CA does it."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey
from talosmith.talos import Credentials, Refused, TalosClient, Unreachable
from talosmith.talos.grpc.channel import NodeChannel
from talosmith.talos.proto import machine_pb2 as wire
from tests.unit.talos.server import serving


def signed_as(authority: CertificateAndKey, name: str, credentials: Credentials) -> Credentials:
    """The same CA to trust, and another client certificate."""
    client = pki.new_leaf(authority, ["os:admin"], lifetime=timedelta(hours=1), common_name=name)
    return replace(credentials, certificate=client.certificate, key=client.key)


class Doorman:
    """A node that notes whose certificate each call came with. Calls wait while `held` is set."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] = []
        self.asked = asyncio.Event()
        self.held: asyncio.Event | None = None

    async def __call__(self, stream: Any) -> None:
        await stream.recv_message()
        subject = dict(pair[0] for pair in stream.peer.cert()["subject"])
        self.seen.append((subject.get("commonName", ""), stream.peer.addr()))
        self.asked.set()
        if self.held is not None:
            await self.held.wait()
        await stream.send_message(wire.HostnameResponse(messages=[wire.Hostname(hostname="cp-1")]))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.seen]


@pytest.fixture
def new(authority: CertificateAndKey, credentials: Credentials) -> Credentials:
    return signed_as(authority, "new", credentials)


async def test_nodes_that_were_handed_out_before_use_the_new_ones(
    client: TalosClient, context: ssl.SSLContext, new: Credentials
) -> None:
    door = Doorman()
    async with serving(context, machine_Hostname=door) as address:
        held = client.node(address)
        await held.hostname()
        client.exchange(new)
        await held.hostname()
        await client.node(address).hostname()
    assert door.names == ["", "new", "new"]
    assert len({place for _, place in door.seen[1:]}) == 1, "one connection, as always"


async def test_a_call_that_runs_gets_its_answer_and_then_its_connection_ends(
    client: TalosClient, context: ssl.SSLContext, new: Credentials
) -> None:
    door = Doorman()
    door.held = asyncio.Event()
    async with serving(context, machine_Hostname=door) as address:
        node = client.node(address)
        running = asyncio.create_task(node.hostname())
        await door.asked.wait()
        channel: NodeChannel = node._channel
        old = channel.protocol
        assert old is not None
        client.exchange(new)
        held, door.held = door.held, None
        assert await node.hostname() == "cp-1"
        assert door.names == ["", "new"] and not old.gone.is_set()
        held.set()
        assert await running == "cp-1"
        await asyncio.wait_for(old.gone.wait(), 30)


async def test_a_connection_that_is_not_used_ends_at_once(
    client: TalosClient, context: ssl.SSLContext, new: Credentials
) -> None:
    async with serving(context, machine_Hostname=Doorman()) as address:
        node = client.node(address)
        await node.hostname()
        old = node._channel.protocol
        assert old is not None
        client.exchange(new)
        await asyncio.wait_for(old.gone.wait(), 30)


async def test_no_call_is_made_on_a_connection_that_was_being_made_with_the_old_ones(
    client: TalosClient, context: ssl.SSLContext, new: Credentials, monkeypatch: pytest.MonkeyPatch
) -> None:
    door, connecting = Doorman(), NodeChannel._connect
    made: list[Any] = []

    async def and_meanwhile(channel: NodeChannel) -> Any:
        made.append(await connecting(channel))
        if len(made) == 1:
            client.exchange(new)
        return made[-1]

    monkeypatch.setattr(NodeChannel, "_connect", and_meanwhile)
    async with serving(context, machine_Hostname=door) as address:
        assert await client.node(address).hostname() == "cp-1"
    assert door.names == ["new"] and len(made) == 2


async def test_credentials_that_a_node_refuses_are_left_for_new_ones(
    client: TalosClient, context: ssl.SSLContext, credentials: Credentials
) -> None:
    """Exchanged for wrong ones, and back: what failed with them is no obstacle."""
    stranger = pki.new_authority("other", pki.KeyKind.ED25519)
    async with serving(context, machine_Hostname=Doorman()) as address:
        node = client.node(address)
        client.exchange(signed_as(stranger, "stranger", credentials))
        with pytest.raises((Refused, Unreachable)):
            await node.hostname()
        client.exchange(credentials)
        assert await node.hostname() == "cp-1"
