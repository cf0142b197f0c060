"""A call comes in at a node: is it allowed, which nodes is it for, what goes wrong on purpose, who answers it.

Control planes pass calls on to other nodes, to one (`node`) or to many at once (`nodes`); here that is a function
call, but who reaches whom is asked as if it were a connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from inspect import isawaitable
from typing import Any, Protocol

from google.protobuf.message import Message
from grpclib.const import Cardinality, Status
from grpclib.exceptions import GRPCError
from grpclib.server import Stream

from talosmith.providers.lab.faults import US
from talosmith_lab import naming
from talosmith_lab.machine import Machine
from talosmith_lab.server import roles
from talosmith_lab.server.engine import Engine
from talosmith_lab.server.methods import Call, Method, fail

_MANY = ("/machine.MachineService/", "/cluster.", "/inspect.", "/storage.", "/time.")


class Caller(Protocol):
    """Where a call came in, and who made it."""

    machine: str
    maintenance: bool
    client: str

    @property
    def roles(self) -> frozenset[str]: ...


async def handle(engine: Engine, caller: Caller, method: Method, stream: Stream[Any, Any]) -> None:
    machine = engine.world.machines.get(caller.machine)
    if machine is None or not engine.world.talk(US, machine.name):
        await forever()
        return
    await _call_faults(engine, machine, method.path)
    asked: Any = stream if method.cardinality.client_streaming else await stream.recv_message()
    targets, fan_out = _targets(caller, method, stream)
    if not targets:
        await _answer(_call(engine, caller, machine), method, asked, stream)
    elif not fan_out:
        call = _forwarded(engine, caller, machine, targets[0])
        if call.machine is not machine:
            await _call_faults(engine, call.machine, method.path)
        await _answer(call, method, asked, stream)
    elif method.cardinality is Cardinality.UNARY_STREAM:
        await _stream_from_many(engine, caller, machine, method, asked, targets, stream)
    else:
        await stream.send_message(await _ask_many(engine, caller, machine, method, asked, targets))


async def forever() -> None:
    """What a call to a node gets that does not answer."""
    await asyncio.get_running_loop().create_future()


async def _answer(call: Call, method: Method, asked: Any, stream: Stream[Any, Any]) -> None:
    if method.cardinality is Cardinality.UNARY_STREAM:
        await stream.send_initial_metadata()
        async with aclosing(_replies(call, method, asked)) as replies:
            async for reply in replies:
                await stream.send_message(reply)
    else:
        await stream.send_message(await _reply(call, method, asked))


async def _reply(call: Call, method: Method, asked: Any) -> Message:
    _allowed(call, method)
    lost = call.world.strike("time-out", call.machine.name, method.path)
    made = method.answer(call, asked)
    reply: Message = await made if isawaitable(made) else made
    call.engine.tally.done(call.machine.name, method.path)
    if lost is not None:
        await forever()
    return reply


async def _replies(call: Call, method: Method, asked: Any) -> AsyncGenerator[Message, None]:
    _allowed(call, method)
    lost = call.world.strike("time-out", call.machine.name, method.path)
    async with aclosing(method.answer(call, asked)) as replies:
        async for reply in replies:
            if lost is None:
                yield reply
    call.engine.tally.done(call.machine.name, method.path)
    if lost is not None:  # all is done, and the answer is lost
        await forever()


def _allowed(call: Call, method: Method) -> None:
    if not roles.may(call.roles, method.path, maintenance=call.maintenance):
        raise fail(Status.PERMISSION_DENIED, "not authorized")


# Which nodes


def _targets(caller: Caller, method: Method, stream: Stream[Any, Any]) -> tuple[list[str], bool]:
    """The nodes that the call is for, none if for the one it came to; and whether it is for many."""
    metadata = stream.metadata
    if metadata is None or caller.maintenance:
        return [], False
    many = [str(one) for one in metadata.getall("nodes", [])]
    if many:
        if not method.path.startswith(_MANY):
            raise fail(Status.INVALID_ARGUMENT, f"one-to-many proxying is not supported for {method.path}")
        return many, True
    return [str(one) for one in metadata.getall("node", []) if one][:1], False


def _call(engine: Engine, caller: Caller, machine: Machine) -> Call:
    return Call(engine, machine, caller.roles, engine.world.config(machine) is None, caller.client)


def _forwarded(engine: Engine, caller: Caller, machine: Machine, target: str) -> Call:
    other = _find(engine, machine, target)
    if other is not machine:
        config = engine.world.config(machine)
        if config is None or not config.is_controlplane:
            raise fail(Status.PERMISSION_DENIED, "no request forwarding")
        _reach(engine, machine, other, target)
    assert other is not None  # noqa: S101 - `_reach` raises
    return _call(engine, caller, other)


def _find(engine: Engine, machine: Machine, target: str) -> Machine | None:
    world = engine.world
    host = target.rpartition(":")[0] if target.count(":") == 1 else target
    for other in (machine, *world.machines.values()):
        names = (other.address, *naming.addresses(world, other), naming.hostname(world, other), other.name)
        if host in names:
            return other
    return None


def _reach(engine: Engine, machine: Machine, other: Machine | None, target: str) -> None:
    world = engine.world
    if other is None or not other.runs("apid") or not world.talk(machine.name, other.name):
        problem = f"dial tcp {target}:50000: connect: no route to host"
        raise fail(Status.UNAVAILABLE, f'connection error: desc = "transport: Error while dialing: {problem}"')
    mine, theirs = world.config(machine), world.config(other)
    if mine is None or theirs is None or mine.authority is None or theirs.authority is None:
        trusted = False
    else:
        trusted = theirs.authority.certificate in (mine.authority.certificate, *mine.accepted)
    if not trusted:
        problem = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        raise fail(
            Status.UNAVAILABLE, f'connection error: desc = "transport: authentication handshake failed: {problem}"'
        )


# Many at once


async def _ask_many(
    engine: Engine, caller: Caller, machine: Machine, method: Method, asked: Any, targets: Sequence[str]
) -> Message:
    """One reply with the messages of all; a node that failed has one that says why."""
    whole: Any = method.reply()

    async def ask(target: str) -> None:
        try:
            call = _forwarded(engine, caller, machine, target)
            if call.machine is not machine:
                await _call_faults(engine, call.machine, method.path)
            reply: Any = await _reply(call, method, asked)
        except GRPCError as failure:
            _mark(whole.messages.add().metadata, target, failure)
            return
        for message in reply.messages:
            message.metadata.hostname = target
            whole.messages.append(message)

    await asyncio.gather(*(ask(target) for target in targets))
    return whole  # type: ignore[no-any-return]


async def _stream_from_many(
    engine: Engine,
    caller: Caller,
    machine: Machine,
    method: Method,
    asked: Any,
    targets: Sequence[str],
    stream: Stream[Any, Any],
) -> None:
    await stream.send_initial_metadata()
    queue: asyncio.Queue[Any] = asyncio.Queue(maxsize=16)

    async def pump(target: str) -> None:
        try:
            call = _forwarded(engine, caller, machine, target)
            async with aclosing(_replies(call, method, asked)) as replies:
                async for reply in replies:
                    reply.metadata.hostname = target  # type: ignore[attr-defined]
                    await queue.put(reply)
        except GRPCError as failure:
            reply = method.reply()
            _mark(reply.metadata, target, failure)  # type: ignore[attr-defined]
            await queue.put(reply)
        await queue.put(None)

    tasks = [asyncio.create_task(pump(target)) for target in targets]
    try:
        for _ in targets:
            while (reply := await queue.get()) is not None:
                await stream.send_message(reply)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _mark(metadata: Any, target: str, failure: GRPCError) -> None:
    metadata.hostname = target
    metadata.error = f"rpc error: code = {_go_name(failure.status)} desc = {failure.message}"
    metadata.status.code = failure.status.value
    metadata.status.message = failure.message or ""


def _go_name(status: Status) -> str:
    return "".join(part.capitalize() for part in status.name.split("_"))


# Faults of calls


async def _call_faults(engine: Engine, machine: Machine, path: str) -> None:
    world = engine.world
    engine.tally.asked(machine.name, path)
    slow = world.strike("slow", machine.name, path)
    if slow is not None:
        await asyncio.sleep(slow.seconds)
    if world.strike("fail", machine.name, path) is not None:
        raise fail(Status.UNAVAILABLE, "the lab makes this call fail")
