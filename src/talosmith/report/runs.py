"""Runs of one cluster or of all clusters, read from their journals: the list, and the choice of one run.

A run belongs to one cluster (name and id) and to the inventory folder that it was started with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from talosmith.engine.folder import clusters_folder
from talosmith.engine.journal import Journal, RunRecord
from talosmith.engine.lock import ClusterLock
from talosmith.errors import TalosmithError, UsageError
from talosmith.events import Event
from talosmith.report.style import Style
from talosmith.report.table import table
from talosmith.report.text import duration, local_time, one_line, rfc3339

# What a journal and a lock together say of a run. `unknown`: its end is not recorded, and the lock was written by a
# process that cannot be seen from here.
Outcome = Literal["done", "failed", "stopped", "running", "killed", "unknown"]

_LIST = "list all runs with `talosmith runs --all`"


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run and the state folder whose journal has it."""

    state_folder: Path
    record: RunRecord
    outcome: Outcome

    def identity(self) -> dict[str, Any]:
        """Which run, of which cluster, and how it ended; without the counts."""
        one = self.record
        return {
            "run": one.id,
            "cluster": one.cluster,
            "folder": one.folder,
            "operation": one.operation,
            "started": rfc3339(one.started),
            "finished": None if one.finished is None else rfc3339(one.finished),
            "outcome": self.outcome,
        }

    def as_data(self) -> dict[str, Any]:
        one = self.record
        counts = {"steps": one.steps, "done": one.done, "failed": one.failed, "left": one.left}
        return {**self.identity(), **counts}


def recorded(state_folder: Path | None = None) -> tuple[list[Recorded], list[TalosmithError]]:
    """All runs of the cluster with this state folder, or of all clusters, oldest first; and what cannot be read."""
    found: list[Recorded] = []
    problems: list[TalosmithError] = []
    for folder in all_state_folders() if state_folder is None else [state_folder]:
        try:
            with Journal(folder) as journal:
                found += [Recorded(folder, record, outcome_of(folder, record)) for record in journal.runs()]
        except TalosmithError as problem:
            problems.append(problem)
    return sorted(found, key=lambda one: (one.record.started, one.state_folder.name, one.record.number)), problems


def all_state_folders() -> list[Path]:
    try:
        return sorted(path for path in clusters_folder().iterdir() if path.is_dir())
    except OSError:
        return []


def outcome_of(state_folder: Path, record: RunRecord) -> Outcome:
    """The recorded outcome; without one, whether the process that holds the cluster's lock still runs it.

    A holder that acquired the lock after the run had started is another process: the run was killed before.
    """
    if record.outcome in ("done", "failed", "stopped"):
        return record.outcome  # type: ignore[return-value]
    lock = ClusterLock(state_folder, "")
    try:
        holder = lock.holder()
        if holder is None or holder.since > record.started:
            return "killed"
        liveness = lock.liveness(holder)
    except (TalosmithError, OSError):
        return "unknown"
    return "running" if liveness == "alive" else "killed" if liveness == "dead" else "unknown"


def latest(state_folder: Path | None = None) -> Recorded:
    found, problems = recorded(state_folder)
    if found:
        return found[-1]
    raise problems[0] if problems else UsageError("no run is recorded", hint=_LIST)


def chosen(wanted: str) -> Recorded:
    """The run with this id, or with the one id that starts or ends so: `20261116-2324-7f3a`, `7f3a`."""
    found, problems = recorded()
    ids = {one.record.id: one for one in found}
    fitting = [one for id_, one in ids.items() if wanted and (id_.startswith(wanted) or id_.endswith(wanted))]
    if wanted in ids:
        return ids[wanted]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(one.record.id for one in fitting[-5:])
        raise UsageError(
            f"{len(fitting)} runs match {one_line(wanted)!r}", hint=f"pass the whole id, such as {names}"
        )
    if problems:
        raise problems[0]
    raise UsageError(f"run {one_line(wanted)!r} does not exist", hint=_LIST)


def events_of(run: Recorded) -> list[Event]:
    with Journal(run.state_folder) as journal:
        return journal.events_of(run.record.number)


def headline(run: Recorded, style: Style) -> str:
    """`run 20261116-2324-7f3a: up dev, running since 2026-11-16 23:24 (~/clusters/dev)`"""
    one = run.record
    state = f"{run.outcome} since" if run.outcome == "running" else f"{run.outcome}, started"
    folder = f" ({_short(one_line(one.folder))})" if one.folder else ""
    what = f"{one_line(one.operation)} {one_line(one.cluster)}"
    return f"{style.bold(f'run {one.id}:')} {what}, {state} {local_time(one.started)}{folder}"


def as_text(runs: Sequence[Recorded], style: Style, *, width: int = 0, every: bool = False) -> str:
    """One line for each run; `every` adds cluster and folder, cut to `width` columns (0: not cut)."""
    if not runs:
        return "no run is recorded"
    rows = [_row_of_all(one) for one in runs] if every else [_row(one) for one in runs]
    if every:
        header: tuple[str, ...] = ("RUN", "CLUSTER", "OPERATION", "OUTCOME", "TOOK", "FOLDER")
        rows = _cut_last(header, rows, width)
    else:
        header = ("RUN", "OPERATION", "STARTED", "TOOK", "OUTCOME", "STEPS")
    return "\n".join(_coloured(table(header, rows, style), runs, style))


def _row(run: Recorded) -> tuple[str, ...]:
    one = run.record
    steps = f"{one.done}/{one.steps}" if one.finished is not None else str(one.steps)
    return (one.id, one_line(one.operation), local_time(one.started), _took(run), run.outcome, steps)


def _row_of_all(run: Recorded) -> tuple[str, ...]:
    one = run.record
    return (
        one.id,
        one_line(one.cluster),
        one_line(one.operation),
        run.outcome,
        _took(run),
        _short(one_line(one.folder)),
    )


def _took(run: Recorded) -> str:
    if run.outcome == "running":
        return duration(time.time() - run.record.started)
    return "" if run.record.finished is None else duration(run.record.finished - run.record.started)


def _short(folder: str) -> str:
    home = str(Path.home())
    return f"~{folder.removeprefix(home)}" if folder == home or folder.startswith(f"{home}/") else folder


def _cut_last(header: Sequence[str], rows: list[tuple[str, ...]], width: int) -> list[tuple[str, ...]]:
    """The end of a folder's path says more than its beginning."""
    room = width - sum(2 + max(len(header[at]), *(len(row[at]) for row in rows)) for at in range(len(header) - 1))
    if not width or room < 8:
        return rows
    return [(*row[:-1], row[-1] if len(row[-1]) <= room else f"…{row[-1][1 - room :]}") for row in rows]


def _coloured(lines: Iterable[str], runs: Sequence[Recorded], style: Style) -> list[str]:
    header, *rows = lines
    colours: dict[str, Callable[[str], str]] = {"done": str, "failed": style.red, "running": style.cyan}
    return [header, *(colours.get(run.outcome, style.yellow)(row) for run, row in zip(runs, rows, strict=True))]
