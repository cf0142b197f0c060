"""Where a machine answers: at the inventory's address, or, until it has its config, at the one that DHCP gave it.

Machines with a seed have their address from the first boot. Those without are found by their MAC address: through the
guest agent where the image has it, else among the neighbours of this computer.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from talosmith.errors import TalosmithError
from talosmith.model.machines import MachineSpec, Power
from talosmith.providers.network.neighbours import at, neighbours
from talosmith.providers.network.peek import answers
from talosmith.providers.network.places import called_out
from talosmith.providers.proxmox.client import ProxmoxClient, path
from talosmith.providers.proxmox.settings import ProxmoxSettings
from talosmith.providers.proxmox.vm import Vm


@dataclass(frozen=True, slots=True)
class Addresses:
    client: ProxmoxClient
    settings: ProxmoxSettings

    async def of(self, vm: Vm, spec: MachineSpec | None, power: Power) -> tuple[str, ...]:
        """Best first."""
        own = str(spec.ip) if spec is not None else vm.marker.address
        fixed = (own,) if own else ()
        if self.settings.section.seed or power != "on" or (own and await answers(own)):
            return fixed
        mac = vm.interface.get("mac", "")
        leased = await self._by_agent(vm, mac) if vm.has_agent else []
        leased = leased or await self._by_neighbours(mac)
        return tuple(dict.fromkeys((*leased, *fixed)))

    async def _by_agent(self, vm: Vm, mac: str) -> list[str]:
        where = path("nodes", vm.host, "qemu", vm.vmid, "agent", "network-get-interfaces")
        try:
            answer = await self.client.get(where)
        except TalosmithError:  # it does not run yet, or the token may not ask it
            return []
        found = [
            str(address.get("ip-address", ""))
            for card in (answer or {}).get("result", [])
            if str(card.get("hardware-address", "")).lower() == mac
            for address in card.get("ip-addresses", [])
        ]
        usable = [one for one in found if one and not ip_address(one).is_link_local]
        return sorted(usable, key=lambda one: ":" in one)

    async def _by_neighbours(self, mac: str) -> list[str]:
        table = neighbours()
        if not at(mac, table) and self.settings.search is not None:
            table = await called_out(self.settings.search, [mac], table)
        return [address for address in at(mac, table) if await answers(address)]
