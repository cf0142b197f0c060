"""`talosmith lab`"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from talosmith.cli.options import Output, OutputOption, application, emit
from talosmith.errors import UsageError
from talosmith.providers.lab import process
from talosmith.providers.lab.client import LabClient
from talosmith.providers.lab.faults import KINDS, MEANINGS
from talosmith.report.style import Style
from talosmith.report.table import table

DEFAULT = "lab"
GIB = 1024**3

app = application("Simulated machines on this computer: they boot, install and run Talos, and break on demand.")
machine_app = application("Machines of a lab.")
fault_app = application("What goes wrong in a lab, on purpose.")
app.add_typer(machine_app, name="machine")
app.add_typer(fault_app, name="fault")

NameArgument = Annotated[str, typer.Argument(metavar="LAB", help="Which lab.", envvar="TALOSMITH_LAB")]
LabOption = Annotated[str, typer.Option("--lab", metavar="LAB", help="Which lab.", envvar="TALOSMITH_LAB")]
MachinesArgument = Annotated[list[str], typer.Argument(metavar="MACHINE…", help="Which machines.")]


@app.command()
def start(
    name: NameArgument = DEFAULT,
    clock: Annotated[str | None, typer.Option(help=f"How long things take: {', '.join(process.PACES)}.")] = None,
    seed: Annotated[int | None, typer.Option(help="What chance follows from.")] = None,
    network: Annotated[str | None, typer.Option(help="Addresses of the machines, a part of 127.0.0.0/8.")] = None,
    ports: Annotated[
        bool, typer.Option("--ports", help="All machines at 127.0.0.1, for systems that have no other.")
    ] = False,
    kubernetes: Annotated[
        str | None, typer.Option(help="simulated, or real: etcd and kube-apiserver from PATH or KUBEBUILDER_ASSETS.")
    ] = None,
    kubernetes_binaries: Annotated[
        str | None, typer.Option(help="Folders of these programs, as in PATH.", metavar="FOLDERS")
    ] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Start a lab, or start again one that was stopped."""
    if clock is not None and clock not in process.PACES:
        raise typer.BadParameter(f"one of {', '.join(process.PACES)}", param_hint="--clock")
    if kubernetes not in (None, "simulated", "real"):
        raise typer.BadParameter("simulated or real", param_hint="--kubernetes")
    given: dict[str, Any] = {
        "clock": clock,
        "seed": seed,
        "network": network,
        "ports": ports or None,
        "kubernetes": kubernetes,
        "binaries": kubernetes_binaries,
    }
    asked = {key: value for key, value in given.items() if value is not None}
    status = process.start(name, process.Made(**asked) if asked else None).status()
    found = {"lab": name, "running": True, **status}
    emit(found, output, lambda style: f"{style.green('✓')} {_told(found)}\n\nNext: talosmith lab machine create cp-1")
    return 0


@app.command()
def stop(
    name: NameArgument = DEFAULT,
    delete: Annotated[bool, typer.Option("--delete", help="Forget the lab and all its machines.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Stop a lab. Its machines stay as they are until it is started again."""
    if not process.stop(name, delete=delete):
        raise UsageError(f"there is no lab {name!r}", hint="see `talosmith lab status`")
    done = "deleted" if delete else "stopped"
    emit({"lab": name, done: True}, output, lambda style: f"{style.green('✓')} {name} is {done}")
    return 0


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(metavar="LAB", help="Which lab; all if left out.")] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show labs, and the etcd clusters in them."""
    places = [process.Place(name)] if name else process.labs()
    found = []
    for place in places:
        if not place.exists():
            raise UsageError(f"there is no lab {place.name!r}", hint="see `talosmith lab status`")
        found.append({"lab": place.name, **place.status()})
    emit(found, output, lambda style: "\n".join(_told(one) for one in found) or "no labs: talosmith lab start")
    return 0


@machine_app.command("create")
def create(
    names: MachinesArgument,
    lab: LabOption = DEFAULT,
    address: Annotated[str | None, typer.Option(help="Its address; a free one if left out.")] = None,
    mac: Annotated[str | None, typer.Option(help="Its hardware address.")] = None,
    cpu: Annotated[int, typer.Option(help="Number of CPUs.", min=1)] = 2,
    ram: Annotated[int, typer.Option(help="Memory in MiB.", min=1)] = 2048,
    disk: Annotated[list[int] | None, typer.Option(help="Size of a disk in GiB; once for each.")] = None,
    platform: Annotated[str, typer.Option(help="metal installs itself, nocloud comes with Talos on disk.")] = "metal",
    talos_version: Annotated[str | None, typer.Option(help="Talos on the image it boots from.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Machine config that it finds when it boots.", exists=True, dir_okay=False)
    ] = None,
    tag: Annotated[list[str] | None, typer.Option(help="KEY=VALUE; once for each.")] = None,
    off: Annotated[bool, typer.Option("--off", help="Leave it off.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Make machines and switch them on. Without a config they wait for one in maintenance mode."""
    if len(names) > 1 and (address or mac):
        raise UsageError("--address and --mac are for one machine")
    if platform not in ("metal", "nocloud"):
        raise typer.BadParameter("metal or nocloud", param_hint="--platform")
    given: dict[str, Any] = {
        "address": address,
        "mac": mac,
        "version": talos_version,
        "config": config.read_text(encoding="utf-8") if config else None,
        "disk_sizes": [size * GIB for size in disk] if disk else None,
        "tags": dict(_pair(one) for one in tag) if tag else None,
    }
    known = {key: value for key, value in given.items() if value is not None}
    client = _client(lab)
    made = [
        client.create_machine(name, power=not off, cpu=cpu, memory_mib=ram, platform=platform, **known)
        for name in names
    ]
    _show_machines(made, output)
    return 0


@machine_app.command("list")
def list_machines(lab: LabOption = DEFAULT, output: OutputOption = Output.TEXT) -> int:
    """Show the machines, their addresses and what they are doing."""
    _show_machines(_client(lab).machines(), output)
    return 0


@machine_app.command("power-on")
def power_on(names: MachinesArgument, lab: LabOption = DEFAULT, output: OutputOption = Output.TEXT) -> int:
    """Switch machines on."""
    _show_machines(_client(lab).power_on(*names), output)
    return 0


@machine_app.command("power-off")
def power_off(
    names: MachinesArgument,
    lab: LabOption = DEFAULT,
    graceful: Annotated[bool, typer.Option("--graceful", help="Let Talos shut itself down.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Switch machines off, as if the plug were pulled."""
    _show_machines(_client(lab).power_off(*names, graceful=graceful), output)
    return 0


@machine_app.command("reboot")
def reboot(names: MachinesArgument, lab: LabOption = DEFAULT, output: OutputOption = Output.TEXT) -> int:
    """Press the reset button."""
    _show_machines(_client(lab).reboot(*names), output)
    return 0


@machine_app.command("wipe")
def wipe(names: MachinesArgument, lab: LabOption = DEFAULT, output: OutputOption = Output.TEXT) -> int:
    """Switch machines off and empty their disks."""
    _show_machines(_client(lab).wipe(*names), output)
    return 0


@machine_app.command("delete")
def delete(names: MachinesArgument, lab: LabOption = DEFAULT, output: OutputOption = Output.TEXT) -> int:
    """Take machines away, with their disks."""
    _client(lab).delete(*names)
    emit({"deleted": names}, output, lambda style: f"{style.green('✓')} deleted: {', '.join(names)}")
    return 0


@fault_app.command("add", epilog="  ".join(f"{kind}: {MEANINGS[kind]}." for kind in KINDS))
def add_fault(
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join(KINDS)}.")],
    machines: Annotated[
        list[str] | None, typer.Argument(metavar="[MACHINE…]", help="Where; all if left out.")
    ] = None,
    lab: LabOption = DEFAULT,
    apart_from: Annotated[
        list[str] | None, typer.Option("--from", help="partition: the machines on the other side; `client` is us.")
    ] = None,
    method: Annotated[str, typer.Option(help="Calls it strikes, such as Bootstrap or Etcd*.")] = "*",
    percent: Annotated[float, typer.Option(help="How many of them.")] = 100.0,
    times: Annotated[int | None, typer.Option(help="How often; without end if left out.")] = None,
    seconds: Annotated[float, typer.Option(help="slow: how much; clock-skew: how far.")] = 0.0,
    output: OutputOption = Output.TEXT,
) -> int:
    """Let something go wrong, until it is cleared."""
    made = _client(lab).add_fault(
        kind, machines or [], others=apart_from or [], method=method, percent=percent, times=times, seconds=seconds
    )
    emit(made, output, lambda style: f"{style.yellow(made['id'])} {made['told']}")
    return 0


@fault_app.command("list")
def list_faults(lab: LabOption = DEFAULT, output: OutputOption = Output.TEXT) -> int:
    """Show what goes wrong at present."""
    found = _client(lab).faults()
    emit(found, output, lambda style: "\n".join(f"{one['id']} {one['told']}" for one in found) or "no faults")
    return 0


@fault_app.command("clear")
def clear_faults(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[FAULT…]", help="Which; all if left out.")] = None,
    lab: LabOption = DEFAULT,
    output: OutputOption = Output.TEXT,
) -> int:
    """Let things go right again."""
    gone = _client(lab).clear_faults(*(ids or ()))
    emit({"cleared": gone}, output, lambda style: f"{style.green('✓')} cleared: {', '.join(gone) or 'nothing'}")
    return 0


def _client(lab: str) -> LabClient:
    return process.Place(lab).client()


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"{text!r} is not KEY=VALUE")
    return key, value


def _show_machines(machines: Sequence[Mapping[str, Any]], output: Output) -> None:
    emit(machines, output, lambda style: "\n".join(_rows(machines, style)) or "no machines")


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


def _told(lab: Mapping[str, Any]) -> str:
    if not lab["running"]:
        return f"{lab['lab']}: stopped"
    lines = [
        f"{lab['lab']}: {lab['on']} of {lab['machines']} machines on, {lab['network']}, clock {lab['clock']}"
        + (f", {lab['faults']} faults" if lab["faults"] else "")
    ]
    for cluster in lab["etcd"]:
        members = ", ".join(f"{name} ({state})" for name, state in cluster["members"].items())
        lines.append(f"  etcd {cluster['id']}: leader {cluster['leader'] or 'none'}; {members}")
    lines += [f"  {address} is held by {holder}" for address, holder in lab["virtual_addresses"].items()]
    return "\n".join(lines)
