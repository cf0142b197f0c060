"""The event loop of all labs of a test process that stand behind machines of a simulated provider."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from tests.waiting import PATIENCE

T = TypeVar("T")


class LabLoop(threading.Thread):
    """The event loop of all labs of this process."""

    def __init__(self) -> None:
        super().__init__(name="labs", daemon=True)
        self.loop = asyncio.new_event_loop()

    def run(self) -> None:
        self.loop.run_forever()
        self.loop.close()

    def result(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self.loop)
        return future.result(PATIENCE)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.join()
