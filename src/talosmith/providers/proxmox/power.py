"""Machines on and off. A task that has ended is not enough: high availability does the work later."""

from __future__ import annotations

import re
from dataclasses import dataclass

from talosmith.errors import TalosmithError, Temporary
from talosmith.providers.progress import report_progress
from talosmith.providers.proxmox.client import ProxmoxClient, path
from talosmith.providers.proxmox.failures import Gone
from talosmith.providers.proxmox.lookup import Lookup
from talosmith.providers.proxmox.tasks import follow, type_of
from talosmith.providers.proxmox.vm import Vm

_LIMIT = 120.0  # seconds
_NOTHING_TO_DO = re.compile(r"already running|not running", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PowerSwitch:
    client: ProxmoxClient
    lookup: Lookup

    async def on(self, vm: Vm, *, surely_off: bool = False) -> bool:
        """Whether it was off. `surely_off`: it was created just now; should another run have started it, that is
        no error."""
        if not surely_off and await self.lookup.power(vm.host, vm.vmid) == "on":
            return False
        await self._do(vm, "start", f"start VM {vm.vmid}", on=True)
        return True

    async def off(self, vm: Vm, *, surely_on: bool = False) -> None:
        """At once, also while the machine is being shut down: it may never answer."""
        if surely_on or await self.lookup.power(vm.host, vm.vmid) != "off":
            await self._do(vm, "stop", f"stop VM {vm.vmid}", on=False, **{"overrule-shutdown": 1})

    async def shut_down(self, vm: Vm, patience: float) -> None:
        """By itself if it can; Talos then leaves etcd and Kubernetes in good order."""
        if await self.lookup.power(vm.host, vm.vmid) != "off":
            report_progress("waiting for it to shut down")
            what = f"shut VM {vm.vmid} down"
            await self._do(vm, "shutdown", what, on=False, timeout=round(patience), forceStop=1)

    async def _do(self, vm: Vm, action: str, what: str, *, on: bool, **params: int) -> None:
        where, upid = path("nodes", vm.host, "qemu", vm.vmid, "status", action), ""
        try:
            upid = await self.client.post(where, **params)
            await follow(self.client, upid, what)
        except Gone:
            raise Gone(f"VM {vm.vmid} is gone", hint="plan again: Proxmox has changed meanwhile") from None
        except TalosmithError as wrong:
            if not _NOTHING_TO_DO.search(str(wrong)):
                raise
        if type_of(upid).startswith("ha"):
            await self._must_reach(vm, on=on)

    async def _must_reach(self, vm: Vm, *, on: bool) -> None:
        if not await self.lookup.reaches(vm.host, vm.vmid, "on" if on else "off", _LIMIT):
            raise Temporary(
                f"VM {vm.vmid} is still {'off' if on else 'on'} after {_LIMIT:g} s",
                hint="if high availability manages it, `ha-manager status` on the host says what it waits for",
            )
