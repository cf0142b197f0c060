"""Follows a run of another process by its journal, until it ends: the same events, for the same listeners."""

from __future__ import annotations

import time
from collections.abc import Callable

from talosmith.engine.journal import Journal
from talosmith.errors import ExitCode
from talosmith.events import Event, Listener
from talosmith.report.runs import Recorded, outcome_of

_PAUSE = 0.25  # seconds between two looks into the journal
_EXIT_CODES = {"done": ExitCode.DONE, "failed": ExitCode.FAILED}  # of runs whose journal does not have the code


def follow(run: Recorded, listener: Listener, *, pause: Callable[[float], None] = time.sleep) -> ExitCode:
    """Pass all events of the run to `listener`, from the first on; its exit code once it has ended.

    A run that was killed can be resumed.
    """
    seen = 0
    with Journal(run.state_folder) as journal:
        while True:
            alive = outcome_of(run.state_folder, run.record) == "running"  # before reading: nothing is missed
            events = journal.events_of(run.record.number, after=seen)
            seen += len(events)
            for event in events:
                listener(event)
            ends = [event for event in events if event.kind == "run-finished"]
            if ends:
                return exit_code(ends[-1])
            if not alive:
                return ExitCode.RESUMABLE
            pause(_PAUSE)


def exit_code(end: Event) -> ExitCode:
    """The exit code of a run, by its `run-finished` event."""
    try:
        return ExitCode(int(end.data["exit_code"]))
    except (KeyError, ValueError, TypeError):
        return _EXIT_CODES.get(str(end.data.get("outcome")), ExitCode.RESUMABLE)
