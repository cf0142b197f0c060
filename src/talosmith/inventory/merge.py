"""Merges the layers of an inventory into one mapping that keeps the file and line of every value.

Maps merge, lists and scalars replace. Within one folder `cluster.yaml` and `nodes.yaml` share a namespace: a
top-level key stands in one of them.
"""

from __future__ import annotations

import re
from typing import Any

from talosmith.errors import Problem, Severity
from talosmith.inventory.parse import Document, Path
from talosmith.inventory.sources import Layer, Sources

_SECRET = re.compile(
    r"""(["']?[\w-]*(?:token|secret|passw|api_key|access_key|private_key|deploy_key|password)[\w-]*["']?\s*:\s*)([^#,}\]]+)""",
    re.IGNORECASE,
)
_LONGEST_LINE = 200
_REFERENCE = re.compile(r"\s*[\"']?(env|sops):[\w.-]+[\"']?\s*\Z")


class Merged:
    """The merged data, and where in the files each part of it stands."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources
        self.data: dict[str, Any] = {}
        for layer in sources.layers:
            own: dict[str, Any] = {}
            for document in layer.documents:
                for key, value in document.data.items():
                    if key in own:
                        sources.problems.append(_given_in_both(key, layer.documents[0], document))
                    else:
                        own[key] = value
            self.data = merge(self.data, own)

    @property
    def _documents(self) -> list[Document]:
        """The strongest first."""
        return [document for layer in reversed(self.sources.layers) for document in layer.documents]

    def file_of(self, path: Path) -> Document | None:
        """The file that sets the value at `path`, or the nearest one above it."""
        holders = [(document, document.data) for document in self._documents]
        for step in path:
            below: list[tuple[Document, Any]] = []
            for document, value in holders:
                if not has(value, step):
                    continue
                below.append((document, value[step]))
                if not isinstance(value[step], dict):
                    break  # a list or scalar hides the layers below
            if not below:
                break
            holders = below
        return holders[0][0] if holders else None

    def layer_of(self, path: Path) -> Layer:
        """The layer that sets the value at `path`: a file's name there is relative to the layer's folder."""
        return next(layer for layer in self.sources.layers if self.file_of(path) in layer.documents)

    def problem(
        self, severity: Severity, path: Path, what: str, why: str = "", fix: str = "", *, of_key: bool = False
    ) -> Problem:
        """A problem with the place and the line of the value at `path`."""
        document = self.file_of(path)
        if document is None:
            return Problem(severity, what, why, fix)
        # A section as a whole is pointed at by its name, not by the first thing in it.
        line, column = document.locate(path, of_key=of_key or isinstance(self._value(path), dict | list))
        return show_line(Problem(severity, what, why, fix, document.file, line, column), document)

    def _value(self, path: Path) -> Any:
        value: Any = self.data
        for step in path:
            if not has(value, step):
                return None
            value = value[step]
        return value

    def origin(self, path: Path) -> str:
        """`file:line` of the value at `path`."""
        document = self.file_of(path)
        return f"{document.file}:{document.locate(path)[0]}" if document else ""


def merge(below: Any, above: Any) -> Any:
    """`above` on top of `below`; neither is changed."""
    if not isinstance(below, dict) or not isinstance(above, dict):
        return above
    result = dict(below)
    for key, value in above.items():
        result[key] = merge(result[key], value) if key in result else value
    return result


def show_line(problem: Problem, document: Document) -> Problem:
    """The problem with the line it is about, values of secret-looking keys masked."""
    if not 0 < problem.line <= len(document.lines):
        return problem
    # Cut first: a word without end would keep the expression busy for as long, squared.
    source = _SECRET.sub(_mask, document.lines[problem.line - 1][:_LONGEST_LINE])
    return Problem(
        problem.severity,
        problem.what,
        problem.why,
        problem.fix,
        problem.file,
        problem.line,
        problem.column,
        source,
    )


def _mask(found: re.Match[str]) -> str:
    return found[0] if _REFERENCE.match(found[2]) else f"{found[1]}***"


def has(value: Any, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)


def _given_in_both(key: str, first: Document, second: Document) -> Problem:
    line, column = second.locate((key,), of_key=True)
    what = f"`{key}` is set here and in {first.file}"
    problem = Problem("error", what, fix="keep one of the two", file=second.file, line=line, column=column)
    return show_line(problem, second)
