"""What is done to a talosmith process from inside, before its command begins: it is made to die or to wait there."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from talosmith import session
from talosmith.events import Event, Events, Listener


def kill_at(number: int, *, written: bool) -> None:
    """It dies by `kill -9` at the event of this number: before the journal has heard of it, or after all have."""
    heard = 0

    def listener(event: Event) -> None:
        nonlocal heard
        heard += 1
        if heard == number:
            os.kill(os.getpid(), signal.SIGKILL)

    _listen(listener, last=written)


def wait_at(kind: str, step: str, *, reached: str, go: str, warned: bool = False) -> None:
    """It writes the file `reached` at that event, and waits there, busy for all others, until there is a file `go`.

    With `warned`, it does the same once more at the next warning, with files whose names end with `2`.
    """

    def listener(event: Event) -> None:
        if event.kind == kind and event.step == step:
            wait(Path(reached), Path(go))
        if warned and event.kind == "warning":
            wait(Path(f"{reached}2"), Path(f"{go}2"))

    def wait(here: Path, until: Path) -> None:
        if not here.exists():
            here.write_text("")
            while not until.exists():
                time.sleep(0.005)

    _listen(listener, last=True)


def _listen(listener: Listener, *, last: bool) -> None:
    class Overheard(Events):
        def __init__(self, *listeners: Listener) -> None:
            super().__init__(*((*listeners, listener) if last else (listener, *listeners)))

    session.Events = Overheard  # type: ignore[attr-defined,misc]


def limit_files(size: int) -> None:
    """No file may grow beyond this many bytes; as with a full disk, writing fails. What is printed is no file."""
    import resource

    for number in (1, 2):
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.close(writing)
            while chunk := os.read(reading, 65536):
                os.write(number, chunk)
            os._exit(0)
        os.dup2(writing, number)
        os.close(reading)
        os.close(writing)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def raise_in_step(name: str, text: str) -> None:
    """A step of this class ends with an exception that is not ours, and says this."""
    from talosmith.steps import etcd, files, kubernetes, machines, nodes

    async def run(self: object, context: Any, report: Any) -> None:
        raise RuntimeError(text)

    for module in (etcd, files, kubernetes, machines, nodes):
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
