"""The machines of a cluster by node: a machine that is powered off is why its node does not answer."""

from __future__ import annotations

from talosmith.errors import TalosmithError
from talosmith.model.machines import Machine
from talosmith.providers.base import Provider


async def machines_by_name(provider: Provider) -> dict[str, Machine] | None:
    """None where the provider cannot say: it fails, or it finds machines only by asking their nodes."""
    if not provider.creates:
        return None
    try:
        return {machine.name: machine for machine in await provider.find()}
    except TalosmithError:
        return None
