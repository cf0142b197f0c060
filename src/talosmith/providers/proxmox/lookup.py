"""Looking at VMs: which there are, what their configs say, whether they run. Nothing is changed here."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from talosmith.errors import Permanent
from talosmith.model.machines import Power
from talosmith.providers.proxmox.client import ProxmoxClient, path
from talosmith.providers.proxmox.failures import Denied, Gone
from talosmith.providers.proxmox.tasks import makes_vms
from talosmith.providers.proxmox.vm import Vm
from talosmith.waiting import now, slower

_SOON, _SLOWING, _SELDOM = 0.05, 0.1, 1.0  # seconds between two looks, and how they grow


@dataclass(frozen=True, slots=True)
class Row:
    """A VM in the list of the whole Proxmox cluster. Tags are as they are now; name and state may be seconds old."""

    vmid: int
    host: str
    name: str
    tags: tuple[str, ...]
    is_template: bool


@dataclass(frozen=True, slots=True)
class Lookup:
    client: ProxmoxClient
    abandoned_after: float = (
        30.0  # seconds without a task, until the lock of a VM that is being made is a dead task's
    )

    async def rows(self) -> list[Row]:
        return [
            Row(
                vmid=int(one["vmid"]),
                host=str(one["node"]),
                name=str(one.get("name", "")),
                tags=tuple(filter(None, str(one.get("tags", "")).split(";"))),
                is_template=bool(one.get("template")),
            )
            for one in await self.client.get("/cluster/resources", type="vm")
            if one.get("type") == "qemu"
        ]

    async def host_of(self, vmid: int) -> str:
        """The Proxmox node that has the VM; empty if there is none. High availability may have moved it."""
        return next((row.host for row in await self.rows() if row.vmid == vmid), "")

    async def vm(self, host: str, vmid: int, *, live: bool = False) -> Vm | None:
        """`live`: values that wait for the next start are left out.

        None as well if the token may not see it: with privileges on a pool alone, Proxmox answers 403 for each VM
        outside of it, whether there is one or not. A VM of this cluster is in the pool.
        """
        where = path("nodes", host, "qemu", vmid, "config")
        try:
            return Vm(vmid, host, await self.client.get(where, **({"current": 1} if live else {})))
        except (Gone, Denied):
            return None

    async def power(self, host: str, vmid: int) -> Power:
        status = await self.client.get(path("nodes", host, "qemu", vmid, "status", "current"))
        return "on" if status.get("status") == "running" else "off"

    async def made(self, vm: Vm, limit: float) -> Vm | None:
        """The VM when the task that makes it has ended; None if that failed and the VM is gone.

        After `limit` seconds as it is.
        """
        began, seen = now(), vm
        working = began  # when a task was last seen
        while seen.being_made and now() - began < limit:
            if await makes_vms(self.client, vm.host):
                working = now()
            if now() - working > self.abandoned_after:
                raise _abandoned(seen)
            await asyncio.sleep(slower(now() - began, _SOON, _SLOWING, _SELDOM))
            found = await self.vm(vm.host, vm.vmid)
            if found is None:
                return None
            seen = found
        return seen

    async def reaches(self, host: str, vmid: int, power: Power, limit: float) -> bool:
        """Whether the VM is on, or off, within so many seconds: high availability and reboots take a while."""
        began = now()
        while await self.power(host, vmid) != power:
            if now() - began >= limit:
                return False
            await asyncio.sleep(slower(now() - began, _SOON, _SLOWING, _SELDOM))
        return True


def _abandoned(vm: Vm) -> Permanent:
    """Only root may remove such a lock."""
    return Permanent(
        f"VM {vm.vmid} on {vm.host} has the lock {vm.lock!r}, and no task that the token can see works on it",
        hint=f"if Proxmox shows no running task for it either, the task died: `qm unlock {vm.vmid} && qm destroy "
        f"{vm.vmid}` on the host, then run the same again",
    )
