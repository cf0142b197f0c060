"""The machines of one cluster on a libvirt host.

A machine is a domain, and libvirt takes no name twice: to define it is what makes it ours, and everything before that
(disks, seed) carries a uuid of its own and has no owner until then. The second of two runs deletes its own volumes
and uses the machine of the first.
"""

from __future__ import annotations

import asyncio
import uuid as uuids
from collections.abc import Mapping, Sequence
from typing import Any

from talosmith.errors import TalosmithError
from talosmith.model.machines import Machine, MachineSpec, Owner
from talosmith.model.secret import Secret
from talosmith.providers.base import Finding, HostCalls
from talosmith.providers.delegate import DelegatesResources
from talosmith.providers.images import Image
from talosmith.providers.libvirt import calls, changes
from talosmith.providers.libvirt.capabilities import Capabilities, capabilities
from talosmith.providers.libvirt.connection import Host, found, libvirt
from talosmith.providers.libvirt.domain import Domain, Link, read, render
from talosmith.providers.libvirt.failures import GONE, NO_SUPPORT, NOT_NOW, code_of
from talosmith.providers.libvirt.machines import Machines, each, gone
from talosmith.providers.libvirt.preflight import look
from talosmith.providers.libvirt.resources import LibvirtResources
from talosmith.providers.libvirt.settings import LibvirtSettings
from talosmith.providers.libvirt.storage import Names, listed
from talosmith.providers.libvirt.store import Store, delete_volume
from talosmith.providers.libvirt.trial import Trials
from talosmith.providers.progress import report_progress
from talosmith.providers.sizes import needs_restart, refuse_less
from talosmith.tasks import shielded
from talosmith.waiting import poll

_INVALID = 8  # an argument that the driver does not know


class LibvirtProvider(DelegatesResources[LibvirtResources]):
    name = "libvirt"
    seeds = True
    simulated = False
    creates = True

    def __init__(self, owner: Owner, host: Host, settings: LibvirtSettings) -> None:
        self._owner = owner
        self._host = host
        self._settings = settings
        section = settings.section
        self._store = Store(host, owner, section.pool, section.pool_path or "")
        self._link = Link("", section.bridge) if section.bridge else Link(section.network or "default")
        self._machines = Machines(host, owner, self._store, self._link)
        self._trials = Trials(host, owner)
        self._resources = LibvirtResources(owner, host, self._store, settings)
        self._leaving = asyncio.Lock()

    @property
    def host_calls(self) -> HostCalls:
        return calls.host_calls(self._settings)

    async def preflight(self, specs: Sequence[MachineSpec]) -> list[Finding]:
        try:
            first = not await self.find()
        except TalosmithError:  # the look itself will say why
            first = False
        return await look(self._host, self._store, self._settings, self._trials, specs, first=first)

    async def find(self) -> list[Machine]:
        return await self._host.do("look for machines", self._machines.list)

    async def find_renamed(self) -> Mapping[str, tuple[str, ...]]:
        return await self._host.do("look for machines", self._machines.renamed)

    async def create(self, spec: MachineSpec, seed: Secret | None = None) -> Machine:
        there = await self._host.do(
            f"look for {spec.name}", lambda connection: self._machines.named(connection, spec.name)
        )
        if there is not None:
            return there
        image = await self._resources.image(self._settings.image(spec))
        iso = self._settings.seed(spec, seed)
        names = Names(self._owner, spec.name, str(uuids.uuid4()))
        try:
            wanted = await self._host.do(
                f"make the disks of {spec.name}",
                lambda connection: self._prepare(connection, spec, names, image, iso),
            )
            made = await self._host.do(f"define {spec.name}", lambda one: self._define(one, wanted), once=True)
        except BaseException:
            await shielded(self._withdraw(names))
            raise
        if made:
            await self._host.do(f"start {spec.name}", lambda one: _start(one.lookupByUUIDString(names.uuid)))
        else:
            await self._withdraw(names)
        there = await self._host.do(
            f"look for {spec.name}", lambda connection: self._machines.named(connection, spec.name)
        )
        if there is None:
            raise gone(spec.name)
        return there

    async def destroy(self, machine: Machine) -> None:
        if not await self._host.do(
            f"look for {machine.name}", lambda one: self._machines.ours(one, machine.id) is not None
        ):
            return
        await self._host.do(f"take {machine.name}'s disks", lambda one: self._empty(one, machine))
        await self._host.do(f"remove {machine.name}", lambda one: self._undefine(one, machine), once=True)
        async with self._leaving:
            await self._host.do("tidy up", self._tidy)

    async def power(self, machine: Machine, on: bool) -> None:
        act = _start if on else _stop
        await self._host.do(
            f"switch {machine.name} {'on' if on else 'off'}",
            lambda one: act(self._machines.must_be_ours(one, machine)),
        )

    async def resize(self, machine: Machine, spec: MachineSpec) -> Machine:
        before = await self._host.do(f"look at {machine.name}", lambda one: self._machines.described(one, machine))
        refuse_less(before, spec)
        if needs_restart(before, spec):
            await self._shut_down(machine)
        await self._host.do(f"change {machine.name}", lambda one: self._resize(one, machine, spec))
        await self.power(machine, True)
        return await self._host.do(f"look at {machine.name}", lambda one: self._machines.described(one, machine))

    async def console(self, machine: Machine, lines: int = 50) -> str:
        def read_log(connection: Any) -> str:
            domain = read(self._machines.must_be_ours(connection, machine).XMLDesc())
            pool = self._store.pool(connection)
            return self._store.console(connection, pool, domain.console) if pool and domain.console else ""

        text = await self._host.do(f"read {machine.name}'s console", read_log)
        return "".join(line + "\n" for line in text.replace("\r", "").splitlines()[-lines:])

    async def forget_seed(self, machine: Machine) -> bool:
        """Empties its drive and deletes the seed, which has the config in it; whether there was one."""
        return await self._host.do(f"delete {machine.name}'s seed", lambda one: self._switch_seed(one, machine, None))

    async def reseed(self, machine: Machine, spec: MachineSpec, seed: Secret | None) -> None:
        """Another seed for the next boot: uploaded beside the old one, put into the drive, then the old one goes."""
        iso = self._settings.seed(spec, seed)
        await self._host.do(f"change {machine.name}'s seed", lambda one: self._switch_seed(one, machine, iso))

    async def close(self) -> None:
        await self._host.close()

    # All below runs in worker threads

    def _prepare(
        self,
        connection: Any,
        spec: MachineSpec,
        names: Names,
        image: Image,
        iso: bytes,
    ) -> Domain:
        section = self._settings.section
        pool = self._store.ready_pool(connection)
        folder = self._store.described(pool).path
        disks = self._store.make_disks(pool, names, spec.disks_mib, image, self._store.image_path(pool, image))
        seed = self._store.upload_seed(connection, pool, names, iso)
        hardware: dict[str, Any] = self._hardware(capabilities(connection), spec.arch)
        return Domain(
            name=self._machines.domain_name(spec.name),
            uuid=names.uuid,
            tags=self._owner.tags(spec.name, spec.role),
            address=str(spec.ip),
            cpu=spec.cpu or 2,
            ram_mib=spec.ram_mib or 2048,
            disks=tuple(disks),
            seed=seed,
            mac=spec.mac or "",
            link=self._link,
            uefi=section.firmware == "uefi",
            tpm=section.tpm,
            console=f"{folder}/{names.console}",
            **hardware,
        )

    def _hardware(self, host: Capabilities, arch: str) -> dict[str, str]:
        """`auto` is KVM where machines really run with it."""
        section = self._settings.section
        wanted = host.hardware(arch, section.domain_type, section.cpu_model)
        if section.domain_type == "auto" and wanted["kind"] == "kvm" and self._trials.of(wanted).runs is False:
            return host.hardware(arch, "qemu", section.cpu_model)
        return wanted

    def _define(self, connection: Any, wanted: Domain) -> bool:
        """False if another run has defined a domain of this name meanwhile."""
        try:
            domain = connection.defineXML(render(wanted))
        except libvirt().libvirtError:
            if self._host.domain(connection, wanted.name) is None:
                raise
            return False
        if self._settings.section.autostart:
            try:
                domain.setAutostart(1)
            except libvirt().libvirtError as error:
                if code_of(error) != NO_SUPPORT:
                    raise
        return True

    async def _withdraw(self, names: Names) -> None:
        """Delete volumes that no machine has, if that can be known now; the last `destroy` deletes the rest."""
        try:
            await self._host.do("clean up", lambda connection: self._clear(connection, names))
        except TalosmithError:
            return

    def _clear(self, connection: Any, names: Names) -> None:
        pool = self._store.pool(connection)
        if pool is not None and self._host.domain_by_id(connection, names.uuid) is None:
            self._store.delete(pool, lambda one: one.name.startswith(names.prefix))

    # Changing

    def _resize(self, connection: Any, machine: Machine, spec: MachineSpec) -> None:
        domain = self._machines.must_be_ours(connection, machine)
        pool = self._store.ready_pool(connection)
        described = read(domain.XMLDesc(0))
        changes.grow(connection, domain, described, spec.disks_mib)
        names = Names(self._owner, machine.name, described.uuid)
        added = [
            self._store.add_disk(pool, names, number, mib)
            for number, mib in enumerate(spec.disks_mib)
            if number >= len(described.disks)
        ]
        changes.redefine(connection, domain, spec, (*described.disks, *added), self._link)

    async def _shut_down(self, machine: Machine) -> None:
        """By itself if it can; Talos then leaves etcd and Kubernetes in good order."""

        def ask(connection: Any) -> bool:
            domain = self._machines.must_be_ours(connection, machine)
            if not domain.isActive():
                return True
            try:
                domain.shutdown()
            except libvirt().libvirtError:
                if domain.isActive():  # else it went off just now
                    raise
            return not domain.isActive()

        report_progress("waiting for it to shut down")
        await poll(lambda: self._host.do(f"shut {machine.name} down", ask), every=0.5, limit=self._settings.patience)
        await self.power(machine, False)

    def _switch_seed(self, connection: Any, machine: Machine, iso: bytes | None) -> bool:
        domain = self._machines.must_be_ours(connection, machine)
        described = read(domain.XMLDesc(0))
        pool = self._store.ready_pool(connection) if iso is not None else self._store.pool(connection, start=True)
        names = Names(self._owner, machine.name, described.uuid)
        new = self._store.upload_seed(connection, pool, names, iso) if iso is not None else ""
        if new != described.seed:
            changes.put_in_drive(domain, new)
        there = listed(pool) if pool is not None else []
        old = [one for one in there if one.name.startswith(f"{names.prefix}seed-") and one.path != new]
        for one in old:
            delete_volume(found(lambda one=one: pool.storageVolLookupByName(one.name)))  # type: ignore[misc]
        return bool(old)

    # Taking away

    def _empty(self, connection: Any, machine: Machine) -> None:
        """Its volumes go before it does: as long as one is left, the machine is found, and destroyed again."""
        domain = self._machines.must_be_ours(connection, machine)
        _stop(domain)
        pool = self._store.pool(connection, start=True)
        if pool is not None:
            names = Names(self._owner, machine.name, domain.UUIDString())
            self._store.delete(pool, lambda one: one.name.startswith(names.prefix), refresh=True)

    def _undefine(self, connection: Any, machine: Machine) -> None:
        domain = self._machines.ours(connection, machine.id)
        if domain is None:
            return
        library = libvirt()
        whole = (
            library.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
            | library.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
            | library.VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA
            | library.VIR_DOMAIN_UNDEFINE_NVRAM
        )
        try:
            domain.undefineFlags(whole)
        except library.libvirtError as error:
            if code_of(error) in GONE:
                return
            if code_of(error) not in (_INVALID, NO_SUPPORT):
                raise
            domain.undefineFlags(library.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA)

    def _tidy(self, connection: Any) -> None:
        """What runs that were cut off have left; with the last machine, when nothing is under way."""
        if any(described.is_of(self._owner) for _, described in each(self._host.domains(connection))):
            return
        pool = self._store.pool(connection)
        if pool is not None:
            self._store.delete_leftovers(connection, pool)


def _start(domain: Any) -> None:
    try:
        if not domain.isActive():
            domain.create()
    except libvirt().libvirtError as error:
        if code_of(error) != NOT_NOW or not domain.isActive():
            raise


def _stop(domain: Any) -> None:
    try:
        if domain.isActive():
            domain.destroy()
    except libvirt().libvirtError as error:
        if code_of(error) not in (NOT_NOW, *GONE):
            raise
