"""The exceptions that a step ended with, as one error that can be shown.

Only talosmith's own errors are shown with their text: that of any other exception may contain a secret. Of those, the
type and the place in the code are shown.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from pathlib import PurePath

from talosmith.errors import Permanent, TalosmithError, Temporary


class Internal(TalosmithError):
    """A bug in talosmith."""


class TimedOut(TalosmithError):
    """A step was not done within its limit. The message is what the step waited for."""


def explained(problem: BaseException) -> TalosmithError:
    """The one error to act on: of several, permanent ones count more than temporary ones."""
    return max(_leaves(problem), key=_weight)


def timed_out(limit: float, last: str, hint: str = "") -> TimedOut:
    what = last or "the step reported no progress"
    return TimedOut(
        f"{what} (not done within {_length(limit)})", hint=hint or "remove the cause, then run the same command again"
    )


def _leaves(problem: BaseException) -> Iterator[TalosmithError]:
    if isinstance(problem, BaseExceptionGroup):
        for one in problem.exceptions:
            yield from _leaves(one)
    elif isinstance(problem, TalosmithError):
        yield problem
    elif isinstance(problem, TimeoutError):
        yield Temporary("no answer in time")
    else:
        yield Internal(
            f"{type(problem).__name__} at {_place(problem)}",
            hint="this is a bug in talosmith; please report it. The command is safe to re-run",
        )


def _weight(error: TalosmithError) -> int:
    return 0 if isinstance(error, Temporary) else 1 if isinstance(error, Permanent) else 2


def _place(problem: BaseException) -> str:
    """The innermost line of talosmith's code, else of the library that was called."""
    frames = traceback.extract_tb(problem.__traceback__, limit=-50)
    ours = [frame for frame in frames if "talosmith" in PurePath(frame.filename).parts]
    for frame in reversed(ours or frames):
        return f"{'/'.join(PurePath(frame.filename).parts[-2:])}:{frame.lineno}"
    return "an unknown place"


def _length(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
