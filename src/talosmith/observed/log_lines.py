"""Lines of logs and kernel messages as a node writes them; following goes on after a reboot or a lost connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from talosmith.errors import TalosmithError, Temporary, UsageError, no_such
from talosmith.talos import Container, TalosNode

AGAIN = 1.0  # seconds between attempts to reach a node that went away

Reach = Callable[[], Awaitable[TalosNode]]
Read = Callable[[TalosNode, int], AsyncIterator[str]]  # the last so many lines (-1: all), then each new one


async def followed(reach: Reach, read: Read, tail: int, note: Callable[[str], None]) -> AsyncIterator[str]:
    """Lines until the caller stops. `note` hears that the stream was lost, and why the node does not answer.

    After a reboot the log is read from its beginning; after a lost connection only new lines come.
    """
    node = await reach()
    boot = await boot_id(node)
    try:
        async for line in read(node, tail):
            yield line
        noted = f"{node.name}: the node ended the stream"
    except Temporary as lost:
        noted = str(lost)
    note(f"{noted}; reconnecting")
    while True:
        await asyncio.sleep(AGAIN)
        try:
            node = await reach()
            before, boot = boot, await boot_id(node)
            note(f"{node.name}: following again")
            async for line in read(node, 0 if boot == before else -1):
                yield line
            reason = f"{node.name}: the node ended the stream"
        except TalosmithError as wrong:  # permanent ones, too: the log of a service begins after the boot
            reason = str(wrong)
        if reason != noted:
            noted = reason
            note(f"{noted}; reconnecting")


async def boot_id(node: TalosNode) -> str:
    """Empty in maintenance mode, where the node does not allow to read files."""
    try:
        return await node.boot_id()
    except Temporary:
        raise
    except TalosmithError:
        return ""


def service_log(service: str, *, follow: bool) -> Read:
    return lambda node, tail: node.logs(service, follow=follow, tail=tail)


def container_log(container: str, *, follow: bool) -> Read:
    return lambda node, tail: node.logs(container, kubernetes=True, follow=follow, tail=tail)


def kernel_messages(*, follow: bool) -> Read:
    """Talos counts no lines here: all messages, or only new ones."""
    return lambda node, tail: node.dmesg(follow=follow, tail=tail == 0)


async def log_names(node: TalosNode, service: str) -> tuple[str, ...]:
    """The service, or all services that have a log; the node's own list, so that a typing error is found early."""
    names = tuple(sorted(name for name in await node.log_names() if "/" not in name))
    if not service:
        return names
    if service not in names:
        raise no_such(f"{node.name}: service", service, names, otherwise=f"services: {', '.join(names)}")
    return (service,)


def container_names(containers: tuple[Container, ...], wanted: str) -> tuple[str, ...]:
    """Ids of the containers that a user means by an id or a part of it; of all containers if none is named."""
    ids = sorted(one.id for one in containers if one.name)
    found = [wanted] if wanted in ids else [one for one in ids if wanted in one]
    if not found:
        raise UsageError(f"no container matches `{wanted}`", hint=f"containers: {', '.join(ids) or 'none'}")
    return tuple(found)
