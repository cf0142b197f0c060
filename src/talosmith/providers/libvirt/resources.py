"""What a cluster's machines stand on at a libvirt host: a network, a storage pool, and the image of their disks.

Each is wanted only where the inventory has it created (`make_network`, `pool_path`); the image always. A network is
known as this cluster's by its metadata, a pool by its uuid, an image by the cluster's claim beside it in the pool.
A network or pool of a wanted name that is not ours is used unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.resources import Difference, Resource, ResourceKey, ResourceSpec, Setting, changed_settings
from talosmith.providers.base import Known
from talosmith.providers.images import Image, Source, obtain, peek
from talosmith.providers.libvirt.connection import Host, found, libvirt
from talosmith.providers.libvirt.machines import each
from talosmith.providers.libvirt.networks import read_network, render_network
from talosmith.providers.libvirt.settings import LibvirtSettings
from talosmith.providers.libvirt.storage import claimed, is_image, pool_uuid, read_pool, read_volume, uuid_in
from talosmith.providers.libvirt.store import Store, switch_on
from talosmith.providers.libvirt.xml import attribute, parse
from talosmith.tasks import in_thread

_ON: Mapping[str, bool] = {"active": True, "autostart": True}
_IN_PLACE = {*_ON, "uploaded"}
_REMEDIES = {
    "network": "put the old value back into the inventory; or shut the machines down, `virsh net-destroy {name}` and "
    "`virsh net-undefine {name}` on the host, and run the same again",
    "pool": "put `libvirt.pool_path` back; a pool elsewhere needs another name (`libvirt.pool`) and new machines",
}


@dataclass(frozen=True, slots=True)
class LibvirtResources:
    """All of `HasResources`. What has a `connection` runs in worker threads, as the work of one `Host.do`."""

    owner: Owner
    host: Host
    store: Store
    settings: LibvirtSettings
    _fetching: asyncio.Lock = field(default_factory=asyncio.Lock)

    def wanted(self) -> tuple[ResourceSpec, ...]:
        section, network = self.settings.section, self.settings.network
        specs, settings = list[ResourceSpec](), dict[str, Setting]()
        if network is not None:
            settings = {"mode": network.mode, "address": f"{network.address}/{network.prefix}"}
            settings |= {"bridge": network.bridge, **_ON}
            specs.append(ResourceSpec(kind="network", name=network.name, settings=settings))
        if section.pool_path:
            settings = {"type": "dir", "path": section.pool_path, **_ON}
            specs.append(ResourceSpec(kind="pool", name=section.pool, settings=settings, shared=True))
        return (*specs, *map(self._wanted_image, self.settings.sources))

    def _wanted_image(self, source: Source) -> ResourceSpec:
        section = self.settings.section
        checksum = {"checksum": source.checksum} if source.checksum else {}
        return ResourceSpec(
            kind="image",
            name=source.name,
            settings={"source": source.place, **checksum, "pool": section.pool, "uploaded": True},
            needs=self._pool_key,
            shared=True,
            on_demand=True,
        )

    @property
    def _pool_key(self) -> tuple[ResourceKey, ...]:
        """Of the pool, if it is one of the resources."""
        section = self.settings.section
        return (ResourceKey("pool", section.pool),) if section.pool_path else ()

    def machine_needs(self, spec: MachineSpec) -> tuple[ResourceKey, ...]:
        network = self.settings.network
        keys = [*([ResourceKey("network", network.name)] if network is not None else []), *self._pool_key]
        return (*keys, ResourceKey("image", self.settings.image(spec).name))

    def difference(self, found: Resource, wanted: ResourceSpec) -> Difference:
        changed = changed_settings(found, wanted)
        if {one.name for one in changed} <= _IN_PLACE:
            return Difference(change="update" if changed else "none", settings=changed)
        remedy = _REMEDIES.get(wanted.kind, "").format(name=wanted.name)
        return Difference(change="replace", settings=changed, remedy=remedy)

    # Looking

    async def find(self) -> list[Resource]:
        images = await in_thread(self._known_images)
        return await self.host.do("look for resources", lambda one: list(self._all(one, images)))

    def _known_images(self) -> dict[str, ResourceSpec]:
        """By digest: wanted images that were fetched to this computer before. Of others no digest is known."""
        known = ((peek(source, self.settings.cache), source) for source in self.settings.sources)
        return {image.digest[:32]: self._wanted_image(source) for image, source in known if image is not None}

    def _all(self, connection: Any, images: Mapping[str, ResourceSpec]) -> Iterator[Resource]:
        yield from self._networks(connection)
        yield from self._pools(connection)
        yield from self._images(connection, images)

    def _networks(self, connection: Any) -> Iterator[Resource]:
        wanted = self.settings.network
        for network in connection.listAllNetworks():
            text = found(network.XMLDesc)
            if not text:  # it went while we asked
                continue
            described = read_network(text)
            ours = described.owner == self.owner
            if ours or (wanted is not None and wanted.name == described.name):
                settings: dict[str, Setting] = {
                    "mode": described.mode,
                    "address": f"{described.address}/{described.prefix}",
                    "bridge": attribute(parse(text), "bridge", "name"),
                    "active": bool(network.isActive()),
                    "autostart": bool(network.autostart()),
                }
                yield Resource(
                    id=network.UUIDString(),
                    kind="network",
                    name=described.name,
                    settings=settings,
                    tags=self._tags(described.owner),
                    used_by=self._foreign_machines_in(connection, described.name) if ours else (),
                )

    def _foreign_machines_in(self, connection: Any, network: str) -> tuple[str, ...]:
        """Machines that are not ours may be attached to our network."""
        domains = [described for _, described in each(connection.listAllDomains())]
        return tuple(sorted(one.name for one in domains if one.link.network == network and not one.is_of(self.owner)))

    def _pools(self, connection: Any) -> Iterator[Resource]:
        for pool in connection.listAllStoragePools():
            name, uuid = pool.name(), pool.UUIDString()
            ours = uuid == pool_uuid(self.owner, name)
            if ours or (self.store.pool_path and name == self.store.pool_name):
                described = read_pool(pool.XMLDesc())
                active = bool(pool.isActive())
                there = [one.name() for one in pool.listAllVolumes()] if ours and active else []
                settings: dict[str, Setting] = {"type": described.type, "path": described.path}
                settings |= {"active": active, "autostart": bool(pool.autostart())}
                yield Resource(
                    id=uuid,
                    kind="pool",
                    name=name,
                    settings=settings,
                    tags=self._tags(self.owner if ours else None),
                    shared=True,
                    used_by=tuple(sorted(filter(self._is_foreign, there))),
                )

    def _is_foreign(self, volume: str) -> bool:
        """Images have no owner: those that only this cluster has claimed are deleted before the pool."""
        return not uuid_in(self.owner, volume) and claimed(volume)[0] != self.owner.id and not is_image(volume)

    def _images(self, connection: Any, known: Mapping[str, ResourceSpec]) -> Iterator[Resource]:
        pool = self.store.pool(connection)
        if pool is None:
            return
        volumes = {one.name(): one for one in pool.listAllVolumes()}
        claims = [(whose, digest, name) for name in volumes for whose, digest in [claimed(name)] if whose]
        foreign = [name for name in volumes if self._is_foreign(name) and not claimed(name)[0]]
        backing = {read_volume(text).backing: name for name in foreign if (text := found(volumes[name].XMLDesc))}
        for digest in [digest for whose, digest, _ in claims if whose == self.owner.id]:
            images = [one for name, one in volumes.items() if is_image(name, digest)]
            others = [name for whose, other, name in claims if other == digest and whose != self.owner.id]
            others += [backing[path] for one in images if (path := one.path()) in backing]
            spec = known.get(digest)
            uploaded = bool(images) and (spec is None or self.store.is_whole(connection, images[0]))
            settings = {**spec.settings, "uploaded": uploaded} if spec else {"uploaded": uploaded}
            yield Resource(
                id=digest,
                kind="image",
                name=spec.name if spec else digest[:12],
                settings=settings,
                tags=self._tags(self.owner),
                needs=self._pool_key,
                shared=True,
                used_by=tuple(sorted(others)),
            )

    def _tags(self, owner: Owner | None) -> dict[str, str]:
        return owner.resource_tags if owner is not None else {}

    # Changing

    async def image(self, source: Source) -> Image:
        """One fetch at a time: all machines want the same."""
        async with self._fetching:
            return await in_thread(lambda: obtain(source, self.settings.cache))

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        what = f"create {spec.key}"
        if spec.kind == "image":
            source = next(one for one in self.settings.sources if one.name == spec.name)
            image = await self.image(source)
            await self.host.do(what, lambda one: self.store.upload_image(one, self.store.ready_pool(one), image))
        elif spec.kind == "pool":
            await self.host.do(what, self.store.make_pool)
        else:
            await self.host.do(what, self._make_network)
        there = [one for one in await self.find() if one.key == spec.key]
        if not there:
            raise Temporary(f"the {spec.key} was deleted just after it was created", retry_after=1.0)
        return there[0]

    async def update(self, there: Resource, spec: ResourceSpec, known: Known) -> Resource:
        difference = self.difference(there, spec)
        if difference.change == "replace":
            changes = ", ".join(map(str, difference.settings))
            raise Permanent(f"the {spec.key} cannot be changed in place: {changes}", hint=difference.remedy)
        return await self.create(spec, known)

    async def delete(self, there: Resource) -> None:
        def work(connection: Any) -> None:
            if there.kind == "image":
                pool = self.store.pool(connection, start=True)
                if pool is not None:
                    self.store.delete_image(pool, there.id)
            elif there.kind == "pool":
                self.store.delete_pool(connection, there.id)
            else:
                self._delete_network(connection, there)

        await self.host.do(f"delete {there.key}", work)

    def _make_network(self, connection: Any) -> None:
        wanted = self.settings.network
        if wanted is None:
            return
        network = found(lambda: connection.networkLookupByName(wanted.name))
        if network is None:
            try:
                network = connection.networkDefineXML(render_network(wanted))
            except libvirt().libvirtError:
                network = found(lambda: connection.networkLookupByName(wanted.name))
                if network is None:  # else another was faster
                    raise
        if read_network(network.XMLDesc()).owner == self.owner:  # a foreign network is used unchanged
            switch_on(network)
            if not network.autostart():
                network.setAutostart(1)

    def _delete_network(self, connection: Any, there: Resource) -> None:
        network = found(lambda: connection.networkLookupByUUIDString(there.id))
        text = found(network.XMLDesc) if network is not None else None
        if network is None or not text or read_network(text).owner != self.owner:
            return
        users = [one.name for _, one in each(connection.listAllDomains()) if one.link.network == there.name]
        if users:
            raise Temporary(f"the {there.key} is in use by {', '.join(users)}", retry_after=2.0)
        if network.isActive():
            network.destroy()
        network.undefine()
