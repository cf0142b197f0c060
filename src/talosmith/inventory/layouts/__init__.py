"""Layouts: what each provider decides about the nodes of an inventory. One file each."""

from __future__ import annotations

from typing import Any

from talosmith.inventory.layouts.aws import AwsLayout
from talosmith.inventory.layouts.docker import DockerLayout
from talosmith.inventory.layouts.lab import LabLayout
from talosmith.inventory.layouts.layout import Layout
from talosmith.inventory.layouts.libvirt import LibvirtLayout
from talosmith.inventory.layouts.metal import MetalLayout
from talosmith.inventory.layouts.proxmox import ProxmoxLayout
from talosmith.model.providers import ProviderSection

LAYOUTS: dict[str, type[Layout[Any]]] = {
    "lab": LabLayout,
    "libvirt": LibvirtLayout,
    "proxmox": ProxmoxLayout,
    "aws": AwsLayout,
    "docker": DockerLayout,
    "metal": MetalLayout,
}


def layout_of(section: ProviderSection) -> Layout[Any]:
    return LAYOUTS[section.name](section)
