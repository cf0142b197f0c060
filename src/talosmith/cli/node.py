"""`talosmith node`"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import typer

from talosmith.cli.lines import LineOutput
from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.session import Session
from talosmith.tasks import task_group

if TYPE_CHECKING:
    from talosmith.observed.access import NodeAccess
    from talosmith.observed.log_lines import Read
    from talosmith.talos import TalosNode

_EACH = 20  # lines of each log where several are shown

app = application("Look into one node: logs, kernel messages, services, console.")

NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="Name of the node.")]
FollowOption = Annotated[
    bool, typer.Option("--follow", "-f", help="Show new lines until Ctrl-C, also after a reboot of the node.")
]


@app.callback()
def node() -> None:
    """Look into one node: logs, kernel messages, services, console."""


@app.command()
def logs(
    name: NodeArgument,
    service: Annotated[
        str, typer.Argument(metavar="SERVICE", help="Such as kubelet, etcd or machined; without it, all services.")
    ] = "",
    kubernetes: Annotated[
        bool, typer.Option("--kubernetes", "-k", help="SERVICE is a Kubernetes container: its id or a part of it.")
    ] = False,
    follow: FollowOption = False,
    tail: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Only the last N lines of each log; else all, or 20 of several logs."),
    ] = None,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show logs of Talos services or Kubernetes containers. Works in maintenance mode, too."""
    lines = LineOutput("LogLine", output)

    async def run() -> int:
        from talosmith.observed import log_lines

        async with Session.open(inventory, environment) as session:
            access = await session.access()
            found = await _reached(access, name)
            if kubernetes:
                names = log_lines.container_names(await found.containers(kubernetes=True), service)
            else:
                names = await log_lines.log_names(found, service)
            wanted = tail if tail is not None else -1 if len(names) == 1 else _EACH
            width = max(map(len, names), default=0)

            async def show(log: str) -> None:
                read = (log_lines.container_log if kubernetes else log_lines.service_log)(log, follow=follow)
                async for line in _lines(access, name, found, read, wanted, follow=follow):
                    before = f"{log.ljust(width)} | " if len(names) > 1 else ""
                    of = {"container": log} if kubernetes else {"service": log}
                    data = {"node": name, "service": None, "container": None, **of, "line": line}
                    lines.put(data, lines.style.dim(before) + line)

            async with task_group() as group:
                for log in names:
                    shown = group.create_task(show(log))
                    if not follow:
                        await shown  # one log after the other
        return 0

    return asyncio.run(run())


@app.command()
def dmesg(
    name: NodeArgument,
    follow: FollowOption = False,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show kernel messages, and what Talos reports while it boots.

    Works in maintenance mode, too.
    """
    lines = LineOutput("KernelMessage", output)

    async def run() -> int:
        from talosmith.observed import log_lines

        async with Session.open(inventory, environment) as session:
            access = await session.access()
            found = await _reached(access, name)
            read = log_lines.kernel_messages(follow=follow)
            async for line in _lines(access, name, found, read, -1, follow=follow):
                lines.put({"node": name, "line": line}, line)
        return 0

    return asyncio.run(run())


@app.command()
def services(
    name: NodeArgument,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """List Talos services with state, health and last event."""

    async def run() -> int:
        from talosmith.report import services as report

        async with Session.open(inventory, environment) as session:
            access = await session.access()
            found = await (await _reached(access, name)).services()
        data = {"node": name, "services": report.as_data(found)}
        emit(data, output, lambda style: report.as_text(found, style), kind="Services")
        return 0

    return asyncio.run(run())


@app.command()
def console(
    name: NodeArgument,
    lines: Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Only the last so many lines.")] = 50,
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show the machine's console, also of a node that never came up."""

    async def run() -> int:
        async with Session.open(inventory, environment) as session:
            text = await session.console(name, lines)
        found = text.splitlines()
        emit({"node": name, "lines": found}, output, lambda style: "\n".join(found), kind="Console")
        return 0

    return asyncio.run(run())


async def _reached(access: NodeAccess, name: str) -> TalosNode:
    found = await access.reach(name)
    if found.maintenance:
        say(f"{name} is in maintenance mode: it has no machine config, and its identity is not verified")
    return found.node


def _lines(
    access: NodeAccess, name: str, found: TalosNode, read: Read, tail: int, *, follow: bool
) -> AsyncIterator[str]:
    if not follow:
        return read(found, tail)
    from talosmith.observed.log_lines import followed

    async def reach() -> TalosNode:
        return (await access.reach(name)).node

    return followed(reach, read, tail, say)
