"""Templates of Talos: made of a disk image, without config and identity, and cloned by machines.

A template is known by the line in its description. Clusters that use one put their tag on it; the last that removes
its tag deletes the template, unless the user has created it (`talosmith template create`).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import Owner
from talosmith.providers.proxmox import options
from talosmith.providers.proxmox.client import ProxmoxClient, path
from talosmith.providers.proxmox.failures import Gone, Taken
from talosmith.providers.proxmox.lookup import Lookup
from talosmith.providers.proxmox.marker import TAG, TEMPLATE_TAG, describe_template, owner_tag
from talosmith.providers.proxmox.settings import ProxmoxSettings
from talosmith.providers.proxmox.tasks import converts, follow
from talosmith.providers.proxmox.vm import Vm

_SPREAD = 500  # VMIDs over which templates are spread, so that two that are made at once rarely want the same
_MOST = 50  # VMIDs that are tried
_BASE = re.compile(r"base-(\d+)-")  # in the name of a template's disk, and of the disks of its linked clones


def template_name(image: str) -> str:
    """`talos-nocloud-amd64-v1-13-9-1a2b3c4d`: a name of Proxmox is one of DNS."""
    return f"talos-{re.sub('[^a-z0-9]+', '-', image.lower()).strip('-')}"[:63].rstrip("-")


@dataclass(frozen=True, slots=True)
class Template:
    vm: Vm

    @property
    def image(self) -> str:
        """The label of the image that it was made of."""
        return self.vm.marker.fields.get("image", "")

    @property
    def kept(self) -> bool:
        return "kept" in self.vm.marker.fields

    @property
    def storage(self) -> str:
        """That its disk is in."""
        disks = self.vm.disks
        return disks[0].volume.partition(":")[0] if disks else ""

    @property
    def has_base_disks(self) -> bool:
        return all("base-" in volume for volume in self.vm.volumes())

    @property
    def clusters(self) -> tuple[str, ...]:
        """Ids of the clusters that use it."""
        ours = (tag.removeprefix(f"{TAG}-") for tag in self.vm.tags if tag.startswith(f"{TAG}-"))
        return tuple(one for one in ours if re.fullmatch("[0-9a-f]+", one))


@dataclass(frozen=True, slots=True)
class Templates:
    client: ProxmoxClient
    settings: ProxmoxSettings
    owner: Owner

    @property
    def vmids(self) -> range:
        """That templates may have."""
        first = self.settings.section.vmid_base.templates
        return range(first, first + _SPREAD + _MOST)

    @property
    def lookup(self) -> Lookup:
        return Lookup(self.client)

    async def listed(self) -> list[Template]:
        """Of talosmith, on all Proxmox nodes, of all clusters."""
        found = []
        for row in await self.lookup.rows():
            if TEMPLATE_TAG in row.tags:
                vm = await self.lookup.vm(row.host, row.vmid)
                if vm is not None and vm.marker.kind == "template":
                    found.append(Template(vm))
        return found

    async def named(self, name: str, host: str) -> Vm:
        """An existing template by name or VMID, talosmith's or not; one on this Proxmox node if there is one."""
        rows = [row for row in await self.lookup.rows() if name in (str(row.vmid), row.name)]
        near = sorted(rows, key=lambda row: (row.host != host, not row.is_template))
        if not near:
            raise Permanent(
                f"there is no template {name!r} in Proxmox VE",
                hint="correct `proxmox.template`; `talosmith template create` makes one",
            )
        vm = await self.lookup.vm(near[0].host, near[0].vmid)
        if vm is None or not vm.is_template:
            raise Permanent(
                f"VM {near[0].vmid} ({name}) is not a template",
                hint="convert it to a template in Proxmox, or name another one in `proxmox.template`",
            )
        if not vm.disks:
            raise Permanent(
                f"the template {name!r} (VM {vm.vmid}) has no SCSI disk, which Talos is expected on",
                hint="use a template whose disk is scsi0; `talosmith template create` makes one",
            )
        return vm

    async def find(self, image: str, host: str) -> Template | None:
        """The one made of this image on this Proxmox node, finished or not."""
        for one in await self.listed():
            if one.image == image and one.vm.host == host:
                return one
        return None

    async def make(self, image: str, host: str, volume: str, *, name: str = "", kept: bool = False) -> Template:
        """Of the image's volume; a half-finished one is finished."""
        found = await self.find(image, host)
        if found is None:
            found = await self._create(image, host, volume, name or template_name(image), kept=kept)
        if found.vm.being_made:
            raise Temporary(f"VM {found.vm.vmid} is being created by another run", retry_after=1.0)
        if not found.vm.is_template:
            await self._convert(found)
        await self.must_be_whole(found)
        return await self._again(found)

    async def must_be_whole(self, found: Template) -> None:
        """Proxmox calls it a template from the beginning of the task that converts it; until the end of the task the
        disks are renamed, and a clone fails. Some storages never rename them."""
        if found.has_base_disks or (await self._again(found)).has_base_disks:
            return
        vm = found.vm
        if await converts(self.client, vm.host, vm.vmid):
            raise Temporary(f"VM {vm.vmid} is being converted to a template by another run", retry_after=1.0)

    async def _convert(self, found: Template) -> None:
        """Another run may be faster."""
        where = path("nodes", found.vm.host, "qemu", found.vm.vmid, "template")
        try:
            await follow(self.client, await self.client.post(where), f"convert VM {found.vm.vmid} to a template")
        except Permanent:
            if not (await self._again(found)).vm.is_template:
                raise

    async def _create(self, image: str, host: str, volume: str, name: str, *, kept: bool) -> Template:
        for row in await self.lookup.rows():
            if row.name == name and row.host == host:
                other = await self.lookup.vm(host, row.vmid)
                if other is None or other.being_made or other.marker.kind == "template":
                    raise Temporary(f"VM {row.vmid} is being created by another run")
                raise Permanent(
                    f"the template {image}@{host} cannot be created: VM {row.vmid} has the name {name!r}, and is not "
                    "a template of talosmith",
                    hint=f"rename it, or use it as it is: `proxmox.template: {row.vmid}`",
                )
        first = self.settings.section.vmid_base.templates + zlib.crc32(f"{name}@{host}".encode()) % _SPREAD
        for vmid in (vmid for vmid in range(first, first + _MOST) if vmid not in self.settings.vmids):
            description = describe_template(image, self.settings.section.datastore, vmid, kept=kept)
            wanted = options.template(self.settings, name, vmid, volume, description)
            if not kept:  # the cluster's from the beginning: `destroy` deletes also what is half finished
                wanted["tags"] = ";".join(sorted((TAG, TEMPLATE_TAG, owner_tag(self.owner))))
            try:
                upid = await self.client.post(path("nodes", host, "qemu"), **wanted)
            except Taken:
                other = await self.lookup.vm(host, vmid)
                if other is not None and (other.being_made or other.marker.fields.get("image") == image):
                    raise Temporary(f"VM {vmid} is being created by another run", retry_after=1.0) from None
                continue
            await follow(self.client, upid, f"create template {name}")
            vm = await self.lookup.vm(host, vmid)
            if vm is not None:
                return Template(vm)
        raise Permanent(
            f"VMIDs {first} to {first + _MOST - 1} are taken",
            hint="set `proxmox.vmid_base.templates` to a free range",
        )

    async def linked(self, templates: Sequence[Template]) -> dict[int, tuple[int, ...]]:
        """By VMID of the template: VMIDs of its linked clones, as their disks in the storage tell."""
        found: dict[int, tuple[int, ...]] = {}
        for host, storage in sorted({(one.vm.host, one.storage) for one in templates if one.storage}):
            where = path("nodes", host, "storage", storage, "content")
            for volume in await self.client.get(where, content="images"):
                for base in _BASE.findall(f"{volume.get('volid')} {volume.get('parent')}"):
                    if str(volume.get("vmid")) != base:
                        clones = {*found.get(int(base), ()), int(volume["vmid"])}
                        found[int(base)] = tuple(sorted(clones))
        return found

    async def use(self, template: Template, *, by: bool) -> Template:
        """Put this cluster's tag on it, or remove it."""
        mine = owner_tag(self.owner)
        wanted = sorted({*template.vm.tags, mine} if by else {*template.vm.tags} - {mine})
        if sorted(template.vm.tags) != wanted:
            where = path("nodes", template.vm.host, "qemu", template.vm.vmid, "config")
            await self.client.put(where, tags=";".join(wanted), digest=template.vm.digest)
        return await self._again(template)

    async def delete_unused(self, template: Template) -> bool:
        """False if linked clones need it, such as those that the token may not see."""
        try:
            await self.delete(template)
        except Permanent as wrong:
            if "linked clone" not in str(wrong):
                raise
            return False
        return True

    async def delete(self, template: Template) -> None:
        where = path("nodes", template.vm.host, "qemu", template.vm.vmid)
        try:
            upid = await self.client.delete(where, purge=1, **{"destroy-unreferenced-disks": 1})
            await follow(self.client, upid, f"delete template {template.vm.name}")
        except Gone:
            return

    async def _again(self, template: Template) -> Template:
        vm = await self.lookup.vm(template.vm.host, template.vm.vmid)
        if vm is None:
            raise Temporary(f"template {template.vm.name} was deleted meanwhile", retry_after=1.0)
        return Template(vm)
