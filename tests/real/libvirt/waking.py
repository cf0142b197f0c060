"""Guests that hang are reset, as somebody who stands before the machine would do.

In software emulation a guest, mostly one with two CPUs, now and then never gets through its kernel. One that is only
slow gets on: its kernel writes to its console what it does. So a guest hangs if nothing was written there for long,
and it does not answer either.
"""

from __future__ import annotations

import asyncio
import time
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

from talosmith.providers.libvirt.connection import libvirt
from talosmith.providers.libvirt.domain import read
from tests.real.libvirt.daemon import Daemon

SILENCE = 150.0  # seconds; from one line to the next a guest takes one, on a busy host ten
_SOON, _SURELY = 5.0, 60.0  # seconds for an answer, where it is asked again and where not
_EVERY = 2.0


def ask(daemon: Daemon, address: str, seconds: float = _SOON) -> dict[str, str]:
    """What the guest says of itself; OSError if it does not."""

    def there() -> dict[str, str]:
        try:
            with urllib.request.urlopen(f"http://{address}/", timeout=seconds) as answer:
                return dict(line.strip().split(" ", 1) for line in answer.read().decode().splitlines())
        except HTTPException as cut_off:
            raise OSError(str(cut_off)) from None

    return daemon.in_network(there)


@dataclass
class Waking:
    daemon: Daemon
    # by a machine and the number of its start: how long its console was, and since when it is
    _seen: dict[tuple[str, int], tuple[int, float]] = field(default_factory=dict)

    def look(self, connection: Any) -> None:
        library = libvirt()
        for domain in connection.listAllDomains(library.VIR_CONNECT_LIST_DOMAINS_ACTIVE):
            with suppress(library.libvirtError, FileNotFoundError):  # some go while we look
                self._look_at(domain)

    def _look_at(self, domain: Any) -> None:
        described, now = read(domain.XMLDesc()), time.monotonic()
        length = self.daemon.seen(described.console).stat().st_size
        start = described.uuid, domain.ID()
        before, since = self._seen.get(start, (-1, now))
        if length != before:
            self._seen[start] = length, now
        elif now - since > SILENCE:
            self._seen[start] = length, now
            if not self._answers(described.address):
                domain.reset()

    def _answers(self, address: str) -> bool:
        try:
            return bool(ask(self.daemon, address, _SURELY))
        except OSError:
            return False


@asynccontextmanager
async def woken(daemon: Daemon) -> AsyncIterator[None]:
    """All guests of the host, as long as this lasts."""
    waking, connection = Waking(daemon), libvirt().open(daemon.uri)

    async def watch() -> None:
        while True:
            await asyncio.to_thread(waking.look, connection)
            await asyncio.sleep(_EVERY)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
