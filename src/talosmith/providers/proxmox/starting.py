"""What machines start from, as Proxmox has it: the volume of an image or ISO, or the template to clone."""

from __future__ import annotations

from dataclasses import dataclass

from talosmith.errors import Permanent
from talosmith.providers.proxmox.settings import Boot, ProxmoxSettings
from talosmith.providers.proxmox.templates import Templates
from talosmith.providers.proxmox.vm import Vm
from talosmith.providers.proxmox.volumes import content_of, image_file


@dataclass(frozen=True, slots=True)
class Starting:
    settings: ProxmoxSettings
    templates: Templates

    def volume(self, boot: Boot) -> str:
        """Uploaded by a step of the plan before this one."""
        if boot.volume:
            return boot.volume
        if boot.source is None:
            raise AssertionError("neither a source nor a volume")
        return f"{self.settings.storage_of(boot.source)}:{content_of(boot.source)}/{image_file(boot.source)}"

    async def template(self, boot: Boot, host: str) -> Vm:
        if boot.template:
            return await self.templates.named(boot.template, host)
        if boot.source is None:
            raise AssertionError("neither a source nor a template")
        found = await self.templates.find(boot.source.name, host)
        if found is None or not found.vm.is_template:
            raise Permanent(
                f"there is no template of {boot.source.name} on {host}",
                hint="the template was deleted meanwhile: plan again, and it is created",
            )
        await self.templates.must_be_whole(found)
        return found.vm
