"""`talosmith kubeconfig`"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated

import typer

from talosmith.cli.client_files import YEAR, LifetimeOption, OutOption, deliver
from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application
from talosmith.client_files import find_endpoint, make_kubeconfig
from talosmith.desired.kubeconfig import ADMIN, ADMINISTRATORS
from talosmith.session import Session

app = application("Write a kubeconfig with a new client certificate. Needs the secrets only, no running cluster.")


@app.command()
def kubeconfig(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    out: OutOption = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Merge into your own kubeconfig: $KUBECONFIG or ~/.kube/config.")
    ] = False,
    lifetime: LifetimeOption = YEAR,
    user: Annotated[
        str, typer.Option("--user", metavar="NAME", help="User of the certificate, for RBAC; default: admin.")
    ] = ADMIN,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group", metavar="GROUP", help="Group of the user; repeatable. Default for admin: system:masters."
        ),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write a kubeconfig with a new client certificate. Needs the secrets only, no running cluster.

    Where the endpoint is the load balancer's own name, the provider is asked for it.
    """
    session = Session.open(inventory, environment)
    asyncio.run(find_endpoint(session))
    groups = group or ([ADMINISTRATORS] if user == ADMIN else [])
    made = make_kubeconfig(session, user, groups, timedelta(seconds=lifetime))
    return deliver(session, made, out, output, merge=merge)
