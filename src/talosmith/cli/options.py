"""Options that commands share, and the one way results are printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from talosmith.cli.streams import put
from talosmith.report.data import as_json, as_yaml
from talosmith.report.style import Style


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"
    YAML = "yaml"


InventoryOption = Annotated[
    Path | None,
    typer.Option("--inventory", "-i", metavar="FOLDER", help="Where the inventory is; else found from here upwards."),
]
EnvironmentOption = Annotated[
    str | None, typer.Option("--environment", "-e", metavar="NAME", help="Which of several: inventory/NAME/.")
]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="How to print the result.")]


def application(summary: str) -> typer.Typer:
    return typer.Typer(help=summary, rich_markup_mode=None, add_completion=False, pretty_exceptions_enable=False)


def emit(data: Any, output: Output, text: Callable[[Style], str] | None = None, *, document: bool = False) -> None:
    """Data goes to stdout, in the form that was asked for; `text` makes it for people.

    A `document` is for programs too: only a terminal gets it with control characters written out.
    """
    if output is Output.TEXT and text is not None:
        result, as_it_is = text(Style(sys.stdout)), document and not sys.stdout.isatty()
    elif output is Output.JSON:
        result, as_it_is = as_json(data), True
    else:
        result, as_it_is = as_yaml(data), not sys.stdout.isatty()
    if as_it_is:
        sys.stdout.write(result + "\n")
    else:
        put(sys.stdout, result)


def say(text: str) -> None:
    """Talk goes to stderr."""
    put(sys.stderr, text)
