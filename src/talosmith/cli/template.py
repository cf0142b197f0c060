"""`talosmith template`"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.cli.planning import YesOption
from talosmith.errors import UsageError, no_such
from talosmith.providers.base import HasTemplates, Template
from talosmith.providers.progress import reporting_to
from talosmith.report import templates as report
from talosmith.session import Session

app = application("Templates that machines are cloned from: Talos only, no machine config, no identity (Proxmox VE).")

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name or VMID of the template.")]


@app.command("create")
def create(
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name in Proxmox; else made of the image's name.")
    ] = "",
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Create a template of the inventory's Talos image on each Proxmox node that runs machines.

    Templates that exist already stay as they are. They are kept when a cluster is destroyed.
    """

    async def work(provider: HasTemplates) -> list[Template]:
        with reporting_to(say):
            return await provider.create_template(name)

    made = _run(inventory, environment, work)
    emit(report.as_data(made), output, lambda style: report.as_text(made, style), kind="Templates")
    return 0


@app.command("list")
def list_(
    inventory: InventoryOption = None, environment: EnvironmentOption = None, output: OutputOption = Output.TEXT
) -> int:
    """List templates that talosmith created, and what uses them."""
    found = _run(inventory, environment, lambda provider: provider.templates())
    emit(report.as_data(found), output, lambda style: report.as_text(found, style), kind="Templates")
    return 0


@app.command("delete")
def delete(
    name: NameArgument,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    yes: YesOption = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Delete a template, on all Proxmox nodes that have one of the name. Linked clones keep it from being deleted."""

    async def work(provider: HasTemplates) -> list[Template]:
        found = await provider.templates()
        meant = [one for one in found if name in (one.name, one.id)]
        if not meant:
            known = [text for one in found for text in (one.name, one.id)]
            raise no_such("template", name, known, otherwise="see `talosmith template list`")
        _confirm(meant, yes=yes)
        for one in meant:
            await provider.delete_template(one)
        return meant

    gone = _run(inventory, environment, work)
    text = ", ".join(f"{one.name} (VM {one.id} on {one.host})" for one in gone)
    emit(report.as_data(gone), output, lambda style: f"{style.green('✓')} deleted: {text}", kind="Templates")
    return 0


def _confirm(templates: list[Template], *, yes: bool) -> None:
    if yes:
        return
    names = ", ".join(f"{one.name} on {one.host}" for one in templates)
    if not sys.stdin.isatty():
        raise UsageError(f"deleting {names} needs a confirmation", hint="add --yes")
    if not typer.confirm(f"Delete {names}?", err=True):
        raise UsageError("nothing was deleted")


def _run(
    inventory: Path | None, environment: str | None, work: Callable[[HasTemplates], Awaitable[list[Template]]]
) -> list[Template]:
    async def run() -> list[Template]:
        async with Session.open(inventory, environment, new_secrets=True) as session:
            provider = session.provider
            if not isinstance(provider, HasTemplates):
                raise UsageError(f"{provider.name} has no templates", hint="templates are a feature of `proxmox`")
            return await work(provider)

    return asyncio.run(run())
