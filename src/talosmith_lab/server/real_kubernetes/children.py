"""Real programs that the lab runs: kept running while they should, and never left behind.

The kernel ends them with the lab where it can (Linux). Elsewhere, and whatever else went wrong, the next start ends
what an earlier one has left: it is known by its number and by the folder that its command line names.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from talosmith import files
from talosmith.environment import for_children

_PR_SET_PDEATHSIG = 1
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 10.0
_GRACE = 5.0  # seconds in which a program that was asked to end must have

log = logging.getLogger(__name__)

Arguments = Callable[[], Sequence[str]]


class Child:
    """`arguments` is asked at each start: ports may have been taken by another process meanwhile."""

    def __init__(
        self, name: str, folder: Path, program: Path, arguments: Arguments, *, graceful: bool = False
    ) -> None:
        self.name = name
        self._folder = folder
        self._program = program
        self._arguments = arguments
        self._graceful = graceful
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def runs(self) -> bool:
        return self._task is not None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._keep_running())

    async def stop(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._task = None
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            await _end(process, self._graceful)

    async def _keep_running(self) -> None:
        pause = _FIRST_PAUSE
        loop = asyncio.get_running_loop()
        while True:
            began = loop.time()
            try:
                self._process = await self._spawn()
                code = await self._process.wait()
                log.warning("%s ended with %s; see %s", self.name, code, self._log_file)
            except OSError as problem:
                log.warning("%s cannot be started: %s", self.name, problem)
            pause = _FIRST_PAUSE if loop.time() - began > _LONGEST_PAUSE else min(_LONGEST_PAUSE, pause * 2)
            await asyncio.sleep(pause)

    async def _spawn(self) -> asyncio.subprocess.Process:
        descriptor = os.open(self._log_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            process = await asyncio.create_subprocess_exec(
                str(self._program),
                *self._arguments(),
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                cwd=self._folder,
                env=for_children(),
                preexec_fn=_ends_with_parent(),
            )
        finally:
            os.close(descriptor)
        files.replace_file(self._note, json.dumps({"pid": process.pid}).encode())
        return process

    @property
    def _log_file(self) -> Path:
        return self._folder / f"{self.name}.log"

    @property
    def _note(self) -> Path:
        return self._folder / f"{self.name}.pid"


def end_orphans(folder: Path) -> None:
    """Those that an earlier lab has left in this folder."""
    for note in folder.glob("*.pid"):
        with suppress(OSError, ValueError, KeyError):
            pid = int(json.loads(note.read_text(encoding="utf-8"))["pid"])
            if str(folder) in _command_line(pid):
                os.kill(pid, signal.SIGKILL)
        note.unlink(missing_ok=True)


def _command_line(pid: int) -> str:
    ps = shutil.which("ps")
    if ps is None:
        return ""
    asked = subprocess.run([ps, "-o", "args=", "-ww", "-p", str(pid)], capture_output=True, text=True, check=False)
    return asked.stdout


async def _end(process: asyncio.subprocess.Process, graceful: bool) -> None:
    with suppress(ProcessLookupError):
        if graceful:
            process.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _GRACE)
                return
        process.kill()
    await process.wait()


def _ends_with_parent() -> Callable[[], None] | None:
    """What the child does before it becomes the program; made beforehand, for there is little it may do there."""
    if sys.platform != "linux":
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()

    def ask_kernel() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it has ended before we could ask
            os._exit(1)

    return ask_kernel
