"""Looking for a cluster's machines: by the tag and the line in the description, never by name or VMID alone.

A VM that is being created has neither yet. One with a VMID of the inventory that a task of our token is making is
listed as unfinished; it is changed or deleted only after the end of that task, if it is this cluster's then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from talosmith.errors import Permanent
from talosmith.model.machines import Machine, MachineSpec, Owner, Power
from talosmith.providers.proxmox import options
from talosmith.providers.proxmox.addresses import Addresses
from talosmith.providers.proxmox.client import ProxmoxClient
from talosmith.providers.proxmox.lookup import Lookup, Row
from talosmith.providers.proxmox.marker import TEMPLATE_TAG, owner_tag
from talosmith.providers.proxmox.settings import ProxmoxSettings
from talosmith.providers.proxmox.tasks import makes_vms, others_end
from talosmith.providers.proxmox.vm import ROUNDED, SEED_DRIVE, Vm
from talosmith.providers.proxmox.volumes import Volumes, seed_prefix, seeded_node


@dataclass(frozen=True, slots=True)
class Machines:
    client: ProxmoxClient
    owner: Owner
    settings: ProxmoxSettings
    lookup: Lookup
    addresses: Addresses

    async def list(self) -> list[Machine]:
        standing, seeds = await asyncio.gather(self.standing(), self._seeds())
        found = {one.name: replace(one, seeded=one.seeded or one.name in seeds) for one in standing}
        for name in seeds - found.keys():
            if (begun := await self._begun(name)) is not None:
                found[name] = begun
        return sorted(found.values(), key=lambda one: one.name)

    async def standing(self) -> Sequence[Machine]:
        """Those that have a VM."""
        rows = [row for row in await self.lookup.rows() if self._may_be_ours(row)]
        found = await asyncio.gather(*(self._machine_at(row.host, row.vmid) for row in rows))
        return [one for one in found if one is not None]

    async def _seeds(self) -> set[str]:
        """Names of nodes that have a seed in the ISO storage, be it in a drive or left by a run that was cut off."""
        section = self.settings.section
        if not section.seed:
            return set()
        await others_end(self.client, ())
        volumes = Volumes(self.client, self.owner)
        found = set()
        for host in self.settings.hosts:
            with suppress(Permanent):  # such as no privilege: preflight reports it
                listed = await volumes.listed(host, section.iso_storage, "iso")
                found |= {node for one in listed if (node := seeded_node(self.owner, one.name))}
        return found

    async def _begun(self, name: str) -> Machine | None:
        """Creation was cut off before the VM, and left the seed, which has the config in it: `create` continues,
        `destroy` deletes it. A VM that came after the list of VMs was read is described as those in the list are."""
        spec = self.settings.specs.get(name)
        vmid = spec.node.vmid if spec is not None else None
        if spec is not None and vmid is not None:
            host = self.settings.host(spec)
            vm = await self.lookup.vm(host, vmid)
            if vm is not None and (vm.being_made or vm.marker.is_of(self.owner)):
                machine = await self._machine_at(host, vmid)
                return replace(machine, seeded=True) if machine is not None else None
        role = spec.role if spec is not None else "worker"
        tags = self.owner.tags(name, role)
        return Machine(id=f"{vmid or 0}/", name=name, role=role, power="off", seeded=True, unfinished=True, tags=tags)

    async def renamed(self) -> dict[str, tuple[str, ...]]:
        """By cluster name: VMs with this cluster's id and another cluster name."""
        found: dict[str, tuple[str, ...]] = {}
        for row in await self.lookup.rows():
            if owner_tag(self.owner) in row.tags:
                vm = await self.lookup.vm(row.host, row.vmid)
                if vm is not None and vm.marker.is_machine and (name := self.owner.former_name(vm.marker.tags)):
                    found[name] = (*found.get(name, ()), vm.marker.node)
        return found

    def _may_be_ours(self, row: Row) -> bool:
        """By tag; or made half way: with a VMID of the inventory, or a clone that has the tags of its template."""
        if row.is_template:
            return False
        return owner_tag(self.owner) in row.tags or row.vmid in self.settings.vmids or TEMPLATE_TAG in row.tags

    async def _machine_at(self, host: str, vmid: int) -> Machine | None:
        vm = await self.lookup.vm(host, vmid, live=True)
        if vm is not None and vm.being_made and not self.is_ours(vm) and vmid in self.settings.vmids:
            if await makes_vms(self.client, host):
                return self.in_the_making(vm)
            vm = await self.lookup.vm(host, vmid, live=True)  # the task may have ended between both answers
        if vm is None or vm.is_template or not self.is_ours(vm):
            return None
        return await self.described(vm)

    def in_the_making(self, vm: Vm) -> Machine:
        """Whose it will be is not in its config yet."""
        spec = self.settings.specs[self.settings.vmids[vm.vmid]]
        tags = self.owner.tags(spec.name, spec.role)
        return Machine(id=f"{vm.vmid}/", name=spec.name, role=spec.role, power="off", unfinished=True, tags=tags)

    def is_ours(self, vm: Vm) -> bool:
        """By both signs; the tag comes last to a clone. Without the tag, a finished VM was given up by hand."""
        marker = vm.marker
        return marker.is_of(self.owner) and (owner_tag(self.owner) in vm.tags or marker.unfinished)

    async def described(self, vm: Vm, power: Power | None = None) -> Machine:
        """`vm`: with live values."""
        marker, spec = vm.marker, self.settings.specs.get(vm.marker.node)
        state = power or await self.lookup.power(vm.host, vm.vmid)
        unfinished = marker.unfinished or vm.being_made
        running, restart = self._outdated(vm, spec) if spec is not None and not unfinished else ("", "")
        return Machine(
            id=vm.id,
            name=marker.node,
            role=marker.role,
            power=state,
            addresses=await self.addresses.of(vm, spec, state),
            cpu=vm.cpu,
            ram_mib=vm.ram_mib,
            disks_mib=_sizes(vm, spec),
            seeded=seed_prefix(self.owner) in vm.media(SEED_DRIVE),
            unfinished=unfinished,
            outdated=restart,
            outdated_running=running,
            grows=True,
            tags=marker.tags,
        )

    def _outdated(self, vm: Vm, spec: MachineSpec) -> tuple[str, str]:
        """What differs from the inventory besides sizes: changed while the machine runs, or with a restart."""
        section, there = self.settings.section, vm.interface
        link = (there.get("bridge", ""), there.get("tag", ""))
        wanted = (section.bridge, str(section.vlan or ""))
        running, restart = [], []
        if link != wanted:
            running.append(f"network from {_link(*link)} to {_link(*wanted)}")
        tags, now = options.tags(self.settings, self.owner, spec), tuple(sorted({tag.lower() for tag in vm.tags}))
        if not set(tags) <= set(now):
            running.append(f"tags from {', '.join(now)} to {', '.join(tags)}")
        if bool(int(vm.config.get("onboot") or 0)) != section.autostart:
            running.append(f"autostart from {_onoff(not section.autostart)} to {_onoff(section.autostart)}")
        order = section.start_order_of(spec.role)
        if order is not None and f"order={order}" not in str(vm.config.get("startup", "")).split(","):
            running.append(f"start order from {vm.config.get('startup', 'none')} to order={order}")
        if spec.mac and there.get("mac") != spec.mac.lower():
            restart.append(f"MAC address from {there.get('mac', 'none')} to {spec.mac.lower()}")
        if (cpu := str(vm.config.get("cpu", "kvm64"))) != section.cpu_type:
            restart.append(f"CPU type from {cpu} to {section.cpu_type}")
        return "; ".join(running), "; ".join(restart)

    # For who is going to change a machine

    async def ours(self, machine: Machine) -> Vm | None:
        """The VM of this very machine, if it exists and is this cluster's; wherever it runs now."""
        number, _, uuid = machine.id.partition("/")
        if not number.isdigit():
            return None
        expected = self._expected_host(machine.name)
        vm = await self.lookup.vm(expected, int(number)) if expected else None
        if vm is None and (host := await self.lookup.host_of(int(number))):
            vm = await self.lookup.vm(host, int(number))
        if vm is None or not vm.marker.is_of(self.owner):
            return None
        return vm if not uuid or uuid == vm.uuid else None

    def _expected_host(self, name: str) -> str:
        spec = self.settings.specs.get(name)
        return self.settings.host(spec) if spec is not None else ""

    async def must_be_ours(self, machine: Machine) -> Vm:
        vm = await self.ours(machine)
        if vm is None or not self.is_ours(vm):
            raise gone(machine.name)
        return vm


def _sizes(vm: Vm, spec: MachineSpec | None) -> tuple[int, ...]:
    """Storages round sizes up; that is no difference to what was asked for."""
    wanted = spec.disks_mib if spec is not None else ()
    return tuple(
        wanted[number] if number < len(wanted) and wanted[number] <= disk.mib < wanted[number] + ROUNDED else disk.mib
        for number, disk in enumerate(vm.disks)
    )


def _link(bridge: str, vlan: str) -> str:
    return f"bridge {bridge or 'none'}{f' VLAN {vlan}' if vlan else ''}"


def _onoff(value: bool) -> str:
    return "on" if value else "off"


def gone(name: str) -> Permanent:
    return Permanent(f"the machine {name!r} is gone", hint="plan again: Proxmox has changed meanwhile")
