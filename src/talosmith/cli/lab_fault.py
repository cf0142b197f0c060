"""`talosmith lab fault`"""

from __future__ import annotations

from typing import Annotated

import typer

from talosmith.cli.lab_options import LabInventoryOption, LabOption, client_of
from talosmith.cli.options import Duration, EnvironmentOption, Output, OutputOption, application, emit
from talosmith.providers.lab.faults import KINDS, MEANINGS, FaultKind

app = application("Faults of a lab: power loss, partitions, slow or failing calls, full disks.")

_KINDS = "\n".join(["Kinds:", *(f"{kind}\t{MEANINGS[kind]}" for kind in KINDS)])


@app.command("add", epilog=_KINDS)
def add_fault(
    kind: Annotated[FaultKind, typer.Argument(metavar="KIND", help="Kind of the fault; see below.")],
    machines: Annotated[
        list[str] | None, typer.Argument(metavar="MACHINE", help="Machines with the fault; default: all.")
    ] = None,
    lab: LabOption = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    apart_from: Annotated[
        list[str] | None,
        typer.Option("--from", metavar="MACHINE", help="partition: the other side; `client` is talosmith itself."),
    ] = None,
    method: Annotated[str, typer.Option(help="Calls with the fault, such as Bootstrap or Etcd*.")] = "*",
    percent: Annotated[float, typer.Option(help="Share of the calls that fail.")] = 100.0,
    times: Annotated[int | None, typer.Option(help="Number of calls that fail; default: no limit.")] = None,
    by: Annotated[
        float, Duration("--by", help="slow: added latency; clock-skew: offset of the clock.", example="2s")
    ] = 0.0,
    output: OutputOption = Output.TEXT,
) -> int:
    """Add a fault. It lasts until it is cleared."""
    made = client_of(lab, inventory, environment).add_fault(
        kind, machines or [], others=apart_from or [], method=method, percent=percent, times=times, seconds=by
    )
    emit(
        {"faults": [made]},
        output,
        lambda style: f"{style.yellow(made['id'])} {made['description']}",
        kind="LabFaults",
    )
    return 0


@app.command("list")
def list_faults(
    lab: LabOption = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """List active faults."""
    found = client_of(lab, inventory, environment).faults()
    text = "\n".join(f"{one['id']} {one['description']}" for one in found) or "no faults"
    emit({"faults": found}, output, lambda _: text, kind="LabFaults")
    return 0


@app.command("clear")
def clear_faults(
    ids: Annotated[list[str] | None, typer.Argument(metavar="FAULT", help="Ids of faults; default: all.")] = None,
    lab: LabOption = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Clear faults."""
    gone = client_of(lab, inventory, environment).clear_faults(*(ids or ()))
    text = f"cleared: {', '.join(gone) or 'nothing'}"
    emit({"cleared": gone}, output, lambda style: f"{style.green('✓')} {text}", kind="LabFaultsCleared")
    return 0
