"""`talosmith import`"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from talosmith.cli.options import Output, OutputOption, application, emit, say
from talosmith.desired.config.patch.apply import load_patch
from talosmith.desired.config.problems import ConfigError
from talosmith.desired.images import Schematic
from talosmith.errors import ExitCode
from talosmith.inventory.importers import Imported, import_talconfig, write
from talosmith.report.problems import as_text
from talosmith.report.style import Style

app = application("Make an inventory from another tool's files.")


@app.callback()
def import_() -> None:
    """Make an inventory from another tool's files."""


@app.command()
def talconfig(
    file: Annotated[Path, typer.Argument(help="talhelper's talconfig.yaml.")],
    into: Annotated[Path, typer.Option("--into", metavar="FOLDER", help="Where to write the inventory.")] = Path(),
    partial: Annotated[
        bool, typer.Option("--partial", help="Write what was understood, even if something was not.")
    ] = False,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Write values from encrypted files and the environment in clear.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Make an inventory from talhelper's talconfig.yaml, and report what it cannot say."""
    imported = import_talconfig(file, schematic_id, refusal, reveal=reveal)
    if not imported.complete and not partial:
        emit(_data(imported, [], into), output, lambda style: _report(imported, style))
        say(Style(sys.stderr).red(f"nothing was written: {_left_out(imported)} left out"))
        say("Say it in another way, or write the rest with --partial.")
        return ExitCode.FAILED
    written = write(into, imported)
    if imported.remarks:
        say(_report(imported, Style(sys.stderr)))
    emit(_data(imported, written, into), output, lambda style: _done(imported, written, into, style))
    return ExitCode.DONE


def schematic_id(fields: Mapping[str, Any]) -> str:
    return Schematic(**fields).id


def refusal(text: str, source: str) -> str:
    try:
        load_patch(text, source, lambda value: value.replace("$${", "${"))
    except ConfigError as refused:
        return "; ".join(problem.what for problem in refused.problems)
    return ""


def _data(imported: Imported, written: list[Path], into: Path) -> dict[str, Any]:
    return {
        "complete": imported.complete,
        "written": written,
        "report": imported.remarks,
        "next": _next(imported, into) if written else [],
    }


def _report(imported: Imported, style: Style) -> str:
    return as_text([remark.problem for remark in imported.remarks], style)


def _left_out(imported: Imported) -> str:
    count = sum(remark.left_out for remark in imported.remarks)
    return "one thing was" if count == 1 else f"{count} things were"


def _done(imported: Imported, written: list[Path], into: Path, style: Style) -> str:
    lines = [f"{style.green('✓')} {path}" for path in written]
    return "\n".join([*lines, "", "Next: " + ", then ".join(_next(imported, into))])


def _next(imported: Imported, into: Path) -> list[str]:
    where = "" if into == Path() else f" -i {into}"
    secrets = [f"talosmith secrets import{where} --from {imported.secrets}"] if imported.secrets else []
    return [*secrets, f"talosmith validate{where}", f"talosmith show{where}"]
