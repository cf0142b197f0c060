"""How commands choose a lab: by its name, or by the inventory whose cluster it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from talosmith.errors import UsageError
from talosmith.providers.lab import lab_name
from talosmith.providers.lab.client import LabClient
from talosmith.providers.lab.process import Place

DEFAULT = "lab"
_HELP = "Name of the lab; default: $TALOSMITH_LAB, else `lab`."

NameArgument = Annotated[str | None, typer.Argument(metavar="LAB", help=_HELP)]
LabOption = Annotated[str | None, typer.Option("--lab", metavar="LAB", help=_HELP)]
LabInventoryOption = Annotated[
    Path | None,
    typer.Option("--inventory", "-i", metavar="FOLDER", help="The lab of this inventory's cluster, instead of LAB."),
]
MachinesArgument = Annotated[list[str], typer.Argument(metavar="MACHINE", help="Names of machines.")]


def chosen_lab(name: str | None, inventory: Path | None, environment: str | None) -> str:
    """The lab's name. An inventory given with the command counts more than TALOSMITH_LAB."""
    if inventory is None and environment is None:
        return name or os.environ.get("TALOSMITH_LAB") or DEFAULT
    if name is not None:
        raise UsageError(
            f"both a lab ({name}) and an inventory are given", hint="pass the name of the lab, or -i FOLDER"
        )
    return lab_of(inventory, environment)


def lab_of(inventory: Path | None, environment: str | None) -> str:
    """The name of the lab that runs an inventory's cluster."""
    from talosmith.desired.secrets_file import read_secrets
    from talosmith.desired.target import owner_of
    from talosmith.inventory import load
    from talosmith.inventory.sources import find

    cluster = load(inventory, environment)
    if cluster.provider.name != "lab":
        raise UsageError(
            f"cluster {cluster.name} has no lab: its provider is {cluster.provider.name}", hint="talosmith lab status"
        )
    name = lab_name(owner_of(cluster, read_secrets(find(inventory, environment).parent).bundle))
    if not Place(name).exists():
        raise UsageError(f"cluster {cluster.name} has no lab yet: lab {name} does not exist", hint="talosmith up")
    return name


def client_of(name: str | None, inventory: Path | None, environment: str | None) -> LabClient:
    return Place(chosen_lab(name, inventory, environment)).client()
