"""Without seeds (`proxmox.seed: false`): machines wait in maintenance mode at the address that DHCP gave them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.lab.proxmox.outcomes_proxmox import converged, destroyed
from tests.lab.proxmox.sites import ISO, Computer
from tests.lab.up.places import UP

pytestmark = pytest.mark.slow


def test_configs_are_sent_to_machines_in_maintenance_mode(computers: Callable[..., Computer]) -> None:
    computer = computers()
    computer.boots_from(ISO)
    computer.change("cluster.yaml", ("  boot: iso", "  seed: false\n  boot: iso"))
    site = computer.site
    for number, mac in enumerate(("c1:00:01", "c2:00:01", "c2:00:02"), start=101):
        site.guests.leases[f"52:54:00:{mac}"] = computer.network.replace(".0/24", f".{number}")
    refused = computer.must(*UP, "--limit", "200", code=1)
    assert "nothing proves that the machine at" in refused and "--trust-first-use" in refused, refused
    computer.must(*UP, "--trust-first-use")
    converged(computer)
    assert not any(boot.seeded for boot in site.guests.boots)
    assert not site.calls("POST", "/upload")
    computer.must(*computer.destroying)
    destroyed(computer)
