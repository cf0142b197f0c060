"""What is done to a talosmith process from inside, before its command begins: it is made to die or to wait there."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from talosmith import session
from talosmith.engine import runner
from talosmith.engine.attempts import Ended, StepAttempts
from talosmith.events import Event, Events, Listener
from talosmith.waiting import limited

_last_acts: list[Callable[[], None]] = []


def at_end() -> None:
    """Once the command is over, before anybody hears of it."""
    for act in _last_acts:
        act()


def kill_at(number: int, *, written: bool) -> None:
    """It dies by `kill -9` at the event of this number: before the journal has heard of it, or after all have."""
    heard = 0

    def listener(event: Event) -> None:
        nonlocal heard
        heard += 1
        if heard == number:
            os.kill(os.getpid(), signal.SIGKILL)

    _listen(listener, last=written)


def wait_at(
    kind: str, step: str, *, reached: str, go: str, warned: bool = False, trouble: Sequence[str] = ()
) -> None:
    """It writes the file `reached` at that event, and waits there, busy for all others, until there is a file `go`.

    With `warned`, it does the same once more at the next warning, with files whose names end with `2`. With
    `trouble`, limits are over from then on as `limits_over` tells.
    """

    def listener(event: Event) -> None:
        if event.kind == kind and event.step == step:
            wait(Path(reached), Path(go))
            _patience.trouble = tuple(trouble)
        if warned and event.kind == "warning":
            wait(Path(f"{reached}2"), Path(f"{go}2"))

    def wait(here: Path, until: Path) -> None:
        if not here.exists():
            here.write_text("")
            while not until.exists():
                time.sleep(0.005)

    if trouble:
        limits_over(())
    _listen(listener, last=True)


def limits_over(trouble: Sequence[str]) -> None:
    """The limits of all steps that run are over once one of them tells of the trouble and each has told something.

    So a limit may be long enough for any machine, and nobody waits for its end. A step tells of the trouble if its
    key or what it says has one of these words.
    """
    _patience.trouble = tuple(trouble)
    runner.StepAttempts = _Limited  # type: ignore[attr-defined,misc]
    _listen(_patience.hears, last=True)


class _Patience:
    """What steps that run have told, and their limits."""

    def __init__(self) -> None:
        self.trouble: tuple[str, ...] = ()
        self._told = False
        self._running: dict[str, limited] = {}
        self._heard: set[str] = set()

    def begins(self, step: str, limit: limited) -> None:
        self._running[step] = limit
        self._heard.discard(step)

    def ends(self, step: str) -> None:
        del self._running[step]
        self._look()

    def hears(self, event: Event) -> None:
        if event.kind in ("step-progress", "step-retrying"):
            self._heard.add(event.step)
            self._told = self._told or any(word in f"{event.step} {event.text}" for word in self.trouble)
            self._look()

    def _look(self) -> None:
        if self._told and self._running.keys() <= self._heard:
            for limit in self._running.values():
                limit.end()


_patience = _Patience()


class _Limited(StepAttempts):
    async def _repeat(self, limit: limited) -> Ended:
        _patience.begins(self._step.key, limit)
        try:
            return await super()._repeat(limit)
        finally:
            _patience.ends(self._step.key)


def _listen(listener: Listener, *, last: bool) -> None:
    told: type[Events] = session.Events  # type: ignore[attr-defined]

    class Overheard(told):  # type: ignore[misc,valid-type]
        def __init__(self, *listeners: Listener) -> None:
            super().__init__(*((*listeners, listener) if last else (listener, *listeners)))

    session.Events = Overheard  # type: ignore[attr-defined,misc]


def limit_files(size: int) -> None:
    """No file may grow beyond this many bytes; as with a full disk, writing fails. What is printed is no file."""
    import resource

    copiers: list[int] = []
    for number in (1, 2):
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(writing)
            while chunk := os.read(reading, 65536):
                os.write(number, chunk)
            os._exit(0)
        copiers.append(pid)
        os.dup2(writing, number)
        os.close(reading)
        os.close(writing)

    def all_is_written() -> None:
        os.closerange(1, 3)
        for pid in copiers:
            os.waitpid(pid, 0)

    _last_acts.append(all_is_written)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def measure_waits(told: str) -> None:
    """It writes down how many seconds it has waited for nothing but time to pass; a busy machine adds none."""
    waited = 0.0

    class Measuring(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            nonlocal waited
            found = super().select(timeout)
            if not found:
                waited += timeout or 0.0
            return found

    selectors.DefaultSelector = Measuring  # type: ignore[misc]

    def tell() -> None:
        Path(told).write_text(str(waited))

    _last_acts.append(tell)


def raise_in_step(name: str, text: str) -> None:
    """A step of this class ends with an exception that is not ours, and says this."""
    from talosmith.steps import etcd, files, first_config, kubernetes, machines, nodes

    async def run(self: object, context: Any, report: Any) -> None:
        raise RuntimeError(text)

    for module in (etcd, files, first_config, kubernetes, machines, nodes):
        if hasattr(module, name):
            getattr(module, name).run = run


def mount(kind: str, folder: str, options: str) -> None:
    """For this process alone: a file system over the folder (`tmpfs`), or the folder itself, read-only (`bind`)."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)

    def must(result: int) -> None:
        if result:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    bind, remount, read_only, private, recursive = 0x1000, 0x20, 0x1, 0x40000, 0x4000
    must(libc.unshare(0x20000))  # mounts of its own
    must(libc.mount(b"none", b"/", None, private | recursive, None))
    if kind == "tmpfs":
        must(libc.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, options.encode()))
    else:
        must(libc.mount(folder.encode(), folder.encode(), None, bind, None))
        must(libc.mount(b"none", folder.encode(), None, bind | remount | read_only, None))
