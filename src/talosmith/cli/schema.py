"""`talosmith schema`"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from talosmith.cli.options import Output, OutputOption, application, emit
from talosmith.errors import UsageError

app = application("Print JSON Schemas: of the inventory, for editors; of command output, for programs.")


class Part(StrEnum):
    INVENTORY = "inventory"
    CLUSTER = "cluster"
    NODES = "nodes"
    OUTPUT = "output"


@app.command()
def schema(
    part: Annotated[
        Part, typer.Argument(help="inventory or cluster: cluster.yaml; nodes: nodes.yaml; output: command output.")
    ] = Part.INVENTORY,
    kind: Annotated[
        str | None, typer.Argument(metavar="[KIND]", help="With output: only this kind, such as Status or Plan.")
    ] = None,
    output: OutputOption = Output.JSON,
) -> int:
    """Print JSON Schemas: of the inventory, for editors; of command output, for programs."""
    if part is Part.OUTPUT:
        from talosmith.report.schemas import schema_of, schema_of_all

        emit(schema_of(kind) if kind else schema_of_all(), output, kind=None)
        return 0
    if kind is not None:
        raise UsageError(f"{part.value} has no kinds", hint=f"talosmith schema output {kind}")
    from talosmith.inventory.json_schema import editor_schema

    emit(editor_schema("nodes" if part is Part.NODES else "cluster"), output, kind=None)
    return 0
