"""Every error talosmith raises on purpose: what happened, how to go on, and the exit code it ends with.

Anything else that escapes is a bug of ours. Work on the network speaks in two words: `Temporary` (trying again may
help) and `Permanent` (it will not).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal


class ExitCode(IntEnum):
    """The codes of DESIGN §6; scripts rely on them."""

    DONE = 0
    FAILED = 1
    CHANGES_PENDING = 2
    RESUMABLE = 3
    LOCK_HELD = 4
    UNHEALTHY = 5
    BLOCKED = 6  # a plan that must not be run
    USAGE = 64
    BAD_INVENTORY = 65
    INTERRUPTED = 130
    READER_GONE = 141  # as if ended by SIGPIPE: `talosmith show | head`


Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing to say about one place in the inventory."""

    severity: Severity
    what: str
    why: str = ""
    fix: str = ""
    file: str = ""
    line: int = 0  # from 1; 0: the file as a whole
    column: int = 0
    source: str = ""  # the line itself, secrets masked

    @property
    def place(self) -> str:
        return ":".join([self.file, *(str(number) for number in (self.line, self.column) if number)])

    def sentence(self) -> str:
        text = f"{self.place}: " if self.file else ""
        text += f"{self.severity}: {self.what}"
        return "; ".join([text, *(part for part in (self.why, self.fix) if part)])


class TalosmithError(Exception):
    """The family. `str(error)` says what happened, `hint` what to do about it."""

    exit_code = ExitCode.FAILED

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


class UsageError(TalosmithError):
    """The command was called in a way it cannot be meant."""

    exit_code = ExitCode.USAGE


def no_such(what: str, name: str, known: Iterable[str], *, otherwise: str = "") -> UsageError:
    """A name that does not exist; the closest known name is the hint."""
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    return UsageError(f"{what} `{name}` does not exist", hint=f"did you mean `{close[0]}`?" if close else otherwise)


class InventoryError(TalosmithError):
    """The inventory is wrong; carries every problem found, warnings and notes too."""

    exit_code = ExitCode.BAD_INVENTORY

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        wrong = [problem for problem in self.problems if problem.severity == "error"]
        super().__init__("\n".join(problem.sentence() for problem in wrong))


class SecretsError(TalosmithError):
    """Secrets cannot be read, proven or written. The message never holds a secret value."""


class Temporary(TalosmithError):
    """Something did not work now; trying again may."""

    def __init__(self, what: str, *, hint: str = "", retry_after: float = 1.0) -> None:
        super().__init__(what, hint=hint)
        self.retry_after = retry_after


class Permanent(TalosmithError):
    """Something did not work, and trying again will not change that."""


class PlanBlocked(Permanent):
    """A plan that must not be run; the plan names each cause with what helps."""

    exit_code = ExitCode.BLOCKED
