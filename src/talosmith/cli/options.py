"""Options that commands share, and the one way results are printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

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


def emit(data: Any, output: Output, text: Callable[[Style], str] | None = None) -> None:
    """Data goes to stdout, in the form that was asked for; `text` makes it for people."""
    if output is Output.JSON:
        result = as_json(data)
    elif output is Output.YAML:
        result = as_yaml(data)
    else:
        result = text(Style(sys.stdout)) if text else as_yaml(data)
    sys.stdout.write(result + "\n")


def say(text: str) -> None:
    """Talk goes to stderr."""
    sys.stderr.write(text + "\n")
