"""The journal: the events of every run, kept as evidence and for step durations. Never a source of cluster state.

It is a listener like any other, and it is strict: a failed write raises, and the runner then starts no further step.
So there is no run without a journal entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from talosmith.engine.expected import medians
from talosmith.engine.folder import clusters_folder
from talosmith.engine.journal_store import Store
from talosmith.engine.run_id import derived_run_id
from talosmith.errors import TalosmithError, UsageError
from talosmith.events import Event

_RUNS_TO_LEARN_FROM = 20
_FIELDS = tuple(field.name for field in fields(Event))
_NOTES_AFTER_END = 20  # how many notes may follow the end of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """Summary of a run. `finished` is None, and `outcome` empty, while it is in progress and if it was killed."""

    id: str  # such as 20261116-2324-7f3a, unique among all clusters
    number: int  # 1, 2, 3 … in this journal
    operation: str
    cluster: str
    folder: str = ""  # of the inventory; empty in journals of earlier versions
    started: float
    finished: float | None = None
    outcome: str = ""  # done, failed, stopped
    steps: int = 0
    done: int = 0
    failed: int = 0
    left: int = 0


class Journal:
    """The journal in `folder`. Without `write` it is only read; a journal that does not exist is empty."""

    def __init__(self, folder: Path, *, write: bool = False) -> None:
        self._name = folder.name
        self._store = Store(folder, write=write)
        self._run = 0
        self._early: list[Event] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._store.close()

    @property
    def lost(self) -> int:
        """How many entries are missing at the end of a run that was cut short, as after a power cut."""
        return self._store.lost

    @property
    def run(self) -> int:
        """Number of the run that is being recorded; 0 before the run has started."""
        return self._run

    # Writing

    def listener(self, event: Event) -> None:
        """Record an event. Events before the start of a run are recorded with the run, or not at all without one."""
        if event.kind == "run-started":
            runs = self._store.runs()
            self._run = runs[-1][0] + 1 if runs else 1
            early = [*self._missing(event.at), *self._early]
            self._store.append(self._run, _encoded(event), begins=True, durable=True)
            for one in early:
                self._store.append(self._run, _encoded(one))
            self._early.clear()
        elif self._run:
            self._store.append(self._run, _encoded(event), durable=event.kind == "run-finished")
        else:
            self._early.append(event)

    def _missing(self, at: float) -> Iterator[Event]:
        lost = self._store.take_lost()
        if lost:
            what = "1 entry" if lost == 1 else f"{lost} entries"
            yield Event(kind="warning", at=at, text=f"{what} of the previous run got lost, as in a power cut")

    # Reading

    def runs(self) -> list[RunRecord]:
        """All runs, the oldest first."""
        return [self._record(*run) for run in self._store.runs()]

    def events_of(self, number: int, *, after: int = 0) -> list[Event]:
        """All events of a run, in order; of a run in progress those so far. `after`: without the first ones."""
        for run, first, last in self._store.runs():
            if run == number:
                return list(self._events(run, first + after, last)) if first + after <= last else []
        raise UsageError(f"run {number} does not exist", hint="list all runs with `talosmith runs --all`")

    def expected(self, cluster: str) -> Mapping[str, float]:
        """Seconds that steps took in earlier runs, by kind (`plan.step.kind_of`): the median of the latest runs."""
        runs = [list(self._events(*run)) for run in self._store.runs()[-_RUNS_TO_LEARN_FROM:]]
        return medians([events for events in runs if events and events[0].data.get("cluster") == cluster])

    def _events(self, run: int, first: int, last: int) -> Iterator[Event]:
        return map(_decoded, self._store.bodies(run, first, last))

    def _record(self, run: int, first: int, last: int) -> RunRecord:
        (begin,) = self._events(run, first, first)
        end = [
            event
            for event in self._events(run, max(first, last - _NOTES_AFTER_END), last)
            if event.kind == "run-finished"
        ]
        known: dict[str, Any] = {}
        if end:
            known = {name: len(end[-1].data.get(name, ())) for name in ("done", "failed", "left")}
            known.update(finished=end[-1].at, outcome=str(end[-1].data.get("outcome", "")))
        return RunRecord(
            id=str(begin.data.get("run") or derived_run_id(begin.at, self._name, run)),
            number=run,
            folder=str(begin.data.get("folder", "")),
            operation=str(begin.data.get("operation", "")),
            cluster=str(begin.data.get("cluster", "")),
            started=begin.at,
            steps=len(begin.data.get("plan", ())),
            **known,
        )


def names_with_runs(owner_id: str) -> dict[str, float]:
    """Names of clusters with this id, and when the last run of each started; without those that were destroyed."""
    found: dict[str, float] = {}
    for folder in sorted(clusters_folder().glob(f"*-{owner_id}")):
        try:
            with Journal(folder) as journal:
                last = journal.runs()[-1:]
        except TalosmithError:
            continue
        if last and (last[0].operation, last[0].outcome) != ("destroy", "done"):
            found[folder.name.removesuffix(f"-{owner_id}")] = last[0].started
    return found


def _encoded(event: Event) -> str:
    content = {name: getattr(event, name) for name in _FIELDS}
    return json.dumps(content, separators=(",", ":"), default=str)


def _decoded(body: bytes) -> Event:
    return Event(**json.loads(body))
