"""`talosmith lab`"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import typer

from talosmith.cli.lab_fault import app as fault_app
from talosmith.cli.lab_machine import app as machine_app
from talosmith.cli.lab_options import DEFAULT, LabInventoryOption, NameArgument, chosen_lab
from talosmith.cli.options import EnvironmentOption, Output, OutputOption, application, emit
from talosmith.errors import UsageError
from talosmith.providers.lab import process
from talosmith.providers.lab.process import PaceName
from talosmith.report import lab as lab_report

app = application("Simulated machines on this computer: they boot, install and run Talos, and fail on demand.")
app.add_typer(machine_app, name="machine")
app.add_typer(fault_app, name="fault")


@app.command()
def start(
    name: NameArgument = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    clock: Annotated[PaceName | None, typer.Option(help="Speed of boots, installations and elections.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the random numbers.")] = None,
    network: Annotated[
        str | None, typer.Option(metavar="CIDR", help="Network of the machines, part of 127.0.0.0/8.")
    ] = None,
    ports: Annotated[
        bool,
        typer.Option("--ports", help="All machines at 127.0.0.1, on different ports: for systems with one address."),
    ] = False,
    kubernetes: Annotated[
        Literal["simulated", "real"] | None,
        typer.Option(help="real: etcd and kube-apiserver from PATH or KUBEBUILDER_ASSETS."),
    ] = None,
    kubernetes_binaries: Annotated[
        str | None, typer.Option(help="Folders of the binaries of --kubernetes real, as in PATH.", metavar="FOLDERS")
    ] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Start a lab: a new one, or one that was stopped."""
    given: dict[str, Any] = {
        "clock": clock,
        "seed": seed,
        "network": network,
        "ports": ports or None,
        "kubernetes": kubernetes,
        "binaries": kubernetes_binaries,
    }
    asked = {key: value for key, value in given.items() if value is not None}
    lab = chosen_lab(name, inventory, environment)
    status = process.start(lab, process.Made(**asked) if asked else None).status()
    found = {"lab": lab, "running": True, **status}
    where = "" if lab == DEFAULT else f" --lab {lab}"
    following = "" if found["machines"] else f"\n\nNext: talosmith lab machine create cp-1{where}"
    data = {"labs": [lab_report.lab(lab, found)]}
    emit(data, output, lambda style: f"{style.green('✓')} {_summary(found)}{following}", kind="Labs")
    return 0


@app.command()
def stop(
    name: NameArgument = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    delete: Annotated[bool, typer.Option("--delete", help="Delete the lab with all its machines.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Stop a lab. Its machines keep their state until the lab is started again."""
    lab = chosen_lab(name, inventory, environment)
    if not process.stop(lab, delete=delete):
        raise _no_lab(lab)
    done = "deleted" if delete else "stopped"
    emit({"lab": lab, "state": done}, output, lambda style: f"{style.green('✓')} {lab} is {done}", kind="LabStopped")
    return 0


@app.command()
def status(
    name: Annotated[str | None, typer.Argument(metavar="LAB", help="Name of the lab; default: all labs.")] = None,
    inventory: LabInventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show labs: machines, etcd members and leaders, VIPs, faults."""
    is_chosen = name or inventory or environment
    places = [process.Place(chosen_lab(name, inventory, environment))] if is_chosen else process.labs()
    found = []
    for place in places:
        if not place.exists():
            raise _no_lab(place.name)
        found.append({"lab": place.name, **place.status()})
    text = "\n".join(_summary(one) for one in found) or "no labs: talosmith lab start"
    emit({"labs": [lab_report.lab(one["lab"], one) for one in found]}, output, lambda _: text, kind="Labs")
    return 0


def _no_lab(name: str) -> UsageError:
    return UsageError(f"lab {name!r} does not exist", hint="see `talosmith lab status`")


def _summary(lab: Mapping[str, Any]) -> str:
    if not lab["running"]:
        return f"{lab['lab']}: stopped"
    lines = [
        f"{lab['lab']}: {lab['on']} of {lab['machines']} machines on, {lab['network']}, clock {lab['clock']}"
        + (f", {lab['faults']} faults" if lab["faults"] else "")
    ]
    for cluster in lab["etcd"]:
        members = ", ".join(f"{name} ({state})" for name, state in cluster["members"].items())
        lines.append(f"  etcd {cluster['id']}: leader {cluster['leader'] or 'none'}; {members}")
    lines += [f"  VIP {address}: {holder}" for address, holder in lab["virtual_addresses"].items()]
    return "\n".join(lines)
