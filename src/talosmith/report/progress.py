"""A run at a terminal: a line per node with its phase and what it waits for, kept up to date in place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TextIO

from talosmith.events import Event, Listener
from talosmith.report.follow import RunSeen
from talosmith.report.painter import Painter, Size, can_move
from talosmith.report.plain import PlainLines
from talosmith.report.progress_lines import final_picture, picture
from talosmith.report.style import Line

_FRAMES_PER_SECOND = 10.0
_SHARE = 0.05  # of the time at most goes into painting, however many nodes there are


@contextmanager
def watching(stream: TextIO, *, simulated: bool = False) -> Iterator[Listener]:
    """The listener that suits the stream: in motion at a terminal, plain lines in CI and pipes.

    `simulated`: machines are a lab's, and take as long as those where no earlier run has shown it.
    """
    if can_move(stream):
        with Progress(stream, simulated=simulated) as progress:
            yield progress
    else:
        with PlainLines(stream) as lines:
            yield lines


class Progress:
    """A listener and a context manager. A thread of its own keeps the clocks going between events.

    Whatever happens to the terminal (it is closed, for one), the run goes on.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        clock: Callable[[], float] = time.time,
        size: Size | None = None,
        moves: bool = True,
        simulated: bool = False,
    ) -> None:
        self._simulated = simulated
        self.run = RunSeen()
        self.clock = clock
        self._painter = Painter(stream, size)
        self._lock = threading.Lock()
        self._above: list[Line] = []
        self._frame = 0
        self._broken = self._settled = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on, name="progress", daemon=True) if moves else None

    def __enter__(self) -> Progress:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._settle()

    def __call__(self, event: Event) -> None:
        with self._lock:
            self.run.take(event)
            if event.kind == "warning":
                self._above.append([("yellow", "warning:"), ("", f" {self.run.remarks[-1][1]}")])
            elif event.kind == "note":
                self._above.append([("cyan", "note:"), ("", f" {self.run.remarks[-1][1]}")])
        if event.kind == "run-finished":
            self._settle()

    def paint(self) -> None:
        """One frame."""
        with self._lock:
            if self._settled:
                return
            columns, rows = self._painter.size()
            lines: list[Line] = []
            if self.run.began is not None:
                lines = picture(
                    self.run,
                    self.clock(),
                    height=max(rows - 1, 2),
                    width=columns,
                    frame=self._frame,
                    simulated=self._simulated,
                )
            self._frame += 1
            if lines or self._above:
                self._put(lines)

    def _settle(self) -> None:
        """The last picture, which stays."""
        with self._lock:
            if self._settled:
                return
            self._settled = True
            for line in final_picture(self.run):
                self._above.append(line)
            if self._above or self.run.began is not None:
                self._put([])

    def _put(self, lines: list[Line]) -> None:
        if self._broken:
            return
        try:
            self._painter.paint(lines, self._above)
        except (OSError, ValueError):  # gone, or closed
            self._broken = True
        self._above = []

    def _go_on(self) -> None:
        pause = 1 / _FRAMES_PER_SECOND
        while not self._over.wait(pause):
            begin = time.perf_counter()
            self.paint()
            pause = max(1 / _FRAMES_PER_SECOND, (time.perf_counter() - begin) / _SHARE)
