"""`talosmith schema`"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from talosmith.cli.options import Output, OutputOption, application, emit
from talosmith.inventory.json_schema import editor_schema

app = application("Print the JSON Schema of inventories, for editors.")


class Part(StrEnum):
    CLUSTER = "cluster"
    NODES = "nodes"


@app.command()
def schema(
    part: Annotated[Part, typer.Argument(help="The file it is for: cluster.yaml or nodes.yaml.")] = Part.CLUSTER,
    output: OutputOption = Output.JSON,
) -> int:
    """Print the JSON Schema of inventories, for editors."""
    emit(editor_schema(part.value), output)
    return 0
