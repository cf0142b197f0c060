"""`talosmith talosconfig`"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated

import typer

from talosmith.cli.client_files import YEAR, LifetimeOption, OutOption, deliver
from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, say
from talosmith.client_files import ClientFile, make_talosconfig
from talosmith.desired.talosconfig import ADMIN
from talosmith.session import Session

app = application("Write a talosconfig with a new client certificate. Needs the secrets only, no running cluster.")


@app.command()
def talosconfig(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    out: OutOption = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Merge into your own talosconfig: $TALOSCONFIG or ~/.talos/config.")
    ] = False,
    lifetime: LifetimeOption = YEAR,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="ROLE", help="Role of the certificate, such as os:reader; repeatable."),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write a talosconfig with a new client certificate. Needs the secrets only, no running cluster."""
    session = Session.open(inventory, environment)

    async def make() -> ClientFile:
        async with session:
            return await make_talosconfig(session, role or [ADMIN], timedelta(seconds=lifetime), say)

    return deliver(session, asyncio.run(make()), out, output, merge=merge)
