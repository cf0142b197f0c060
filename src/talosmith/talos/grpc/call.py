"""One call over a connection: bounded in size, exact about its deadline, and strict about what an answer is.

grpclib does the work; this changes only what a hostile or dying node could make of it.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, TypeVar

from grpclib.client import Stream
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

from talosmith.talos.grpc.http2 import Nonsense
from talosmith.talos.grpc.waking import Waker

_PREFIX = 5  # bytes before each message: is it compressed, and how long is it
_STATUSES = {str(status.value) for status in Status}

SendT = TypeVar("SendT")
RecvT = TypeVar("RecvT")


class MessageTooLarge(Exception):
    """More than we take; raised before it is read."""


class Call(Stream[SendT, RecvT]):
    """One call of a method, for which we wait as long as our `patience` lasts.

    `limit` bounds each message of the answer, `budget` all of them together.
    """

    def __init__(self, *args: Any, patience: float, limit: int, budget: int, **options: Any) -> None:
        super().__init__(*args, **options)
        self._patience = patience
        self._limit = limit
        self._budget = budget
        self._taken = 0

    async def __aenter__(self) -> Call[SendT, RecvT]:
        waker = self._wrapper = Waker()
        self._wrapper_ctx = waker.limit(self._patience)
        self._wrapper_ctx.__enter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        if not self._send_request_done and self._wrapper_ctx is not None:
            self._wrapper_ctx.__exit__(None, None, None)  # grpclib leaves the timer running when connecting failed
        await super().__aexit__(exc_type, exc_val, exc_tb)

    async def _maybe_finish(self) -> None:
        """An answer that has come counts, also when the connection has ended since. grpclib would not look at it."""
        if self._cancel_done:
            return
        if self._stream._transport.is_closing() and not self._stream.buffer._eof:
            raise StreamTerminatedError("Connection lost")
        if not self._recv_initial_metadata_done:
            await self.recv_initial_metadata()
        if not self._recv_trailing_metadata_done:
            await self.recv_trailing_metadata()

    def _raise_for_status(self, headers_map: dict[str, str]) -> None:
        """Statuses of HTTP that a balancer in front of a node may give are for another try; others are not gRPC."""
        status = headers_map.get(":status", "none")
        if status not in ("200", "429", "502", "503", "504"):
            raise Nonsense(f"HTTP status {status}")
        super()._raise_for_status(headers_map)

    def _raise_for_content_type(self, headers_map: dict[str, str]) -> None:
        try:
            super()._raise_for_content_type(headers_map)
        except GRPCError as wrong:
            raise Nonsense(wrong.message or "") from None

    def _process_grpc_status(self, headers_map: dict[str, str]) -> tuple[Status, str | None, Any]:
        if headers_map.get("grpc-status", "") not in _STATUSES:
            raise Nonsense("no status of gRPC")
        return super()._process_grpc_status(headers_map)

    async def recv_only_message(self) -> RecvT | None:
        """Where one is all there may be; None if the node gave a status instead."""
        message = await self.recv_message()
        if message is not None and await self.recv_message() is not None:
            raise Nonsense("a second message where one was due")
        return message

    async def recv_message(self) -> RecvT | None:
        """As grpclib's, but what is too long is refused by its announced length, before it is read."""
        if not self._recv_initial_metadata_done:
            await self.recv_initial_metadata()
        with self._wrapper:
            prefix = await self._stream.recv_data(_PREFIX)
            if not prefix:
                if self._stream.trailers is None and not self._trailers_only:
                    raise Nonsense("it ends without a status")
                return None
            if prefix[0]:
                raise Nonsense("a compressed message, which was not asked for")
            size = int.from_bytes(prefix[1:], "big")
            self._taken += size
            if size > self._limit:
                raise MessageTooLarge(f"a message of {size} bytes, and {self._limit} is the most we take")
            if self._taken > self._budget:
                raise MessageTooLarge(f"an answer of more than {self._budget} bytes, which is the most we take")
            message: RecvT = self._codec.decode(await self._stream.recv_data(size), self._recv_type)
            return message
