"""Where machines come from: one folder for each provider, one protocol for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talosmith.errors import Permanent
from talosmith.model.providers import Aws, Lab, Libvirt, Metal, Proxmox

if TYPE_CHECKING:
    from talosmith.desired.secrets_file import Secrets
    from talosmith.model.cluster import Cluster
    from talosmith.model.machines import Owner
    from talosmith.providers.base import Provider


def provider_for(cluster: Cluster, owner: Owner, secrets: Secrets | None) -> Provider:
    """The provider that the cluster's inventory names. Nothing is connected to, started or read yet.

    Each is imported only when it is used: the libraries of other providers need not be installed.
    """
    section = cluster.provider
    if isinstance(section, Lab):
        from talosmith.providers.lab import lab_provider

        return lab_provider(cluster, section, owner)
    if isinstance(section, Libvirt):
        from talosmith.providers.libvirt import libvirt_provider

        return libvirt_provider(cluster, section, owner)
    if isinstance(section, Metal):
        from talosmith.providers.metal import metal_provider

        return metal_provider(cluster, section, owner, secrets)
    if isinstance(section, Proxmox):
        from talosmith.providers.proxmox import proxmox_provider

        return proxmox_provider(cluster, section, owner, secrets)
    if isinstance(section, Aws):
        from talosmith.providers.aws import aws_provider

        return aws_provider(cluster, section, owner)
    raise Permanent(
        f"provider `{section.name}` is not built yet",
        hint="use `metal` with machines that you create yourself, or `lab` to try things out",
    )
