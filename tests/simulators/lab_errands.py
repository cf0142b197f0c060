"""What simulators ask of a lab: they call from threads of their own, and the lab acts in its event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from talosmith_lab.server.lab import LabServer


@dataclass
class LabErrands:
    lab: LabServer
    loop: asyncio.AbstractEventLoop
    version: str
    problems: list[str] = field(default_factory=list, kw_only=True)  # of the lab, which cannot report them otherwise

    def _soon(self, act: Callable[[], object]) -> None:
        def guarded() -> None:
            try:
                act()
            except Exception as problem:
                self.problems.append(f"{type(problem).__name__}: {problem}")

        self.loop.call_soon_threadsafe(guarded)

    def settle(self) -> None:
        """When the lab has done all that the simulator has asked for so far."""
        done = threading.Event()
        self.loop.call_soon_threadsafe(done.set)
        assert done.wait(60), "the lab's event loop is stuck"
