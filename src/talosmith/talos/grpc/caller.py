"""How every call is made: with a deadline, bounded in size, and with all ways to fail turned into our errors."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from google.protobuf.message import Message
from grpclib.client import Channel, ServiceMethod, StreamUnaryMethod, UnaryStreamMethod, UnaryUnaryMethod
from grpclib.const import Cardinality

from talosmith.call_log import logged
from talosmith.talos.errors import NotTalos
from talosmith.talos.grpc.call import Call
from talosmith.talos.grpc.channel import NodeChannel
from talosmith.talos.grpc.failures import hidden_failure, translated
from talosmith.talos.proto.common_pb2 import Data

MIB = 1024**2
FOLLOWING = 24 * 3600.0  # seconds that a stream may be followed
UNBOUNDED = 1 << 62  # bytes, for streams that are handed on as they come

NO_CHANNEL = cast(Channel, None)  # the generated stubs serve as tables of methods, one for all nodes

SendT = TypeVar("SendT", bound=Message)
RecvT = TypeVar("RecvT", bound=Message)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a node may take of our time and memory."""

    connect_timeout: float = 10.0
    call_timeout: float = 15.0
    max_message: int = 32 * MIB  # Talos' own limit
    max_answer: int = 64 * MIB  # of a stream that is collected before it is handed on


class _SourceFailed(Exception):
    """What was to be sent could not be read; that is no failure of the node."""


class Caller:
    """One node, and the connection over which it is asked. The classes for each topic build on this one."""

    def __init__(self, channel: NodeChannel, label: str, limits: Limits, metadata: dict[str, str]) -> None:
        self._channel = channel
        self._label = label
        self._limits = limits
        self._metadata = metadata

    async def _ask(
        self, method: UnaryUnaryMethod[SendT, RecvT], request: SendT, timeout: float | None = None
    ) -> RecvT:
        """A question with one answer."""
        seconds = timeout or self._limits.call_timeout
        with self._logged(method), translated(self._channel, self._label, _name(method), seconds):
            async with self._open(method, Cardinality.UNARY_UNARY, seconds) as call:
                await call.send_message(request, end=True)
                reply = await call.recv_only_message()
        return self._given(method, reply)

    async def _stream(
        self,
        method: UnaryStreamMethod[SendT, RecvT],
        request: SendT,
        *,
        timeout: float | None = None,
        budget: int = UNBOUNDED,
    ) -> AsyncIterator[RecvT]:
        """A question with many answers, of `budget` bytes in all."""
        seconds = timeout or self._limits.call_timeout
        with self._logged(method), translated(self._channel, self._label, _name(method), seconds):
            async with self._open(method, Cardinality.UNARY_STREAM, seconds, budget) as call:
                await call.send_message(request, end=True)
                async for message in call:
                    yield message

    async def _data(
        self,
        method: UnaryStreamMethod[SendT, Data],
        request: SendT,
        *,
        timeout: float | None = None,
        budget: int = UNBOUNDED,
    ) -> AsyncIterator[bytes]:
        """As `_stream`, for the answers that are pieces of a file or a log."""
        async for piece in self._stream(method, request, timeout=timeout, budget=budget):
            self._check(method, piece)
            if piece.bytes:
                yield piece.bytes

    async def _upload(
        self, method: StreamUnaryMethod[SendT, RecvT], messages: AsyncIterable[SendT], timeout: float
    ) -> RecvT:
        """Many messages with one answer."""
        try:
            with self._logged(method), translated(self._channel, self._label, _name(method), timeout):
                async with self._open(method, Cardinality.STREAM_UNARY, timeout) as call:
                    await call.send_request()
                    async for message in _marked(messages):
                        await call.send_message(message)
                    await call.end()
                    reply = await call.recv_only_message()
        except _SourceFailed as wrong:
            raise cast(Exception, wrong.__cause__) from None
        return self._given(method, reply)

    def _logged(self, method: ServiceMethod[Any, Any]) -> AbstractContextManager[None]:
        return logged("talos", self._label, _name(method))

    def _open(
        self,
        method: ServiceMethod[SendT, RecvT],
        cardinality: Cardinality,
        timeout: float,
        budget: int = UNBOUNDED,
    ) -> Call[SendT, RecvT]:
        return self._channel.call(
            method.name,
            cardinality,
            (method.request_type, method.reply_type),
            timeout=timeout,
            metadata=self._metadata,
            limit=self._limits.max_message,
            budget=budget,
        )

    def _given(self, method: ServiceMethod[Any, Any], reply: RecvT | None) -> RecvT:
        if reply is None:
            raise self._no_answer(method)
        return reply

    def _one(self, method: ServiceMethod[Any, Any], messages: Any) -> Any:
        """The single item of an answer; a failure that it hides is raised."""
        for message in messages:
            self._check(method, message)
        if len(messages) != 1:
            raise self._no_answer(method)
        return messages[0]

    def _check(self, method: ServiceMethod[Any, Any], message: Any) -> None:
        failure = hidden_failure(self._label, _name(method), message.metadata)
        if failure is not None:
            raise failure

    def _no_answer(self, method: ServiceMethod[Any, Any]) -> NotTalos:
        name = _name(method)
        return NotTalos(self._label, f"{name}: the node answered, but with no result", call=name)


def _name(method: ServiceMethod[Any, Any]) -> str:
    """`Version` for `/machine.MachineService/Version`."""
    return method.name.rpartition("/")[2]


async def _marked(messages: AsyncIterable[SendT]) -> AsyncIterator[SendT]:
    try:
        async for message in messages:
            yield message
    except Exception as wrong:
        raise _SourceFailed from wrong
