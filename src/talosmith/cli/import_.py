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
from talosmith.inventory.importers.remarks import Remark
from talosmith.report.problems import as_data, as_text
from talosmith.report.style import Style

app = application("Convert another tool's files to an inventory.")


@app.callback()
def import_() -> None:
    """Convert another tool's files to an inventory."""


@app.command()
def talconfig(
    file: Annotated[Path, typer.Argument(help="talhelper's talconfig.yaml.")],
    into: Annotated[
        Path, typer.Option("--into", metavar="FOLDER", help="Folder to create the inventory in.")
    ] = Path(),
    partial: Annotated[
        bool, typer.Option("--partial", help="Write the inventory even if something cannot be converted.")
    ] = False,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Write values from encrypted files and the environment unencrypted.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Convert talhelper's talconfig.yaml to an inventory, and report what cannot be converted."""
    from talosmith.cli.import_documents import in_documents

    imported = in_documents(import_talconfig(file, schematic_id, refusal, reveal=reveal))
    if not imported.complete and not partial:
        emit(_data(imported, [], into), output, lambda style: _report(imported, style), kind="Import")
        say(Style(sys.stderr).red(f"nothing was written: {_left_out(imported)} not converted"))
        say("  fix: change talconfig.yaml, or write the rest with --partial")
        return ExitCode.FAILED
    written = write(into, imported)
    if imported.remarks:
        say(_report(imported, Style(sys.stderr)))
    emit(_data(imported, written, into), output, lambda style: _done(imported, written, into, style), kind="Import")
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
        "problems": [_remark(remark) for remark in imported.remarks],
        "next": _next(imported, into) if written else [],
    }


def _remark(remark: Remark) -> dict[str, Any]:
    return {**as_data(remark.problem), "path": remark.path, "left_out": remark.left_out}


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
