"""Runs of the past: which there were, found in the journals of all clusters of this user or of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from talosmith.engine.folder import clusters_folder
from talosmith.engine.journal import Journal, RunRecord
from talosmith.errors import TalosmithError, UsageError
from talosmith.events import Event
from talosmith.report.style import Style
from talosmith.report.table import table
from talosmith.report.words import duration, moment, one_line

_HEADER = ("RUN", "OPERATION", "STARTED", "TOOK", "OUTCOME", "STEPS", "FAILED", "LEFT")


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run and the folder of the journal that has it."""

    folder: Path
    record: RunRecord

    def named(self, clusters: int) -> str:
        """`12` where there is only one cluster to choose from, else `dev/12`."""
        return str(self.record.id) if clusters == 1 else f"{one_line(self.record.cluster)}/{self.record.id}"

    def as_data(self) -> dict[str, Any]:
        one = self.record
        return {
            "run": one.id,
            "cluster": one.cluster,
            "operation": one.operation,
            "started": one.started,
            "finished": one.finished,
            "outcome": one.outcome or "unfinished",
            "steps": one.steps,
            "done": one.done,
            "failed": one.failed,
            "left": one.left,
        }


def recorded(cluster: str | None = None) -> tuple[list[Recorded], list[TalosmithError]]:
    """The runs of one cluster, or of all, the oldest first; and what was wrong with journals that cannot be read."""
    found: list[Recorded] = []
    problems: list[TalosmithError] = []
    for folder in folders(cluster):
        try:
            with Journal(folder) as journal:
                found += [Recorded(folder, record) for record in journal.runs()]
        except TalosmithError as problem:
            problems.append(problem)
    return sorted(found, key=lambda one: (one.record.started, one.folder.name, one.record.id)), problems


def folders(cluster: str | None = None) -> list[Path]:
    """The state folders of one cluster (several if clusters of the same name were made anew), or of all."""
    try:
        every = sorted(path for path in clusters_folder().iterdir() if path.is_dir())
    except OSError:
        return []
    return [path for path in every if cluster is None or cluster in (path.name, path.name.rpartition("-")[0])]


def chosen(wanted: str, cluster: str | None = None) -> Recorded:
    """The run that `12`, `dev/12` or `last` means."""
    name, slash, number = wanted.rpartition("/")
    found, problems = recorded(name if slash else cluster)
    if number == "last" and found:
        return found[-1]
    if number != "last" and not (number.isascii() and number.isdigit()):
        raise UsageError(f"{one_line(wanted)!r} is not a run", hint="a number such as 12, dev/12, or `last`")
    fitting = [one for one in found if str(one.record.id) == number.lstrip("0")]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = [f"{one.folder.name}/{one.record.id}" for one in fitting]
        raise UsageError(f"there is more than one run {number}", hint=f"say which: {', '.join(names)}")
    if problems:
        raise problems[0]
    raise UsageError(f"there is no run {one_line(wanted)}", hint="`talosmith runs` lists those there are")


def events_of(run: Recorded) -> list[Event]:
    with Journal(run.folder) as journal:
        return journal.events_of(run.record.id)


def as_text(runs: Sequence[Recorded], style: Style) -> str:
    if not runs:
        return "no run was recorded here yet"
    clusters = len({one.folder for one in runs})
    rows = [_row(one, clusters) for one in runs]
    return "\n".join(_coloured(table(_HEADER, rows, style), runs, style))


def _row(run: Recorded, clusters: int) -> tuple[str, ...]:
    one = run.record
    took = "" if one.finished is None else duration(one.finished - one.started)
    return (
        run.named(clusters),
        one_line(one.operation),
        moment(one.started),
        took,
        one_line(one.outcome) or "unfinished",
        f"{one.done} of {one.steps}" if one.outcome else str(one.steps),
        str(one.failed or ""),
        str(one.left or ""),
    )


def _coloured(lines: Iterable[str], runs: Sequence[Recorded], style: Style) -> list[str]:
    header, *rows = lines
    colours: dict[str, Callable[[str], str]] = {"done": str, "failed": style.red}
    return [
        header,
        *(colours.get(run.record.outcome, style.yellow)(row) for run, row in zip(runs, rows, strict=True)),
    ]
