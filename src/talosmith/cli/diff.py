"""`talosmith diff`"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit
from talosmith.cli.render import NodeOption
from talosmith.desired import outputs
from talosmith.desired.machine import MachineConfigs
from talosmith.desired.secrets_file import read_secrets
from talosmith.errors import ExitCode
from talosmith.inventory import load
from talosmith.inventory.sources import find
from talosmith.report.style import Style

app = application("Compare machine configs with files rendered earlier, or by another tool.")


@app.command()
def diff(
    folder: Annotated[Path, typer.Argument(help="Folder with <node>.yaml, <cluster>-<node>.yaml or <role>.yaml.")],
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    node: NodeOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Compare machine configs with files rendered earlier, or by another tool. Ends with 2 if they differ."""
    cluster = load(inventory, environment)
    configs = MachineConfigs(cluster, read_secrets(find(inventory, environment).parent).bundle)
    found = list(outputs.differences(configs, outputs.chosen(cluster, node or []), folder))

    def text(style: Style) -> str:
        return "\n".join(line for one in found for line in _lines(one, style))

    emit(found, output, text)
    return ExitCode.CHANGES_PENDING if any(one.lines or one.file is None for one in found) else ExitCode.DONE


def _lines(one: outputs.Difference, style: Style) -> list[str]:
    if one.file is None:
        return [style.yellow(f"{one.node}: no file to compare with")]
    if not one.lines:
        return [f"{style.green('✓')} {one.node}: the same as {one.file}"]
    colours = {"+": style.green, "-": style.red, "@": style.cyan}
    return [colours.get(line[:1], str)(line) for line in one.lines]
