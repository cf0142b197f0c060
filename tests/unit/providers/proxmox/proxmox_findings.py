"""Findings of the preflight of Proxmox VE: each has a cause and a fix, and the look for them sends only GET calls."""

from __future__ import annotations

import time
from collections.abc import Sequence

from talosmith.model.machines import MachineSpec
from talosmith.providers.base import Finding
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness, spec_of

MACHINES = (spec_of("cp-1", "controlplane"), spec_of("w-1"))
LIMIT = 10.0  # seconds, also where Proxmox VE is slow to refuse


async def look(harness: ProxmoxHarness, specs: Sequence[MachineSpec] = MACHINES) -> list[Finding]:
    before, began = harness.state(), time.monotonic()
    provider = harness.provider()
    found = await provider.preflight(specs)
    await provider.close()
    assert time.monotonic() - began < LIMIT
    assert harness.state() == before and not harness.changes()
    for one in found:
        assert one.check and (one.evidence if one.level == "ok" else one.cause and one.fix), one
    return found


async def the_error(harness: ProxmoxHarness, check: str, specs: Sequence[MachineSpec] = MACHINES) -> Finding:
    """The only one, of this check."""
    found = [one for one in await look(harness, specs) if one.level == "error"]
    assert [one.check for one in found] == [check], found
    return found[0]
