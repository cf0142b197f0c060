"""Providers: one section of the inventory each. Exactly one is used; without a section, the lab."""

from __future__ import annotations

from talosmith.model.providers.aws import Aws
from talosmith.model.providers.base import ProviderSection
from talosmith.model.providers.docker import Docker
from talosmith.model.providers.lab import Lab
from talosmith.model.providers.libvirt import Libvirt
from talosmith.model.providers.metal import Metal
from talosmith.model.providers.proxmox import Proxmox

__all__ = ["PROVIDERS", "Aws", "Docker", "Lab", "Libvirt", "Metal", "ProviderSection", "Proxmox"]

PROVIDERS: dict[str, type[ProviderSection]] = {
    section.name: section for section in (Lab, Libvirt, Proxmox, Aws, Docker, Metal)
}
