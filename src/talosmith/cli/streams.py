"""The standard streams as commands use them: open, able to encode any text, with one way to fail.

A reader that closed the pipe (`| head`) ends the command silently, as SIGPIPE does; a full disk is one line on
stderr. A stderr that fails never changes the exit code. Out of memory is one line on stderr, too.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from talosmith.errors import ExitCode
from talosmith.report.style import Style


class OutputLost(Exception):
    """stdout cannot be written to."""

    def __init__(self, wrong: OSError) -> None:
        super().__init__(f"cannot write to stdout: {wrong.strerror or wrong}")
        self.reader_closed = wrong.errno == errno.EPIPE


class _Stdout(io.TextIOWrapper):
    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError as wrong:
            raise OutputLost(wrong) from None

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as wrong:
            raise OutputLost(wrong) from None


class _Stderr(io.TextIOWrapper):
    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            return


def put(stream: TextIO, text: str) -> None:
    """Write lines to stdout or stderr, with control characters escaped: all text for people goes this way."""
    stream.write(Style(stream).fit(text) + "\n")


def guarded(work: Callable[[], int]) -> int:
    """Run a command and return its exit code; stdout is flushed."""
    try:
        _prepare()
        code = work()
        sys.stdout.flush()
    except (OutputLost, MemoryError) as problem:
        return _ended(problem)
    except BaseExceptionGroup as group:
        found = group.subgroup((OutputLost, MemoryError))
        if found is None:
            raise
        return _ended(found)
    except (OSError, ImportError) as problem:
        if "allocate memory" not in str(problem):
            raise
        return _ended(MemoryError())
    return code


def _prepare() -> None:
    """Open closed streams on /dev/null: otherwise the next file that is opened gets their descriptor."""
    closed = [number for number in range(3) if not _is_open(number)]
    for _ in closed:
        os.open(os.devnull, os.O_RDWR)
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    sys.stderr = _rewrapped(_Stderr, 2, sys.stderr)
    if sys.stdout is None or 1 in closed:
        sys.stdout = _rewrapped(_Stdout, 1, None)
        raise OutputLost(OSError(errno.EBADF, f"closed ({os.strerror(errno.EBADF)})"))
    sys.stdout = _rewrapped(_Stdout, 1, sys.stdout)


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _rewrapped(kind: type[io.TextIOWrapper], number: int, before: TextIO | None) -> io.TextIOWrapper:
    """The same stream as `kind`; characters that its encoding lacks are escaped."""
    if not isinstance(before, io.TextIOWrapper):
        return kind(io.FileIO(number, "w", closefd=False), encoding="utf-8", errors="backslashreplace")
    return kind(
        before.detach(),
        encoding=before.encoding,
        errors="backslashreplace",
        line_buffering=before.line_buffering,
        write_through=before.write_through,
    )


def _ended(problem: BaseException) -> int:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    if not isinstance(problem, OutputLost):
        with suppress(OSError):
            os.write(2, b"error: out of memory; free some, the command is safe to re-run\n")
        return ExitCode.FAILED
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # for the flush at the end of Python
    if problem.reader_closed:
        return ExitCode.READER_GONE
    put(sys.stderr, f"{Style(sys.stderr).red('error:')} {problem}")
    return ExitCode.FAILED
