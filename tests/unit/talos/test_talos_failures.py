"""What a node answers instead of a result, and where it hides failures."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
from grpclib.const import Status

from talosmith.errors import Permanent, Temporary
from talosmith.talos import (
    AlreadyExists,
    Denied,
    Failed,
    Invalid,
    NotFound,
    NotReady,
    NotTalos,
    TalosClient,
    TalosError,
    TooLarge,
    TooSlow,
    Unsupported,
)
from talosmith.talos.proto import machine_pb2 as wire
from talosmith.talos.proto.common_pb2 import Data, Metadata
from talosmith.talos.proto.status_pb2 import Status as WireStatus
from tests.unit.talos.server import answer, answers, fails, serving


async def collect(lines: AsyncIterator[str], into: list[str]) -> None:
    """What came before an error stays in the list."""
    async for line in lines:
        into += [line]


@pytest.mark.parametrize(
    ("status", "kind", "family"),
    [
        (Status.CANCELLED, NotReady, Temporary),
        (Status.UNKNOWN, NotReady, Temporary),
        (Status.INVALID_ARGUMENT, Invalid, Permanent),
        (Status.DEADLINE_EXCEEDED, TooSlow, Temporary),
        (Status.NOT_FOUND, NotFound, Permanent),
        (Status.ALREADY_EXISTS, AlreadyExists, Permanent),
        (Status.PERMISSION_DENIED, Denied, Permanent),
        (Status.RESOURCE_EXHAUSTED, NotReady, Temporary),
        (Status.FAILED_PRECONDITION, NotReady, Temporary),
        (Status.ABORTED, NotReady, Temporary),
        (Status.OUT_OF_RANGE, Invalid, Permanent),
        (Status.UNIMPLEMENTED, Unsupported, Permanent),
        (Status.INTERNAL, Failed, Permanent),
        (Status.UNAVAILABLE, NotReady, Temporary),
        (Status.DATA_LOSS, Failed, Permanent),
        (Status.UNAUTHENTICATED, Denied, Permanent),
    ],
)
async def test_every_status_is_worth_another_try_or_not(
    client: TalosClient, context: ssl.SSLContext, status: Status, kind: type[TalosError], family: type[Exception]
) -> None:
    async with serving(context, machine_Bootstrap=fails(status, "because I say so")) as address:
        with pytest.raises(TalosError) as caught:
            await client.node(address, "cp-1").bootstrap()
    error = caught.value
    assert type(error) is kind
    assert isinstance(error, family)
    assert (error.call, error.said, error.code) == ("Bootstrap", "because I say so", status.name)
    assert str(error).startswith("cp-1 (127.0.0.1:")


async def test_a_node_that_finds_our_message_too_large(client: TalosClient, context: ssl.SSLContext) -> None:
    said = "grpc: received message larger than max (40000000 vs. 33554432)"
    handler = fails(Status.RESOURCE_EXHAUSTED, said)
    async with serving(context, machine_ApplyConfiguration=handler) as address:
        with pytest.raises(TooLarge, match="larger than max"):
            await client.node(address).apply_config("x")


@pytest.mark.parametrize("status", [Status.FAILED_PRECONDITION, Status.UNKNOWN])
@pytest.mark.parametrize(
    "said",
    [
        "method is not supported in container mode",
        'service "etcd" doesn\'t support restart operation via API',
        'service "nothing" not defined',
    ],
)
async def test_what_will_never_work_is_not_worth_another_try(
    client: TalosClient, context: ssl.SSLContext, status: Status, said: str
) -> None:
    async with serving(context, machine_ServiceRestart=fails(status, said)) as address:
        with pytest.raises(Unsupported):
            await client.node(address).service_restart("etcd")


async def test_a_node_that_ends_a_call(client: TalosClient, context: ssl.SSLContext) -> None:
    async def end(stream: Any) -> None:
        await stream.recv_message()
        await stream.cancel()

    async with serving(context, machine_Hostname=end) as address:
        with pytest.raises(NotReady, match="the node ended the call"):
            await client.node(address).hostname()


async def test_secrets_that_a_node_repeats_are_not_shown(client: TalosClient, context: ssl.SSLContext) -> None:
    secrets = [
        "abcdef.0123456789abcdef",
        "LS0tLS1CRUdJTiBFRDI1NTE5IFBSSVZBVEUgS0VZLS0tLS0=",
        "k" * 20 + "K" * 20 + "1234=",
    ]
    harmless = ["ghcr.io/siderolabs/installer:v1.13.9", "/var/lib/kubelet/seccomp/profiles/some", "a" * 64]
    said = f"unknown keys: tokn: {' '.join(secrets)} and {' '.join(harmless)}"
    handler = fails(Status.INVALID_ARGUMENT, said)
    async with serving(context, machine_ApplyConfiguration=handler) as address:
        with pytest.raises(Invalid) as caught:
            await client.node(address).apply_config("x")
    shown = str(caught.value) + caught.value.said
    assert not [secret for secret in secrets if secret in shown]
    assert all(word in shown for word in harmless)


@pytest.mark.parametrize(
    ("metadata", "kind", "said"),
    [
        (Metadata(hostname="w-1", error="no etcd here"), NotReady, "no etcd here"),
        (Metadata(hostname="w-1", status=WireStatus(code=7, message="not you")), Denied, "not you"),
        (Metadata(error="x", status=WireStatus(code=14, message="down")), NotReady, "down"),
        (Metadata(error="x", status=WireStatus(code=9999)), NotReady, "x"),
    ],
)
async def test_a_failure_inside_a_successful_answer(
    client: TalosClient, context: ssl.SSLContext, metadata: Metadata, kind: type[TalosError], said: str
) -> None:
    reply = wire.HostnameResponse(messages=[wire.Hostname(metadata=metadata, hostname="ignored")])
    async with serving(context, machine_Hostname=answer(reply)) as address:
        with pytest.raises(kind) as caught:
            await client.node(address, "cp-1").hostname()
    assert caught.value.said == said
    assert caught.value.node.startswith(metadata.hostname or "cp-1")


async def test_a_failure_in_the_midst_of_a_stream(client: TalosClient, context: ssl.SSLContext) -> None:
    pieces = [Data(bytes=b"one\n"), Data(metadata=Metadata(error="disk is gone"))]
    got: list[str] = []
    async with serving(context, machine_Logs=answers(*pieces)) as address:
        with pytest.raises(NotReady, match="disk is gone"):
            await collect(client.node(address).logs("kubelet"), got)
    assert got == ["one"]


async def test_a_status_at_the_end_of_a_stream(client: TalosClient, context: ssl.SSLContext) -> None:
    async def handle(stream: Any) -> None:
        await stream.recv_message()
        await stream.send_message(Data(bytes=b"one\ntw"))
        await fails(Status.NOT_FOUND, "no such log")(stream)

    got: list[str] = []
    async with serving(context, machine_Logs=handle) as address:
        with pytest.raises(NotFound, match="no such log"):
            await collect(client.node(address).logs("nothing"), got)
    assert got == ["one"]


@pytest.mark.parametrize("count", [0, 2])
async def test_an_answer_of_none_or_of_several_nodes(
    client: TalosClient, context: ssl.SSLContext, count: int
) -> None:
    reply = wire.HostnameResponse(messages=[wire.Hostname(hostname="x")] * count)
    async with serving(context, machine_Hostname=answer(reply)) as address:
        with pytest.raises(NotTalos, match="no result"):
            await client.node(address).hostname()
