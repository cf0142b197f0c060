"""Every event as one JSON object on a line of its own, for programs that watch a run."""

from __future__ import annotations

import json
from typing import Any, TextIO

from talosmith.events import Event
from talosmith.report.data import plain


class JsonLines:
    """A listener. Lines are plain ASCII, so that nothing in them can act on a terminal, and are not held back.

    If the program that reads them is gone, that is an error, and the run ends at a safe point.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __call__(self, event: Event) -> None:
        self.stream.write(as_line(event) + "\n")
        self.stream.flush()


def as_data(event: Event) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "at": event.at,
        "step": event.step,
        "subject": event.subject,
        "text": event.text,
        "data": plain(dict(event.data)),
    }


def as_line(event: Event) -> str:
    return json.dumps(as_data(event), ensure_ascii=True).replace("\x7f", "\\u007f")
