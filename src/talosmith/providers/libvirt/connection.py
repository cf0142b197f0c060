"""The connection to a host's libvirt: opened when it is needed, used from worker threads, opened again when it broke.

Everything that is done on the host goes through `Host.do`: one place that counts as one call, that turns libvirt's
errors into ours, and that tries once more what is safe to try again. Here, too, is all that moves bytes.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from talosmith.call_log import logged
from talosmith.errors import Permanent, Temporary
from talosmith.providers.libvirt.failures import GONE, Interrupted, code_of, failure
from talosmith.tasks import in_thread, stop_if_cancelled
from talosmith.waiting import retried

T = TypeVar("T")

_TRIES = 3
_AT_ONCE = 16  # calls of one host
_CHUNK = 256 * 1024
_ALIVE_EVERY, _ALIVE_TRIES = 5, 5  # seconds between signs of life, and how many may be missing


@cache
def libvirt() -> Any:
    """The library, or how to get it."""
    try:
        import libvirt as library
    except ImportError as missing:
        raise Permanent(
            f"libvirt's Python library is not installed: {missing}",
            hint="pip install 'talosmith[libvirt]'; it is built against libvirt's headers (Debian: libvirt-dev, "
            "pkg-config, gcc, python3-dev)",
        ) from None
    _start(library)
    return library


@cache
def _start(library: Any) -> None:
    """Silent, and with its event loop in a thread of its own: without one it notices no dead host."""
    library.registerErrorHandler(lambda *_: None, None)
    library.virEventRegisterDefaultImpl()

    def turn() -> None:
        while True:
            library.virEventRunDefaultImpl()

    threading.Thread(target=turn, name="libvirt events", daemon=True).start()


class Host:
    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._connection: Any = None
        self._opening = threading.Lock()
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def do(self, what: str, work: Callable[[Any], T], *, once: bool = False) -> T:
        """`work` gets the connection, in a thread. `once`: no retry if it may have been carried out."""

        def pause_after(attempt: int, wrong: Temporary) -> float | None:
            if isinstance(wrong, Interrupted):
                return None if once else 0.0
            return min(wrong.retry_after, 0.2 * attempt)

        async def perform() -> T:
            async with self._room:
                return await in_thread(lambda: self.perform(what, work))

        return await retried(perform, _TRIES, pause_after)

    def perform(self, what: str, work: Callable[[Any], T]) -> T:
        """One call, in this thread."""
        library = libvirt()
        try:
            with logged("libvirt", self.uri, what):
                return work(self._open())
        except library.libvirtError as error:
            raise failure(what, error) from None

    def _open(self) -> Any:
        with self._opening:
            if self._connection is not None and not self._connection.isAlive():
                self._connection = None
            if self._connection is None:
                self._connection = libvirt().open(self.uri)
                with suppress(libvirt().libvirtError):  # not every driver has it
                    self._connection.setKeepAlive(_ALIVE_EVERY, _ALIVE_TRIES)
            return self._connection

    async def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(libvirt().libvirtError):
                await in_thread(connection.close)

    # What is looked up by name or number; None if it does not exist

    def domain(self, connection: Any, name: str) -> Any:
        return found(lambda: connection.lookupByName(name))

    def domain_by_id(self, connection: Any, uuid: str) -> Any:
        return found(lambda: connection.lookupByUUIDString(uuid))

    def domains(self, connection: Any) -> list[Any]:
        return list(connection.listAllDomains())

    # Bytes

    def upload(self, connection: Any, volume: Any, parts: Iterator[bytes], length: int, offset: int = 0) -> None:
        """Holes stay holes: zeros are not sent."""
        library = libvirt()
        stream = connection.newStream()
        volume.upload(stream, offset, length, library.VIR_STORAGE_VOL_UPLOAD_SPARSE_STREAM)
        try:
            for part in parts:
                stop_if_cancelled()
                if part.count(0) == len(part):
                    stream.sendHole(len(part))
                    continue
                rest = memoryview(part)
                while rest:
                    sent = stream.send(bytes(rest))
                    rest = rest[sent:]
        except BaseException:
            with suppress(library.libvirtError):
                stream.abort()
            raise
        stream.finish()

    def download(self, connection: Any, volume: Any, offset: int = 0, length: int = 0) -> bytes:
        """`length` 0: to the end."""
        library = libvirt()
        stream = connection.newStream()
        volume.download(stream, offset, length)
        read = bytearray()
        try:
            while part := stream.recv(_CHUNK):
                read += part
        except BaseException:
            with suppress(library.libvirtError):
                stream.abort()
            raise
        stream.finish()
        return bytes(read)


def found(look: Callable[[], T]) -> T | None:
    try:
        return look()
    except libvirt().libvirtError as error:
        if code_of(error) in GONE:
            return None
        raise


def chunks(read: Callable[[int], bytes], size: int = _CHUNK) -> Iterator[bytes]:
    while part := read(size):
        yield part
