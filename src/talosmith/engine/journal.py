"""The journal: what every run has told, kept as evidence and for its timings. Never the truth about the cluster.

It is a listener like any other, and it is strict: what it cannot write down raises, and the runner then begins
nothing more. So a run that the journal knows nothing of does not exist.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from talosmith.engine.expected import medians
from talosmith.engine.journal_store import Store
from talosmith.errors import UsageError
from talosmith.events import Event

_RUNS_TO_LEARN_FROM = 20
_FIELDS = tuple(field.name for field in fields(Event))
_AFTERWORDS = 20  # how many notes may follow the end of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run in short. `finished` is None, and `outcome` empty, while it goes on and if it was killed."""

    id: int  # 1, 2, 3 … for each cluster
    operation: str
    cluster: str
    started: float
    finished: float | None = None
    outcome: str = ""  # done, failed, stopped
    steps: int = 0
    done: int = 0
    failed: int = 0
    left: int = 0


class Journal:
    """The journal in `folder`. Without `write` it is only read, and if there is none it is empty."""

    def __init__(self, folder: Path, *, write: bool = False) -> None:
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
        """The run that is being written down; 0 before it has begun."""
        return self._run

    # Writing

    def listener(self, event: Event) -> None:
        """What comes before a run begins is written down with it, or not at all if none does."""
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
            yield Event(kind="warning", at=at, text=f"{what} of the run before this one got lost, as in a power cut")

    # Reading

    def runs(self) -> list[RunRecord]:
        """All runs, the oldest first."""
        return [self._record(*run) for run in self._store.runs()]

    def events_of(self, run: int) -> list[Event]:
        for number, first, last in self._store.runs():
            if number == run:
                return list(self._events(number, first, last))
        raise UsageError(f"there is no run {run}", hint="`talosmith runs` lists those there are")

    def expected(self, cluster: str) -> Mapping[str, float]:
        """Seconds that a step took in earlier runs, by its kind (`plan.step.kind_of`); the median of the latest."""
        runs = [list(self._events(*run)) for run in self._store.runs()[-_RUNS_TO_LEARN_FROM:]]
        return medians([events for events in runs if events and events[0].data.get("cluster") == cluster])

    def _events(self, run: int, first: int, last: int) -> Iterator[Event]:
        return map(_decoded, self._store.bodies(run, first, last))

    def _record(self, run: int, first: int, last: int) -> RunRecord:
        (begin,) = self._events(run, first, first)
        end = [
            event for event in self._events(run, max(first, last - _AFTERWORDS), last) if event.kind == "run-finished"
        ]
        known: dict[str, Any] = {}
        if end:
            known = {name: len(end[-1].data.get(name, ())) for name in ("done", "failed", "left")}
            known.update(finished=end[-1].at, outcome=str(end[-1].data.get("outcome", "")))
        return RunRecord(
            id=run,
            operation=str(begin.data.get("operation", "")),
            cluster=str(begin.data.get("cluster", "")),
            started=begin.at,
            steps=len(begin.data.get("plan", ())),
            **known,
        )


def _encoded(event: Event) -> str:
    content = {name: getattr(event, name) for name in _FIELDS}
    return json.dumps(content, separators=(",", ":"), default=str)


def _decoded(body: bytes) -> Event:
    return Event(**json.loads(body))
