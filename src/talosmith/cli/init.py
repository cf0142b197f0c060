"""`talosmith init`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from talosmith.cli.options import Output, OutputOption, application, emit, say
from talosmith.inventory.create import create
from talosmith.inventory.starter import NewInventory
from talosmith.model.providers import PROVIDERS
from talosmith.report.style import Style

app = application("Write a new inventory: a few questions at a terminal, or flags only.")
_DEFAULT = NewInventory()


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Where to write it.")] = Path(),
    name: Annotated[str | None, typer.Option(help="The cluster's name.")] = None,
    provider: Annotated[str | None, typer.Option(help=f"One of {', '.join(PROVIDERS)}.")] = None,
    controlplanes: Annotated[int | None, typer.Option(help="How many control planes: 1, 3 or 5.")] = None,
    workers: Annotated[int | None, typer.Option(help="How many workers.")] = None,
    node_cidr: Annotated[str | None, typer.Option(help="Network of the nodes, for static addresses.")] = None,
    gateway: Annotated[str | None, typer.Option(help="Their default route; its first address if left out.")] = None,
    vip: Annotated[str | None, typer.Option(help="Floating address of the Kubernetes API.")] = None,
    disk: Annotated[str | None, typer.Option(help="Size (40G), or on metal the device or serial number.")] = None,
    interface: Annotated[str | None, typer.Option(help="On metal, the network card that gets the address.")] = None,
    talos_version: Annotated[str, typer.Option(help="Talos version.")] = _DEFAULT.talos_version,
    kubernetes_version: Annotated[str, typer.Option(help="Kubernetes version.")] = _DEFAULT.kubernetes_version,
    proxmox_url: Annotated[str | None, typer.Option(help="Proxmox VE API address.")] = None,
    proxmox_node: Annotated[str | None, typer.Option(help="Proxmox node that runs the machines.")] = None,
    libvirt_uri: Annotated[str | None, typer.Option(help="libvirt connection.")] = None,
    bridge: Annotated[str | None, typer.Option(help="Host bridge for the machines.")] = None,
    region: Annotated[str | None, typer.Option(help="AWS region.")] = None,
    domain: Annotated[str | None, typer.Option(help="Domain; on AWS the API is at k8s.<domain>.")] = None,
    no_input: Annotated[bool, typer.Option("--no-input", help="Ask nothing; take defaults.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write a new inventory: a few questions at a terminal, or flags only."""
    given: dict[str, Any] = {
        key: value
        for key, value in locals().items()
        if key in NewInventory.__dataclass_fields__ and value is not None
    }
    if provider is not None and provider not in PROVIDERS:
        raise typer.BadParameter(f"one of {', '.join(PROVIDERS)}", param_hint="--provider")
    if sys.stdin.isatty() and not no_input:
        _ask(given)
    answers = NewInventory(**given)
    written = create(folder, answers)

    def text(style: Style) -> str:
        lines = [f"{style.green('✓')} {path}" for path in written]
        where = "" if folder == Path() else f" -i {folder}"
        return "\n".join([*lines, "", f"Next: talosmith validate{where}, then talosmith show{where}"])

    emit({"written": written}, output, text)
    return 0


def _ask(given: dict[str, Any]) -> None:
    """Only what was not said already; Enter takes the value in brackets."""
    if "name" not in given:
        given["name"] = typer.prompt("Name of the cluster", default=_DEFAULT.name, err=True)
    while given.get("provider") not in PROVIDERS:
        given["provider"] = typer.prompt(
            f"Where do the machines come from ({', '.join(PROVIDERS)})", default=_DEFAULT.provider, err=True
        )
    if "controlplanes" not in given:
        given["controlplanes"] = typer.prompt("How many control planes", default=1, type=int, err=True)
    if "workers" not in given:
        given["workers"] = typer.prompt("How many workers", default=2, type=int, err=True)
    provider = given["provider"]
    if provider in ("libvirt", "proxmox", "metal") and "node_cidr" not in given:
        given["node_cidr"] = typer.prompt("Network of the nodes", default="192.168.1.0/24", err=True)
    if provider in ("libvirt", "proxmox", "metal", "docker") and given["controlplanes"] > 1 and "vip" not in given:
        given["vip"] = typer.prompt("Free address for the Kubernetes API (VIP)", err=True)
    if provider == "metal" and "disk" not in given:
        given["disk"] = typer.prompt("Disk to install Talos on", default="/dev/sda", err=True)
    if provider == "metal" and "interface" not in given:
        given["interface"] = typer.prompt("Network card that gets the address", default="eth0", err=True)
    if provider == "proxmox" and "proxmox_node" not in given:
        given["proxmox_node"] = typer.prompt("Proxmox node", default="pve", err=True)
    if provider == "aws":
        for key, question, default in (("region", "AWS region", "eu-central-1"), ("domain", "Domain", None)):
            if key not in given:
                given[key] = typer.prompt(question, default=default, err=True)
    say("")
