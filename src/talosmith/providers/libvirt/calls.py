"""What a plan shows of the changes on a libvirt host that no step is about: those that may do it on the way show it.

A machine's own domain, disks and seed are the `machine:…` of its step, a network, pool or image the `resource:…` of
its own. A test records every function of libvirt that the provider calls and compares them with what steps show.
"""

from __future__ import annotations

from talosmith.providers.base import HostCalls
from talosmith.providers.libvirt.settings import LibvirtSettings

POOL_START, TRIAL = "libvirt:pool-start", "libvirt:trial-start"


def host_calls(settings: LibvirtSettings) -> HostCalls:
    """What may be done beyond the machine's own on a host as the inventory describes it."""
    trial = (TRIAL,) if settings.section.domain_type == "auto" else ()
    pool = (POOL_START,)
    return {"create": (*pool, *trial), "resize": pool, "forget-seed": pool, "destroy": pool}
