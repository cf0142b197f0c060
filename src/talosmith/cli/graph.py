"""`talosmith graph`"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.errors import Permanent, UsageError
from talosmith.inventory import load
from talosmith.report.graph import Graph, as_mermaid, plan_graph
from talosmith.report.graph import topology as topology_graph
from talosmith.report.graph_svg import plan_svg, topology_svg

app = application("Draw the cluster or a plan, as SVG or Mermaid.")


class Form(StrEnum):
    SVG = "svg"
    MERMAID = "mermaid"


FormOption = Annotated[
    Form | None, typer.Option("--format", "-f", help="As what; else by the file's name, else Mermaid.")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Where to write it; else it is printed.")
]


@app.command()
def topology(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    form: FormOption = None,
    out: OutOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Draw the nodes, their roles and networks, and where the API is reached."""
    _draw(topology_graph(load(inventory, environment)), topology_svg, form, out, output)
    return 0


@app.command()
def plan(
    file: Annotated[
        Path, typer.Argument(metavar="PLAN", help="From `talosmith plan --out` or `-o json`; - reads it from stdin.")
    ],
    form: FormOption = None,
    out: OutOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Draw the steps of a plan, and what each of them needs."""
    _draw(plan_graph(_plan(file)), plan_svg, form, out, output)
    return 0


def _draw(graph: Graph, as_svg: Callable[[Graph], str], form: Form | None, out: Path | None, output: Output) -> None:
    form = form or (Form.SVG if out is not None and out.suffix.lower() == ".svg" else Form.MERMAID)
    picture = as_svg(graph) if form is Form.SVG else as_mermaid(graph)
    if out is None:
        emit(graph.as_data(), output, lambda style: picture.rstrip("\n"), kind="Graph")
        return
    try:
        out.write_text(picture, encoding="utf-8")
    except OSError as problem:
        raise Permanent(f"cannot write {out}: {problem.strerror or problem}", hint="name another file") from problem
    if output is Output.TEXT:
        say(f"wrote {out}")
    else:
        emit({"written": [out]}, output, kind="Written")


def _plan(file: Path) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
        data = json.loads(text)
    except OSError as problem:
        raise UsageError(f"cannot read {file}: {problem.strerror or problem}", hint=_HOW) from None
    except ValueError:
        raise UsageError(f"{file} is not a plan: it is not JSON", hint=_HOW) from None
    if not isinstance(data, dict) or not isinstance(data.get("steps"), list):
        raise UsageError(f"{file} is not a plan: it has no steps", hint=_HOW)
    return data


_HOW = "make one with `talosmith plan --out FILE`"
