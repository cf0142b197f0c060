"""A run's events, and journals made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from talosmith.engine.journal import Journal
from talosmith.events import Event

MANY = 2000


def told_by(run: int) -> list[Event]:
    """The same ones each time; `run` only moves their times."""
    at = 1_790_000_000.25 + 100 * (run - 1)
    steps = {f"node/{name}/config": {"title": "apply its config", "needs": []} for name in ("cp-1", "cp-2", "w-1")}
    events = [Event(kind="run-started", at=at, data={"operation": "up", "cluster": "demo", "plan": steps})]
    for number, key in enumerate(list(steps)[:2]):
        node = key.split("/")[1]
        events.append(Event(kind="step-started", at=at + number, step=key, subject=node))
        events.append(Event(kind="step-progress", at=at + number, step=key, subject=node, text="waits – für etwas"))
        events.append(Event(kind="step-done", at=at + number + 0.1, step=key, subject=node, data={"changed": True}))
    data = {"outcome": "stopped", "done": list(steps)[:2], "failed": [], "left": list(steps)[2:]}
    return [*events, Event(kind="run-finished", at=at + 10, data=data)]


def record(folder: Path, events: list[Event] | None = None) -> None:
    with Journal(folder, write=True) as journal:
        for event in told_by(1) if events is None else events:
            journal.listener(event)


def recorded(folder: Path) -> list[list[Event]]:
    """All that is there, proven by reading all of it."""
    with Journal(folder) as journal:
        return [journal.events_of(run.number) for run in journal.runs()]


def lines_of(event: Event) -> list[Any]:
    return [event.kind, event.at, event.step, event.subject, event.text, dict(event.data)]


def content_of(folder: Path) -> dict[str, bytes]:
    """The files as `kill -9` would leave them now; the index of the log is made anew in any case."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.endswith("-shm")}


def put(folder: Path, content: dict[str, bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, data in content.items():
        (folder / name).write_bytes(data)
    return folder
