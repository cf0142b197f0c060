"""`talosmith lab machine`"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from talosmith.cli.lab_options import LabInventoryOption, LabOption, MachinesArgument, client_of
from talosmith.cli.options import EnvironmentOption, Output, OutputOption, application, emit
from talosmith.errors import UsageError
from talosmith.report import lab as lab_report
from talosmith.report.style import Style
from talosmith.report.table import table

GIB = 1024**3

app = application("Machines of a lab: create, power on and off, reboot, wipe, delete.")


@app.command("create")
def create(
    names: MachinesArgument,
    lab: LabOption = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    address: Annotated[str | None, typer.Option(help="IP address; default: a free one.")] = None,
    mac: Annotated[str | None, typer.Option(help="MAC address; default: a random one.")] = None,
    cpu: Annotated[int, typer.Option(help="CPU cores.", min=1)] = 2,
    ram: Annotated[int, typer.Option(metavar="MIB", help="Memory in MiB.", min=1)] = 2048,
    disk: Annotated[list[int] | None, typer.Option(metavar="GIB", help="A disk of this size in GiB.")] = None,
    platform: Annotated[
        Literal["metal", "nocloud"], typer.Option(help="metal boots an ISO; nocloud has Talos on its disk.")
    ] = "metal",
    talos_version: Annotated[str | None, typer.Option(help="Talos version of the boot image.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Machine config that the machine boots with.", exists=True, dir_okay=False)
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A tag.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Do not power on.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Create machines and power them on. Without a machine config they boot into maintenance mode."""
    if len(names) > 1 and (address or mac):
        raise UsageError("--address and --mac are for one machine", hint="create the machines one by one")
    given: dict[str, Any] = {
        "address": address,
        "mac": mac,
        "version": talos_version,
        "config": config.read_text(encoding="utf-8") if config else None,
        "disk_sizes": [size * GIB for size in disk] if disk else None,
        "tags": dict(_pair(one) for one in tag) if tag else None,
    }
    known = {key: value for key, value in given.items() if value is not None}
    client = client_of(lab, inventory, environment)
    made = [
        client.create_machine(name, power=not off, cpu=cpu, memory_mib=ram, platform=platform, **known)
        for name in names
    ]
    _show_machines(made, output)
    return 0


@app.command("list")
def list_machines(
    lab: LabOption = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """List machines: address, power, stage, Talos version and role."""
    _show_machines(client_of(lab, inventory, environment).machines(), output)
    return 0


@app.command("power-on")
def power_on(
    names: MachinesArgument,
    lab: LabOption = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Power machines on."""
    _show_machines(client_of(lab, inventory, environment).power_on(*names), output)
    return 0


@app.command("power-off")
def power_off(
    names: MachinesArgument,
    lab: LabOption = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    graceful: Annotated[bool, typer.Option("--graceful", help="Shut Talos down first.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Power machines off, like a power loss."""
    _show_machines(client_of(lab, inventory, environment).power_off(*names, graceful=graceful), output)
    return 0


@app.command("reboot")
def reboot(
    names: MachinesArgument,
    lab: LabOption = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Reset machines, as by the reset button."""
    _show_machines(client_of(lab, inventory, environment).reboot(*names), output)
    return 0


@app.command("wipe")
def wipe(
    names: MachinesArgument,
    lab: LabOption = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Power machines off and wipe their disks."""
    _show_machines(client_of(lab, inventory, environment).wipe(*names), output)
    return 0


@app.command("delete")
def delete(
    names: MachinesArgument,
    lab: LabOption = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Delete machines and their disks."""
    client_of(lab, inventory, environment).delete(*names)
    text = f"deleted: {', '.join(names)}"
    emit({"deleted": names}, output, lambda style: f"{style.green('✓')} {text}", kind="LabMachinesDeleted")
    return 0


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise typer.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--tag")
    return key, value


def _show_machines(machines: Sequence[Mapping[str, Any]], output: Output) -> None:
    def text(style: Style) -> str:
        return "\n".join(_rows(machines, style)) or "no machines"

    emit({"machines": [lab_report.machine(one) for one in machines]}, output, text, kind="LabMachines")


def _rows(machines: Sequence[Mapping[str, Any]], style: Style) -> list[str]:
    header = ("NAME", "ADDRESS", "POWER", "STAGE", "READY", "TALOS", "ROLE", "HOSTNAME", "PROBLEM")
    rows = [
        (
            one["name"],
            one["endpoint"],
            one["power"],
            one["stage"],
            "yes" if one["ready"] else "",
            one["version"],
            one["role"],
            one["hostname"],
            one["problem"],
        )
        for one in machines
    ]
    return list(table(header, rows, style)) if rows else []
