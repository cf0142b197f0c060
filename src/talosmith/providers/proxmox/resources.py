"""What a cluster's machines stand on in Proxmox VE: images, ISOs and templates, one of each per Proxmox node.

Clusters share them. An image is this cluster's by a claim beside it, a template by the cluster's tag on it; the last
cluster that gives one up deletes it. What the inventory names as a volume or template of Proxmox is not here: it is
used as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.resources import Difference, Resource, ResourceKey, ResourceSpec, changed_settings
from talosmith.providers.base import Known
from talosmith.providers.images import Source
from talosmith.providers.proxmox.machines import Machines
from talosmith.providers.proxmox.settings import ProxmoxSettings
from talosmith.providers.proxmox.tasks import others_end
from talosmith.providers.proxmox.templates import Template, Templates
from talosmith.providers.proxmox.volumes import Volume, Volumes, claim_file, claimed, image_file

_IN_PLACE = {"uploaded", "template"}
_REMEDY = (
    "`talosmith template delete`, and the next run makes a new one; or put the old value back into the inventory"
)


@dataclass(frozen=True, slots=True)
class ProxmoxResources:
    """All of `HasResources`."""

    owner: Owner
    settings: ProxmoxSettings
    volumes: Volumes
    templates: Templates
    machines: Machines

    def wanted(self) -> tuple[ResourceSpec, ...]:
        return tuple({spec.key: spec for one in self.settings.specs.values() for spec in self._specs(one)}.values())

    def machine_needs(self, spec: MachineSpec) -> tuple[ResourceKey, ...]:
        return tuple(one.key for one in self._specs(spec))

    def _specs(self, spec: MachineSpec) -> Iterator[ResourceSpec]:
        boot, host = self.settings.boot(spec), self.settings.host(spec)
        if boot.source is None or boot.template:
            return
        image = self._image(boot.source, host)
        yield image
        if boot.kind == "template":
            yield ResourceSpec(
                kind="template",
                name=f"{boot.source.name}@{host}",
                settings={"storage": self.settings.section.datastore, "template": True},
                needs=(image.key,),
                shared=True,
                on_demand=True,
            )

    def _image(self, source: Source, host: str) -> ResourceSpec:
        checksum = {"checksum": source.checksum} if source.checksum else {}
        return ResourceSpec(
            kind="iso" if source.iso else "image",
            name=f"{source.name}@{host}",
            settings={
                "source": source.place,
                **checksum,
                "storage": self.settings.storage_of(source),
                "uploaded": True,
            },
            shared=True,
            on_demand=True,
        )

    def difference(self, found: Resource, wanted: ResourceSpec) -> Difference:
        changed = changed_settings(found, wanted)
        if {one.name for one in changed} <= _IN_PLACE:
            return Difference(change="update" if changed else "none", settings=changed)
        return Difference(change="replace", settings=changed, remedy=_REMEDY)

    # Looking

    async def find(self) -> list[Resource]:
        wanted = {spec.key: spec for spec in self.wanted()}
        clones = any(spec.kind == "template" for spec in wanted.values())
        await others_end(self.machines.client, self.templates.vmids if clones else ())
        found = [one for host in self.settings.hosts for one in await self._images(host, wanted)]
        if clones:
            templates = await self._own_templates()
            linked = await self.templates.linked(templates)
            found += [self._template(one, wanted, self._foreign(linked, one)) for one in templates]
        return found

    async def _images(self, host: str, wanted: Mapping[ResourceKey, ResourceSpec]) -> list[Resource]:
        section = self.settings.section
        isos = await self.volumes.listed(host, section.iso_storage, "iso")
        claims = [(whose, image) for one in isos for whose, image in [claimed(one.name)] if whose]
        ours = [image for whose, image in claims if whose == self.owner.id]
        files = {one.name: one for one in isos}
        if any(not image.endswith(".iso") for image in ours):
            files |= {
                one.name: one for one in await self.volumes.listed(host, self.settings.section.images_in, "import")
            }
        sources = {image_file(source): source for source in self._sources()}
        return [
            self._found_image(host, image, sources.get(image), files.get(image), wanted, claims) for image in ours
        ]

    def _sources(self) -> Iterator[Source]:
        for spec in self.settings.specs.values():
            boot = self.settings.boot(spec)
            if boot.source is not None:
                yield boot.source

    def _found_image(
        self,
        host: str,
        image: str,
        source: Source | None,
        file: Volume | None,
        wanted: Mapping[ResourceKey, ResourceSpec],
        claims: list[tuple[str, str]],
    ) -> Resource:
        kind = "iso" if image.endswith(".iso") else "image"
        label = source.name if source else image.removeprefix("talosmith-image-").rpartition(".")[0]
        spec = wanted.get(ResourceKey(kind, f"{label}@{host}"))
        others = {whose for whose, one in claims if one == image} - {self.owner.id}
        settings = {**(spec.settings if spec else {}), "uploaded": file is not None and file.size > 0}
        return Resource(
            id=f"{host}/{image}",
            kind=kind,
            name=f"{label}@{host}",
            settings=settings,
            tags=self.owner.resource_tags,
            shared=True,
            used_by=tuple(sorted(f"cluster {whose}" for whose in others)),
        )

    def _foreign(self, linked: Mapping[int, tuple[int, ...]], template: Template) -> tuple[str, ...]:
        """Linked clones of it that are not machines of this inventory."""
        others = sorted(set(linked.get(template.vm.vmid, ())) - set(self.settings.vmids))
        return tuple(f"VM {vmid}" for vmid in others)

    async def _own_templates(self) -> list[Template]:
        return [one for one in await self.templates.listed() if self.owner.id in one.clusters]

    def _template(self, one: Template, wanted: Mapping[ResourceKey, ResourceSpec], clones: Sequence[str]) -> Resource:
        key = ResourceKey("template", f"{one.image}@{one.vm.host}")
        others = [f"cluster {whose}" for whose in one.clusters if whose != self.owner.id]
        return Resource(
            id=one.vm.id,
            kind=key.kind,
            name=key.name,
            settings={"storage": one.storage, "template": one.vm.is_template},
            tags=self.owner.resource_tags,
            needs=wanted[key].needs if key in wanted else (),
            shared=True,
            used_by=tuple(sorted([*others, *clones, *(["its creator"] if one.kept else [])])),
        )

    # Changing

    async def create(self, spec: ResourceSpec, known: Known) -> Resource:
        host = spec.name.rpartition("@")[2]
        source = next(one for one in self._sources() if one.name == spec.name.rpartition("@")[0])
        if spec.kind == "template":
            await self._create_template(source, host)
        else:
            await self._create_image(spec, source, host)
        there = [one for one in await self.find() if one.key == spec.key]
        if not there:
            raise Temporary(f"the {spec.key} was deleted just after it was created")
        return there[0]

    async def _create_image(self, spec: ResourceSpec, source: Source, host: str) -> None:
        """The claim comes first: an image that is claimed is not deleted by another cluster."""
        await self.volumes.claim(host, self.settings.section.iso_storage, image_file(source))
        await self.volumes.upload_image(host, str(spec.settings["storage"]), source)

    async def _create_template(self, source: Source, host: str) -> None:
        volume = f"{self.settings.section.images_in}:import/{image_file(source)}"
        await self.templates.use(await self.templates.make(source.name, host, volume), by=True)

    async def update(self, there: Resource, spec: ResourceSpec, known: Known) -> Resource:
        difference = self.difference(there, spec)
        if difference.change == "replace":
            changes = ", ".join(map(str, difference.settings))
            raise Permanent(f"the {spec.key} cannot be changed in place: {changes}", hint=difference.remedy)
        return await self.create(spec, known)

    async def delete(self, there: Resource) -> None:
        if there.kind == "template":
            await self._delete_template(there)
            return
        host, _, image = there.id.partition("/")
        iso_storage = self.settings.section.iso_storage
        storage, content = (
            (iso_storage, "iso") if image.endswith(".iso") else (self.settings.section.images_in, "import")
        )
        isos = await self.volumes.listed(host, iso_storage, "iso")
        others = [one for one in isos if claimed(one.name)[1] == image and claimed(one.name)[0] != self.owner.id]
        mine = [one for one in isos if one.name == claim_file(self.owner, image)]
        if not mine:
            return  # never this cluster's, or given up
        if not others:
            await self._must_be_unused(there, host)
            for one in await self.volumes.listed(host, storage, content):
                if one.name == image:
                    await self.volumes.delete(host, storage, one.id)
        for one in mine:  # last, so that a run that is cut off is finished by the next
            await self.volumes.delete(host, iso_storage, one.id)

    async def _must_be_unused(self, there: Resource, host: str) -> None:
        """By machines and templates of this cluster, which are deleted before."""
        users = [one.name for one in await self.machines.standing()]
        users += [one.vm.name for one in await self._own_templates() if f"{one.image}@{host}" == there.name]
        if users:
            raise _in_use(there, users)

    async def _delete_template(self, there: Resource) -> None:
        found = [one for one in await self.templates.listed() if one.vm.id == there.id]
        if not found or self.owner.id not in found[0].clusters:
            return
        template = found[0]
        if standing := [one.name for one in await self.machines.standing()]:
            raise _in_use(there, standing)
        clones = self._foreign(await self.templates.linked([template]), template)
        kept = template.kept or set(template.clusters) - {self.owner.id} or clones
        if kept or not await self.templates.delete_unused(template):
            await self.templates.use(template, by=False)


def _in_use(resource: Resource, users: Sequence[str]) -> Temporary:
    return Temporary(
        f"the {resource.key} is in use by {', '.join(users)}",
        hint="these were created after the plan was made: run the same command again",
        retry_after=2.0,
    )
