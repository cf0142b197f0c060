"""The one stream of events: all that a run reports, to every listener.

Terminal, JSON lines, journal, timeline and tests are listeners. An event never carries a secret: its text and data
are made of names, addresses, versions and times.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

EventKind = Literal[
    "run-started",  # data: run (id), folder, operation, cluster, plan (steps: needs, title, subject, expected)
    "step-started",
    "step-progress",  # text: what it waits for and the last thing it saw; data: phase of the node, if observed
    "step-retrying",  # text: what went wrong; data: attempt, wait
    "step-done",  # data: changed (False: unchanged)
    "step-failed",  # text: what went wrong; data: hint
    "step-skipped",  # text: why; data: because (the key of the step that it needed)
    "note",
    "warning",
    "run-finished",  # data: outcome (done, failed, stopped), exit_code, done, failed, left
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    kind: EventKind
    at: float  # seconds since the epoch
    step: str = ""  # the step's key
    subject: str = ""  # the node it is about; empty: the cluster
    text: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


Listener = Callable[[Event], None]


class Events:
    """Hands every event to all listeners, in order, before `emit` returns.

    One that fails does not keep it from the others; what it raised comes out when all have heard it.
    """

    def __init__(self, *listeners: Listener) -> None:
        self.listeners: list[Listener] = list(listeners)

    def emit(self, kind: EventKind, text: str = "", *, step: str = "", subject: str = "", **data: Any) -> None:
        event = Event(kind=kind, at=time.time(), step=step, subject=subject, text=text, data=data)
        failure: Exception | None = None
        for listener in self.listeners:
            try:
                listener(event)
            except Exception as problem:
                failure = failure or problem
        if failure is not None:
            raise failure
