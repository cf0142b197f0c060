"""A load balancer before the control planes, as real clusters without a VIP have one: TCP, the first that answers."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

PORT = 6443
_CONNECT = 2.0


@contextmanager
def balancer(address: str, nodes: Sequence[str]) -> Iterator[str]:
    """Listens at `address` while this lasts; the Kubernetes endpoint."""
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(lambda *pair: _serve(*pair, nodes), address, PORT))
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield f"https://{address}:{PORT}"
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.close()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, nodes: Sequence[str]) -> None:
    for node in nodes:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_CONNECT):
                there, back = await asyncio.open_connection(node, PORT)
            with contextlib.suppress(asyncio.CancelledError):  # at the end, when nobody asks for the result
                await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))
            return
    writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()
