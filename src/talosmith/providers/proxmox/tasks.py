"""Tasks of Proxmox VE, followed to their end: the answer to a call only says that one was begun.

All tasks of one Proxmox node that are waited for are looked at together. `WARNINGS: n` is a success. A token may read
its own task, but some servers refuse that once the task has ended; then the list of tasks is read.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Container
from typing import Any

from talosmith.errors import TalosmithError, Temporary
from talosmith.providers.progress import report_progress
from talosmith.providers.proxmox.client import ProxmoxClient, path
from talosmith.providers.proxmox.failures import Denied, failure
from talosmith.waiting import now, slower

_SOON, _SLOWING, _SELDOM = 0.1, 0.25, 1.0  # seconds between two looks, and how they grow
_LOG_EVERY = 3.0  # seconds
_LISTED = 100  # tasks in one look
_SETTLED = 120.0  # seconds that tasks of a run that was killed are waited for
_PERCENT = re.compile(r"\((\d+(?:\.\d+)?)%\)")


async def follow(client: ProxmoxClient, upid: Any, what: str) -> None:
    """Until the task has ended. Its error is raised as that of a call would be."""
    if not isinstance(upid, str) or not upid.startswith("UPID:"):
        return  # some calls have nothing to do
    node = upid.split(":")[1]
    client.followed.add(upid)
    watch = client.watches.setdefault(node, Watch(client, node))
    message = await watch.end_of(upid, what)
    if message != "OK" and not message.startswith("WARNINGS"):
        raise failure(what, message)


def type_of(upid: Any) -> str:
    """`qmstart`; `hastart` if high availability does it later."""
    parts = upid.split(":") if isinstance(upid, str) else []
    return parts[5] if len(parts) > 5 else ""


async def makes_vms(client: ProxmoxClient, node: str) -> bool:
    """Whether a task of this very token creates or clones now. A clone's task has the VMID of its source."""
    running = await _running(client, node)
    return any(type_of(upid) in ("qmcreate", "qmclone") and client.token.id in upid for upid in running)


async def converts(client: ProxmoxClient, node: str, vmid: int) -> bool:
    """Whether a task converts this VM to a template now."""
    running = await _running(client, node)
    return any(type_of(upid) == "qmtemplate" and _id_of(upid) == str(vmid) for upid in running)


async def _running(client: ProxmoxClient, node: str) -> list[str]:
    tasks = await client.get(path("nodes", node, "tasks"), source="active", limit=_LISTED)
    return [str(one.get("upid", "")) for one in tasks]


def _id_of(upid: str) -> str:
    """What the task is about: a VMID, a storage, or nothing."""
    return upid.split(":")[6] if upid.count(":") > 6 else ""


async def others_end(client: ProxmoxClient, templates: Container[int]) -> None:
    """Until no task that another run has begun with this token makes something that lists do not show yet: a run that
    was killed may have left it. That is a file on its way to its place, and a template that is created, which has
    neither tag nor description before; `templates`: the VMIDs of these. Tasks of uploads are of the Proxmox node that
    was called, not of the storage's."""
    began = now()
    while await _others(client, templates) and now() - began < _SETTLED:
        await asyncio.sleep(slower(now() - began, _SOON, _SLOWING, _SELDOM))


async def _others(client: ProxmoxClient, templates: Container[int]) -> bool:
    running = [str(one.get("upid")) for one in await client.get("/cluster/tasks") if "endtime" not in one]
    for upid in running:
        if upid in client.followed or client.token.id not in upid:
            continue
        vmid = _id_of(upid)
        if type_of(upid) == "imgcopy":
            return True
        if type_of(upid) == "qmcreate" and vmid.isdigit() and int(vmid) in templates:
            return True
    return False


class Watch:
    """The tasks of one Proxmox node that are waited for."""

    def __init__(self, client: ProxmoxClient, node: str) -> None:
        self._client = client
        self._node = node
        self._ends: dict[str, asyncio.Future[str]] = {}
        self._latest = 0.0  # when the latest of them was begun
        self._looking: asyncio.Task[None] | None = None

    async def end_of(self, upid: str, what: str) -> str:
        """Its exit status. Meanwhile, progress is reported from the log of the task."""
        end = self._ends.setdefault(upid, asyncio.get_running_loop().create_future())
        self._latest = now()
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look())
        try:
            while not (await asyncio.wait([end], timeout=_LOG_EVERY))[0]:
                await self._report(upid, what)
            return end.result()
        finally:
            self._ends.pop(upid, None)

    async def _look(self) -> None:
        """Soon after a task was begun, and then less and less often."""
        while self._ends:
            await asyncio.sleep(slower(now() - self._latest, _SOON, _SLOWING, _SELDOM))
            waiting = [upid for upid, end in self._ends.items() if not end.done()]
            if not waiting:
                continue
            try:
                ended = await self._status(waiting[0]) if len(waiting) == 1 else await self._list(waiting)
            except Exception as wrong:  # also a bug of ours: else those who wait would wait for ever
                for upid in waiting:
                    if upid in self._ends and not self._ends[upid].done():
                        self._ends[upid].set_exception(wrong)
                continue
            for upid, message in ended.items():
                if upid in self._ends and not self._ends[upid].done():
                    self._ends[upid].set_result(message)

    async def _status(self, upid: str) -> dict[str, str]:
        try:
            found = await self._client.get(path("nodes", self._node, "tasks", upid, "status"))
        except Denied:
            return await self._list([upid], ask_for_others=False)
        return {upid: str(found.get("exitstatus") or "")} if found.get("status") == "stopped" else {}

    async def _list(self, waiting: list[str], *, ask_for_others: bool = True) -> dict[str, str]:
        """In the list, `status` is the exit status once there is an end. What is not listed is asked for."""
        rows = await self._client.get(path("nodes", self._node, "tasks"), source="all", limit=_LISTED)
        listed = {str(one.get("upid")): one for one in rows}
        ended = {one: str(listed[one].get("status") or "") for one in waiting if "endtime" in listed.get(one, {})}
        for upid in waiting:
            if upid in listed:
                continue
            if not ask_for_others:
                raise Temporary(
                    f"the end of the task {upid} cannot be read", hint="the token needs Sys.Audit on the Proxmox node"
                )
            ended |= await self._status(upid)
        return ended

    async def _report(self, upid: str, what: str) -> None:
        """The latest percentage in its log, if the log can be read."""
        try:
            rows = await self._client.get(path("nodes", self._node, "tasks", upid, "log"), start=0, limit=500)
        except TalosmithError:
            return
        percents = [found[1] for row in rows if (found := _PERCENT.search(str(row.get("t", ""))))]
        report_progress(f"{what}: {float(percents[-1]):.0f} %" if percents else f"{what}: waiting for Proxmox VE")
