"""Options that commands share, and the one way results are printed."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from talosmith.cli.pasteable import fixes_pasteable
from talosmith.cli.streams import put
from talosmith.report.data import as_json, as_yaml, envelope
from talosmith.report.style import Style


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


InventoryOption = Annotated[
    Path | None,
    typer.Option("--inventory", "-i", metavar="FOLDER", help="Inventory folder; default: search upwards from here."),
]
EnvironmentOption = Annotated[
    str | None, typer.Option("--environment", "-e", metavar="NAME", help="Environment: the folder inventory/NAME/.")
]
OutputOption = Annotated[
    Output, typer.Option("--output", "-o", metavar="FORMAT", help="Output format: text, json or yaml.")
]

NodeOption = Annotated[
    list[str] | None, typer.Option("--node", "-n", metavar="NODE", help="Only this node; repeatable.")
]

_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_DURATION = re.compile("".join(rf"(?:(?P<{unit}>\d{{1,9}}(?:\.\d{{1,9}})?){unit})?" for unit in _UNITS))


class Duration(OptionInfo):
    """An option whose value is a duration such as `90s`, `5m` or `1h30m`; the command gets seconds.

    Used as `Annotated[float, Duration("--wait", help="…")] = 0.0`; `least` is the shortest one that is accepted.
    """

    def __init__(self, *names: str, help: str, least: float = 0.0, example: str = "5m") -> None:  # noqa: A002 (typer's word)
        def parse(value: str | float) -> float:
            found = seconds(value)
            if found is None:
                raise typer.BadParameter(f"{value!r} is not a duration; write it as {example}, 90s or 1h30m")
            if found < least:
                raise typer.BadParameter(f"{value} is too short: at least {least:g}s, such as {example}")
            return found

        super().__init__(default=..., param_decls=names, parser=parse, metavar="DURATION", help=help)


def seconds(value: str | float) -> float | None:
    """The seconds in `90s`, `5m`, `1h30m`, `30d`, `250ms`; a plain number is seconds. None if it is no duration."""
    text = str(value).strip()
    if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        return float(text)
    found = _DURATION.fullmatch(text)
    if found is None or not found[0]:
        return None
    return sum(float(number) * _UNITS[unit] for unit, number in found.groupdict().items() if number)


def duration_text(value: float) -> str:
    """`5m`, `1h30m`, `250ms`: as `seconds` reads it."""
    rest, parts = round(value * 1000), []
    for unit, length in _UNITS.items():
        number, rest = divmod(rest, round(length * 1000))
        parts += [f"{number}{unit}"] if number else []
    return "".join(parts) or "0s"


def application(summary: str) -> typer.Typer:
    return typer.Typer(help=summary, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


def emit(
    data: Any,
    output: Output,
    text: Callable[[Style], str] | None = None,
    *,
    kind: str | None,
    document: bool = False,
) -> None:
    """Print the result to stdout: `text` for people, `data` as JSON or YAML for programs.

    `kind` names the schema of `data` (report/schemas/); only documents of other formats, such as JSON Schemas, have
    none. A `document` is read by programs as text, too: only a terminal gets it with control characters escaped.
    """
    if kind is not None and output is not Output.TEXT:
        data = envelope(kind, data)
    if output is Output.TEXT and text is not None:
        result, as_it_is = fixes_pasteable(text(Style(sys.stdout))), document and not sys.stdout.isatty()
    elif output is Output.JSON:
        result, as_it_is = as_json(data), True
    else:
        result, as_it_is = as_yaml(data), not sys.stdout.isatty()
    if as_it_is:
        sys.stdout.write(result + "\n")
    else:
        put(sys.stdout, result)


def say(text: str) -> None:
    """Print a message to stderr; stdout is for results."""
    put(sys.stderr, fixes_pasteable(text))
