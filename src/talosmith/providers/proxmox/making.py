"""How a machine comes to be: created from an ISO or an image, or cloned, then finished and started.

A VMID is given once in a Proxmox cluster: of several that create it, one gets the VM, and the others use what that
one has made, if it is this cluster's. From the first moment the description says whose the VM is and that it is not
finished; every step after that can be repeated, and each change is sent with the digest of the config that it was
decided on, so that two runs never do the same one twice.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import MachineSpec
from talosmith.model.secret import Secret
from talosmith.providers.progress import report_progress
from talosmith.providers.proxmox import options
from talosmith.providers.proxmox.client import Value, path
from talosmith.providers.proxmox.failures import Taken
from talosmith.providers.proxmox.lanes import Lanes
from talosmith.providers.proxmox.machines import Machines
from talosmith.providers.proxmox.marker import TAG, describe_machine, owner_tag
from talosmith.providers.proxmox.options import vmid_of
from talosmith.providers.proxmox.power import PowerSwitch
from talosmith.providers.proxmox.settings import Boot
from talosmith.providers.proxmox.starting import Starting
from talosmith.providers.proxmox.tasks import follow
from talosmith.providers.proxmox.vm import EMPTY_DRIVE, ISO_DRIVE, ROUNDED, SEED_DRIVE, Vm
from talosmith.providers.proxmox.volumes import Volumes, image_file, seed_prefix

_IN_THE_MAKING = 600.0  # seconds that the task of another run is waited for


@dataclass(slots=True)
class Making:
    machines: Machines
    volumes: Volumes
    starting: Starting
    power: PowerSwitch
    lanes: Lanes = field(default_factory=Lanes)
    _alone: defaultdict[int, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def make(self, spec: MachineSpec, seed: Secret | None) -> tuple[Vm, bool]:
        """The machine's VM, finished and powered on; whether it was powered on just now."""
        vmid = vmid_of(spec)
        async with self._alone[vmid]:
            there = await self._existing(vmid)
            vm = await self._settled(there or await self._begun(spec, seed), spec)
            if vm.marker.unfinished:
                vm = await self._finished(vm, spec, seed)
            return vm, await self.power.on(vm, surely_off=there is None)

    async def _existing(self, vmid: int) -> Vm | None:
        lookup = self.machines.lookup
        host = await lookup.host_of(vmid)
        return await lookup.vm(host, vmid) if host else None

    async def _begun(self, spec: MachineSpec, seed: Secret | None) -> Vm:
        boot, host = self.machines.settings.boot(spec), self.machines.settings.host(spec)
        try:
            if boot.kind == "template":
                await self._clone(spec, boot, host)
            else:
                await self._create(spec, boot, host, seed)
        except Taken as taken:  # since we have looked, or the list is late
            vm = await self._existing(vmid_of(spec)) or await self.machines.lookup.vm(host, vmid_of(spec))
            if vm is None:
                raise Temporary(str(taken), hint=taken.hint, retry_after=1.0) from None
            return vm
        vm = await self.machines.lookup.vm(host, vmid_of(spec))
        if vm is None:
            raise Temporary(
                f"{spec.name}: VM {vmid_of(spec)} was deleted just after it was created",
                hint="or the token has no VM.Audit on it: `talosmith doctor` lists what it may not do",
            )
        return vm

    async def _create(self, spec: MachineSpec, boot: Boot, host: str, seed: Secret | None) -> None:
        settings = self.machines.settings
        volume = self.starting.volume(boot)
        attached = await self._seed(spec, host, seed)
        wanted = options.created(settings, self.machines.owner, spec, boot, volume, attached)
        what = f"create {spec.name} (VM {vmid_of(spec)}) on {host}"
        async with self.lanes.writing(host, settings.section.datastore):
            report_progress(f"creating VM {vmid_of(spec)} on {host}")
            client = self.machines.client
            await follow(client, await client.post(path("nodes", host, "qemu"), **wanted), what)

    async def _clone(self, spec: MachineSpec, boot: Boot, host: str) -> None:
        """The description goes with the call: the clone is known as ours before its first disk is copied."""
        section, vmid = self.machines.settings.section, vmid_of(spec)
        source = await self.starting.template(boot, host)
        wanted: options.Options = {
            "newid": vmid,
            "name": spec.name,
            "full": section.clone == "full",
            "description": describe_machine(self.machines.owner, spec, vmid, unfinished=True),
        }
        if section.clone == "full":
            wanted["storage"] = section.datastore
        if source.host != host:
            wanted["target"] = host
        if section.pool:
            wanted["pool"] = section.pool
        what = f"clone {source.name or source.vmid} to {spec.name} (VM {vmid}) on {host}"
        async with self.lanes.cloning(host, section.datastore):
            report_progress(f"cloning {source.name or source.vmid} to VM {vmid}")
            client = self.machines.client
            upid = await client.post(path("nodes", source.host, "qemu", source.vmid, "clone"), **wanted)
            await follow(client, upid, what)

    async def _seed(self, spec: MachineSpec, host: str, seed: Secret | None) -> str:
        settings = self.machines.settings
        if not settings.section.seed:
            return ""
        iso = settings.seed(spec, seed)
        return await self.volumes.upload_seed(host, settings.section.iso_storage, spec.name, iso)

    async def _settled(self, vm: Vm, spec: MachineSpec) -> Vm:
        """The VM when nothing makes it any more, if it is this node's machine."""
        if vm.being_made:
            report_progress(f"waiting for the task that makes VM {vm.vmid}")
        made = await self.machines.lookup.made(vm, _IN_THE_MAKING)
        if made is None:
            gone = f"{spec.name}: the task that made VM {vm.vmid} failed, and the VM is gone"
            raise Temporary(gone, retry_after=0.1)
        if made.being_made:
            raise Temporary(f"{spec.name}: VM {vm.vmid} is still being made by a task on {vm.host}")
        marker = made.marker
        if not self.machines.is_ours(made) or marker.node != spec.name:
            raise self.taken(made, spec)
        return made

    def taken(self, vm: Vm, spec: MachineSpec) -> Permanent:
        marker = vm.marker
        whose = "not created by talosmith"
        if marker.is_of(self.machines.owner):
            lost = f", but without the tag {owner_tag(self.machines.owner)}"
            whose = f"the machine of node {marker.node}{'' if self.machines.is_ours(vm) else lost}"
        elif marker.is_machine:
            whose = f"node {marker.node} of another cluster {marker.fields.get('cluster', '')!r}"
        return Permanent(
            f"VMID {vm.vmid} of {spec.name} is taken: VM {vm.name or vm.vmid!r} on {vm.host} is {whose}",
            hint="set `vmid` of the node or `proxmox.vmid_base`, or delete that VM if it is not needed",
        )

    # Finishing: everything here may have been done before, by us or by another run

    async def _finished(self, vm: Vm, spec: MachineSpec, seed: Secret | None) -> Vm:
        boot = self.machines.settings.boot(spec)
        if boot.kind == "template":
            vm = await self._equipped(vm, spec, boot, seed)
        vm = await self.grown(vm, spec)
        owner, settings = self.machines.owner, self.machines.settings
        inherited = {tag for tag in vm.tags if not tag.startswith(f"{TAG}-")}  # not: whose the template is
        tags = ";".join(sorted({*inherited, *options.tags(settings, owner, spec)}))
        return await self.changed(vm, tags=tags, description=describe_machine(owner, spec, vm.vmid))

    async def _equipped(self, vm: Vm, spec: MachineSpec, boot: Boot, seed: Secret | None) -> Vm:
        """A clone has the hardware of its template."""
        settings, owner = self.machines.settings, self.machines.owner
        attached = await self._seed(spec, vm.host, seed)
        chosen = options.chosen(settings, owner, spec, boot)
        wanted = {**options.hardware(settings, spec), **chosen}
        if attached:
            wanted[SEED_DRIVE] = f"{attached},media=cdrom"
        del wanted["tags"]  # these come last: they say that the machine is whole
        if vm.media(SEED_DRIVE) == attached:
            wanted.pop(SEED_DRIVE, None)
        return await self.changed(vm, **options.differing(vm.config, wanted))

    async def grown(self, vm: Vm, spec: MachineSpec) -> Vm:
        """Disks of the wanted sizes: larger ones, and those that are missing."""
        datastore, client = self.machines.settings.section.datastore, self.machines.client
        for number, mib in enumerate(spec.disks_mib):
            there = vm.disks
            if number >= len(there):
                vm = await self.changed(vm, **{_free_slot(vm): options.new_disk(datastore, mib)})
            elif there[number].mib < mib:
                where = path("nodes", vm.host, "qemu", vm.vmid, "resize")
                upid = await client.put(where, disk=there[number].slot, size=f"{mib}M", digest=vm.digest)
                await follow(client, upid, f"resize {there[number].slot} of {spec.name}")
                vm = await self._again(vm)
            elif number == 0 and there[0].mib >= mib + ROUNDED:
                raise Permanent(
                    f"{spec.name}: a disk of {mib} MiB is smaller than the image, {there[0].mib} MiB",
                    hint="give the node a larger `disk`",
                )
        return vm

    async def changed(self, vm: Vm, **wanted: Value) -> Vm:
        """With these options of the config; nothing is sent if it has them."""
        left = options.differing(vm.config, wanted)
        if not left:
            return vm
        where = path("nodes", vm.host, "qemu", vm.vmid, "config")
        await self.machines.client.put(where, digest=vm.digest, **left)
        return await self._again(vm)

    async def _again(self, vm: Vm) -> Vm:
        found = await self.machines.lookup.vm(vm.host, vm.vmid)
        if found is None:
            raise Temporary(f"VM {vm.vmid} was deleted meanwhile")
        return found

    async def emptied(self, vm: Vm) -> Vm:
        """Without seed and ISO in its drives. They stay, empty: a drive goes only with a restart."""
        ours = {SEED_DRIVE: seed_prefix(self.machines.owner), ISO_DRIVE: self._booted_iso(vm)}
        drives = [drive for drive, name in ours.items() if name and name in vm.media(drive)]
        return await self.changed(vm, **dict.fromkeys(drives, EMPTY_DRIVE))

    def _booted_iso(self, vm: Vm) -> str:
        """The ISO that the machine was created with; another one in its drive is the user's."""
        spec = self.machines.settings.specs.get(vm.marker.node)
        boot = self.machines.settings.boot(spec) if spec is not None else None
        if boot is None or not boot.is_iso:
            return ""
        return boot.volume or (image_file(boot.source) if boot.source else "")


def _free_slot(vm: Vm) -> str:
    return next(f"scsi{number}" for number in range(31) if f"scsi{number}" not in vm.config)
