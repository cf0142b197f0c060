"""The machines of one cluster on Proxmox VE."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from talosmith.errors import Permanent, UsageError
from talosmith.model.machines import Machine, MachineSpec, Owner
from talosmith.model.secret import Secret
from talosmith.providers.base import NO_HOST_CALLS, Finding, Template
from talosmith.providers.delegate import DelegatesResources
from talosmith.providers.proxmox import options
from talosmith.providers.proxmox.addresses import Addresses
from talosmith.providers.proxmox.client import ProxmoxClient, path
from talosmith.providers.proxmox.failures import Gone, failure
from talosmith.providers.proxmox.lookup import Lookup
from talosmith.providers.proxmox.machines import Machines
from talosmith.providers.proxmox.making import Making
from talosmith.providers.proxmox.power import PowerSwitch
from talosmith.providers.proxmox.preflight import look
from talosmith.providers.proxmox.resources import ProxmoxResources
from talosmith.providers.proxmox.settings import Boot, ProxmoxSettings
from talosmith.providers.proxmox.starting import Starting
from talosmith.providers.proxmox.tasks import follow
from talosmith.providers.proxmox.templates import Template as FoundTemplate
from talosmith.providers.proxmox.templates import Templates
from talosmith.providers.proxmox.vm import Vm
from talosmith.providers.proxmox.volumes import Volumes
from talosmith.providers.sizes import needs_restart, refuse_less

_MADE_BY_OTHERS = 600.0  # seconds


class ProxmoxProvider(DelegatesResources[ProxmoxResources]):
    name = "proxmox"
    simulated = False
    creates = True
    host_calls = NO_HOST_CALLS

    def __init__(self, owner: Owner, client: ProxmoxClient, settings: ProxmoxSettings) -> None:
        self.seeds = settings.section.seed
        self.client = client
        self.settings = settings
        self._templates = Templates(client, settings, owner)
        lookup = Lookup(client)
        self._machines = Machines(client, owner, settings, lookup, Addresses(client, settings))
        self._volumes = Volumes(client, owner, settings.cache)
        self._power = PowerSwitch(client, lookup)
        self._making = Making(self._machines, self._volumes, Starting(settings, self._templates), self._power)
        self._resources = ProxmoxResources(owner, settings, self._volumes, self._templates, self._machines)

    async def preflight(self, specs: Sequence[MachineSpec]) -> list[Finding]:
        return await look(self.client, self.settings, self._machines, self._templates, specs)

    async def find(self) -> list[Machine]:
        return await self._machines.list()

    async def find_renamed(self) -> Mapping[str, tuple[str, ...]]:
        return await self._machines.renamed()

    async def create(self, spec: MachineSpec, seed: Secret | None = None) -> Machine:
        vm, started = await self._making.make(spec, seed)
        return await self._machines.described(vm if started else await self._live(vm), "on")

    async def destroy(self, machine: Machine) -> None:
        vm = await self._whole(machine)
        if vm is None:
            if machine.unfinished:
                await self._delete_seeds(machine)
            return
        if vm.is_protected:
            raise failure(f"delete {machine.name}", f"can't remove VM {vm.vmid} - protection mode enabled")
        # Both before the VM: as long as it exists, what is left of it is found again.
        off = self._power.off(vm, surely_on=machine.power == "on")
        for done in await asyncio.gather(off, self._delete_seeds(machine, vm.host), return_exceptions=True):
            if isinstance(done, BaseException) and not isinstance(done, Gone):  # a task of an earlier run was faster
                raise done
        try:
            where = path("nodes", vm.host, "qemu", vm.vmid)
            upid = await self.client.delete(where, purge=1, **{"destroy-unreferenced-disks": 1})
            await follow(self.client, upid, f"delete {machine.name} (VM {vm.vmid})")
        except Gone:
            return

    async def _delete_seeds(self, machine: Machine, *hosts_now: str) -> bool:
        """Of the Proxmox node that has the VM, and of the one that it was created on."""
        spec = self.settings.specs.get(machine.name)
        created_on = (self.settings.host(spec),) if spec is not None else self.settings.hosts
        hosts = {*hosts_now, *created_on}
        storage = self.settings.section.iso_storage
        if not self.settings.section.seed and not machine.seeded:
            return False
        return any([await self._volumes.delete_seeds(host, storage, machine.name) for host in sorted(hosts)])

    async def _whole(self, machine: Machine) -> Vm | None:
        """The machine's VM once no task makes it any more, if it is this cluster's then."""
        vm = await self._machines.ours(machine)
        if vm is None and machine.unfinished:
            vmid = int(machine.id.partition("/")[0])
            host = await self._machines.lookup.host_of(vmid)
            vm = await self._machines.lookup.vm(host, vmid) if host else None
        if vm is not None and vm.being_made:
            vm = await self._machines.lookup.made(vm, _MADE_BY_OTHERS)
        return vm if vm is not None and self._machines.is_ours(vm) else None

    async def power(self, machine: Machine, on: bool) -> None:
        vm = await self._machines.must_be_ours(machine)
        await (self._power.on(vm) if on else self._power.off(vm))

    async def resize(self, machine: Machine, spec: MachineSpec) -> Machine:
        vm = await self._machines.must_be_ours(machine)
        before = await self._machines.described(await self._live(vm))
        refuse_less(before, spec)
        if needs_restart(before, spec):
            await self._power.shut_down(vm, self.settings.patience)
            vm = await self._machines.must_be_ours(machine)  # what waited for the next start is in the config now
            vm = await self._making.changed(vm, **self._restart_options(spec))
        vm = await self._making.changed(vm, **self._running_options(vm, spec))
        vm = await self._making.grown(vm, spec)
        await self._power.on(vm)
        return await self._machines.described(await self._live(vm), "on")

    def _restart_options(self, spec: MachineSpec) -> options.Options:
        wanted = options.hardware(self.settings, spec)
        return {name: wanted[name] for name in ("cores", "sockets", "memory", "cpu")}

    def _running_options(self, vm: Vm, spec: MachineSpec) -> options.Options:
        """Tags of the user's own stay; the interface keeps what else was set by hand."""
        boot = self.settings.boot(spec)
        wanted = options.chosen(self.settings, self._machines.owner, spec, boot)
        del wanted["boot"]
        wanted["tags"] = ";".join(sorted({*(tag.lower() for tag in vm.tags), *str(wanted["tags"]).split(";")}))
        there = vm.interface
        section = self.settings.section
        same_link = (there.get("bridge"), there.get("tag", "")) == (section.bridge, str(section.vlan or ""))
        if same_link and (not spec.mac or there.get("mac") == spec.mac.lower()):
            del wanted["net0"]
        return wanted

    async def forget_seed(self, machine: Machine) -> bool:
        """Empties its drives and deletes the seed, which has the config in it; whether there was one."""
        vm = await self._making.emptied(await self._machines.must_be_ours(machine))
        return await self._delete_seeds(machine, vm.host)

    async def close(self) -> None:
        await self.client.close()

    async def _live(self, vm: Vm) -> Vm:
        return await self._machines.lookup.vm(vm.host, vm.vmid, live=True) or vm

    # Templates

    async def templates(self) -> list[Template]:
        found = await self._templates.listed()
        linked = await self._templates.linked(found)
        return [_shown(one, [f"VM {vmid}" for vmid in linked.get(one.vm.vmid, ())]) for one in found]

    async def create_template(self, name: str = "") -> list[Template]:
        """Machines of one image on one Proxmox node share a template."""
        disk = self.settings.disk or self.settings.boot
        wanted = {(disk(spec), self.settings.host(spec)): None for spec in self.settings.specs.values()}
        if name and len({boot for boot, _ in wanted}) > 1:
            raise UsageError(
                "the nodes have different images, so there are several templates", hint="leave `--name` out"
            )
        return [_shown(await self._made_template(boot, host, name), ()) for boot, host in wanted]

    async def _made_template(self, boot: Boot, host: str, name: str) -> FoundTemplate:
        if boot.source is None:
            return await self._templates.make(boot.volume, host, boot.volume, name=name, kept=True)
        storage = self.settings.section.images_in
        found = await self._templates.find(boot.source.name, host)
        if found is not None and found.vm.is_template:
            return found
        volume = await self._volumes.upload_image(host, storage, boot.source)
        made = await self._templates.make(boot.source.name, host, volume, name=name, kept=True)
        if not await self._volumes.is_claimed(host, self.settings.section.iso_storage, boot.source):
            await self._volumes.delete(host, storage, volume)  # it is in the template now
        return made

    async def delete_template(self, template: Template) -> None:
        for one in await self._templates.listed():
            if (str(one.vm.vmid), one.vm.host) == (template.id, template.host):
                if clones := (await self._templates.linked([one])).get(one.vm.vmid):
                    raise Permanent(
                        f"linked clones need the template {one.vm.name}: VM {', '.join(map(str, clones))}",
                        hint="delete these machines first",
                    )
                await self._templates.delete(one)


def _shown(found: FoundTemplate, linked: Sequence[str]) -> Template:
    vm = found.vm
    return Template(
        id=str(vm.vmid),
        name=vm.name,
        host=vm.host,
        storage=found.storage,
        image=found.image,
        finished=vm.is_template,
        kept=found.kept,
        used_by=(*(f"cluster {one}" for one in found.clusters), *linked),
    )
