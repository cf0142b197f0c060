"""Events, errors and the result of a run as one object after another, for programs that follow a run.

As JSON each object is one line (`up -o json | jq`), as YAML one document. Schemas: Event, Error, Result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TextIO

from talosmith.events import Event
from talosmith.report.data import as_yaml, envelope, plain, rfc3339
from talosmith.report.follow import planned


class JsonLines:
    """A listener. Lines are plain ASCII, so that nothing in them can act on a terminal, and are written at once.

    If the reader is gone, that is an error, and the run ends at a safe point.
    """

    def __init__(self, stream: TextIO, *, run: str | None = None, yaml: bool = False) -> None:
        self.stream = stream
        self.run = run
        self.yaml = yaml

    def __call__(self, event: Event) -> None:
        if event.kind == "run-started":
            self.run = _text(event.data.get("run")) or self.run
        self.write("Event", as_data(event, self.run))

    def write(self, kind: str, data: Any) -> None:
        value = envelope(kind, data)
        if self.yaml:
            text = "---\n" + as_yaml(value)
        else:
            text = json.dumps(value, ensure_ascii=True).replace("\x7f", "\\u007f")
        self.stream.write(text + "\n")
        self.stream.flush()


def as_data(event: Event, run: str | None) -> dict[str, Any]:
    """Fields of kind Event."""
    return {
        "time": rfc3339(event.at),
        "type": event.kind,
        "run": run,
        "step": event.step,
        "subject": event.subject,
        "text": event.text,
        "data": _data(event),
    }


def _data(event: Event) -> dict[str, Any]:
    """The fields that the schema has for this type of event. Journals of earlier versions lack some: null."""
    data = event.data
    if event.kind == "run-started":
        steps = planned(data.get("plan"))
        return {
            "operation": _text(data.get("operation")),
            "cluster": _text(data.get("cluster")),
            "folder": _text(data.get("folder")),
            "digest": _text(data.get("digest")),
            "steps": [{"key": key, **_step(step)} for key, step in steps.items()],
        }
    if event.kind == "run-finished":
        keys = {name: plain(list(data.get(name, ()))) for name in ("done", "failed", "left")}
        return {"outcome": _text(data.get("outcome")), **keys}
    if event.kind == "step-retrying":
        return {"attempt": data.get("attempt"), "wait_seconds": data.get("wait")}
    if event.kind == "step-progress":
        return {"phase": _text(data.get("phase"))}
    if event.kind == "step-done":
        return {"changed": bool(data.get("changed", True))}
    if event.kind == "step-failed":
        return {"fix": _text(data.get("hint"))}
    if event.kind == "step-skipped":
        return {"failed_step": _text(data.get("because"))}
    return {}


def _step(step: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "subject": _text(step.get("subject")),
        "title": _text(step.get("title")),
        "reason": _text(step.get("reason")),
        "stage": _text(step.get("stage")),
        "disruption": _text(step.get("disruption")),
        "needs": plain(list(step.get("needs") or ())),
        "expected_seconds": step.get("expected_seconds"),
    }


def _text(value: Any) -> str | None:
    return str(value) if value else None
