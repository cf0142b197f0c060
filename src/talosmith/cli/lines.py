"""Results that come line by line, as logs and events do: each is written at once, as text or as an object."""

from __future__ import annotations

import sys
from typing import Any

from talosmith.cli.options import Output
from talosmith.cli.streams import put
from talosmith.report.json_lines import JsonLines
from talosmith.report.style import Style


class LineOutput:
    """`kind` names the objects: one line each as JSON, one document each as YAML."""

    def __init__(self, kind: str, output: Output) -> None:
        self._kind = kind
        self._objects = None if output is Output.TEXT else JsonLines(sys.stdout, yaml=output is Output.YAML)
        self.style = Style(sys.stdout)

    def put(self, data: dict[str, Any], text: str) -> None:
        if self._objects is not None:
            self._objects.write(self._kind, data)
        else:
            put(sys.stdout, text)
            sys.stdout.flush()  # a program that reads a stream which is followed waits for each line
