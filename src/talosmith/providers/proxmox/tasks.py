"""Tasks of Proxmox VE, followed to their end: the answer to a call only says that one was begun.

`WARNINGS: n` is a success. A token may read its own task, but some servers refuse that once the task has ended; then
the list of tasks tells.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from talosmith.errors import Temporary
from talosmith.providers.progress import report_progress
from talosmith.providers.proxmox.client import ProxmoxClient, path
from talosmith.providers.proxmox.failures import Denied, failure
from talosmith.waiting import now, slower

_SOON, _SLOWING, _SELDOM = 0.05, 0.1, 1.0  # seconds between two looks, and how they grow
_LOG_EVERY = 3.0  # seconds
_PERCENT = re.compile(r"\((\d+(?:\.\d+)?)%\)")


async def follow(client: ProxmoxClient, upid: Any, what: str) -> None:
    """Until the task has ended. Its error is raised as that of a call would be."""
    if not isinstance(upid, str) or not upid.startswith("UPID:"):
        return  # some calls have nothing to do
    began = reported = now()
    while True:
        ended, message = await _end_of(client, upid)
        if ended:
            break
        if now() - reported >= _LOG_EVERY:
            reported = now()
            await _report(client, upid, what)
        await asyncio.sleep(slower(now() - began, _SOON, _SLOWING, _SELDOM))
    if message != "OK" and not message.startswith("WARNINGS"):
        raise failure(what, message)


async def makes_vms(client: ProxmoxClient, node: str) -> bool:
    """Whether a task of this very token creates or clones now. A clone's task has the VMID of its source."""
    tasks = await client.get(path("nodes", node, "tasks"), source="active", limit=100)
    makes = ("qmcreate", "qmclone")
    return any(one.get("type") in makes and client.token.id in str(one.get("upid", "")) for one in tasks)


async def _end_of(client: ProxmoxClient, upid: str) -> tuple[bool, str]:
    node = upid.split(":")[1]
    try:
        status = await client.get(path("nodes", node, "tasks", upid, "status"))
    except Denied:
        return await _end_in_list(client, node, upid)
    return status.get("status") == "stopped", str(status.get("exitstatus") or "")


async def _end_in_list(client: ProxmoxClient, node: str, upid: str) -> tuple[bool, str]:
    """In the list, `status` is the end's message, and `RUNNING` before it."""
    for one in await client.get(path("nodes", node, "tasks"), source="all", limit=200):
        if one.get("upid") == upid:
            ended = "endtime" in one
            return ended, str(one.get("status") or "") if ended else ""
    raise Temporary(
        f"the end of the task {upid} cannot be read",
        hint="the token needs Sys.Audit on the Proxmox node",
        retry_after=1.0,
    )


async def _report(client: ProxmoxClient, upid: str, what: str) -> None:
    """The percentage that its log tells, if the log can be read."""
    node = upid.split(":")[1]
    try:
        rows = await client.get(path("nodes", node, "tasks", upid, "log"), start=0, limit=500)
    except Denied:
        return
    percents = [found[1] for row in rows if (found := _PERCENT.search(str(row.get("t", ""))))]
    report_progress(f"{what}: {float(percents[-1]):.0f} %" if percents else f"{what}: waiting for Proxmox VE")
