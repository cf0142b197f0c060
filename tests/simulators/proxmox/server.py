"""The API server of a node, on a port of 127.0.0.1, in a thread with an event loop of its own.

Tests of the same process and other programs are answered alike, whatever the event loop of a test does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from .certificate import certificate
from .dispatch import ConnectionLost, answer
from .errors import Refused
from .http import LARGEST_HEAD, Answer, Request, answer_refused, read_body, read_head
from .uploads import read_upload
from .world import Proxmox

_LINGER = 1.0  # seconds in which a client may still be sending what is not read


@dataclass(frozen=True)
class Server:
    url: str
    fingerprint: str
    ca: str
    port: int


@contextmanager
def serving(world: Proxmox, node: str | None = None, port: int = 0) -> Iterator[Server]:
    """The API server of a node of the world, by default of the first node."""
    thread = _Thread(world, node or next(iter(world.nodes)), port)
    thread.start()
    try:
        if not thread.ready.wait(30) or thread.problem:
            raise RuntimeError("the simulated API server does not start") from thread.problem
        made = certificate()
        yield Server(f"https://127.0.0.1:{thread.port}", made.fingerprint, made.pem, thread.port)
    finally:
        thread.stop()
        thread.join()


class _Thread(threading.Thread):
    def __init__(self, world: Proxmox, node: str, port: int) -> None:
        super().__init__(name=f"proxmox-{node}", daemon=True)
        self.world = world
        self.node = node
        self.port = port
        self.ready = threading.Event()
        self.problem: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as problem:  # told to whoever waits for the server
            self.problem = problem
        finally:
            self.ready.set()

    def stop(self) -> None:
        if self._loop and self._over:
            with suppress(RuntimeError):  # the loop is closed already
                self._loop.call_soon_threadsafe(self._over.set)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(_ignore_hung_up)
        self._over = asyncio.Event()
        server = await asyncio.start_server(
            self._connection, "127.0.0.1", self.port, ssl=certificate().context, limit=LARGEST_HEAD
        )
        self.port = server.sockets[0].getsockname()[1]
        self.ready.set()
        events = asyncio.create_task(self._events())
        await self._over.wait()
        server.close()
        events.cancel()  # connections end with the loop

    async def _events(self) -> None:
        """Events happen on time also between requests."""
        assert self._over is not None
        wake = asyncio.Event()
        loop = asyncio.get_running_loop()

        def changed() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(wake.set)

        agenda = self.world.agenda
        agenda.listeners.append(changed)
        try:
            # Python 3.11's wait_for swallows a cancellation that comes together with the event.
            while not self._over.is_set():
                wake.clear()
                with self.world.mutex:
                    agenda.run_due()
                    due = agenda.next_due()
                seconds = 1.0 if due is None else min(1.0, max(0.001, due - self.world.now()))
                with suppress(TimeoutError):
                    await asyncio.wait_for(wake.wait(), seconds)
        finally:
            agenda.listeners.remove(changed)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await read_head(reader)) is not None:
                given = await self._exchange(request, reader, writer)
                await _send(writer, given)
                if given.close or request.headers.get("connection", "").lower() == "close":
                    if given.unread:
                        await _linger(reader)
                    break
        except ConnectionLost:
            writer.transport.abort()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            with suppress(ConnectionError, OSError):
                writer.close()

    async def _exchange(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Answer:
        if request.headers.get("expect", "").lower() == "100-continue":
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            if request.is_upload:
                await read_upload(request, reader, self.world.folder)
            else:
                await read_body(request, reader)
        except Refused as refused:
            refusal = answer_refused(refused, self.world.major)
            refusal.unread = True
            return refusal
        return await answer(self.world, self.node, request)


def _ignore_hung_up(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A client that does not trust the certificate, or goes away, is no fault of the server."""
    if not isinstance(context.get("exception"), OSError):
        loop.default_exception_handler(context)


async def _send(writer: asyncio.StreamWriter, given: Answer) -> None:
    writer.write(given.head() + (given.body or b""))
    await writer.drain()


async def _linger(reader: asyncio.StreamReader) -> None:
    """Closing with something unread would reset the connection, and the client might lose the answer."""
    with suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(_LINGER):
            while await reader.read(65536):
                pass
