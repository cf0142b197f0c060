"""CPU seconds and memory of a command, and the table they are printed in."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    cpu: float  # seconds, user and system
    mib: float  # the most memory it had at once
    seconds: float = 0.0  # by the clock on the wall
    said: str = ""


def command(arguments: list[str | Path], *, runs: int = 5, environment: dict[str, str] | None = None) -> Cost:
    """The cheapest of several runs: other work on the machine only ever adds."""
    return min((_once(arguments, environment) for _ in range(runs)), key=lambda cost: cost.cpu)


def python(code: str, *, runs: int = 3) -> Cost:
    return command([sys.executable, "-c", code], runs=runs)


def _once(arguments: list[str | Path], environment: dict[str, str] | None) -> Cost:
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            [str(argument) for argument in arguments],
            stdout=output,
            stderr=output,
            env=os.environ | (environment or {}),
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read().decode(errors="replace")
    if process.returncode:
        raise RuntimeError(f"{arguments[0]} ended with {process.returncode}: {said[-2000:]!r}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, seconds, said)


@dataclass(frozen=True)
class Result:
    """One line: what was measured, and whether it is within what we promise."""

    what: str
    figures: str
    value: float
    limit: float
    at_least: bool = False

    @property
    def kept(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def __str__(self) -> str:
        mark, sign = ("ok  " if self.kept else "OVER"), "≥" if self.at_least else "≤"
        return f"{mark} {self.what:<52} {self.value:8.2f} {sign} {self.limit:<7g} {self.figures}"
