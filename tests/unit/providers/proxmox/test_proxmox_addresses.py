"""Addresses of machines on Proxmox VE without a NoCloud seed: from the guest agent or the neighbour table."""

from __future__ import annotations

import socket
from ipaddress import ip_address, ip_network

import pytest

from talosmith.model.machines import MachineSpec
from talosmith.model.services import Image
from talosmith.providers.proxmox import addresses
from tests.loopback import free_network
from tests.machine_specs import with_settings
from tests.unit.providers.proxmox.proxmox_harness import ProxmoxHarness, spec_of
from tests.unit.providers.proxmox.proxmox_vms import CONFIG, config_of, seeds

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_pauses")]


def unseeded(harness: ProxmoxHarness, *, agent: bool) -> MachineSpec:
    """At an address of a network of its own."""
    harness.options = {**harness.options, "seed": False}
    image = Image(extensions=["siderolabs/qemu-guest-agent"] if agent else [])
    spec = with_settings(spec_of("w-1"), image=image, ip=ip_network(free_network())[20])
    harness.nodes = {"w-1": spec}
    return spec


async def test_no_seed_is_made_where_none_is_wanted(harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "neighbours", dict)
    spec = unseeded(harness, agent=False)
    provider = harness.provider()
    assert not provider.seeds
    machine = await provider.create(spec, CONFIG)
    assert not machine.seeded and seeds(harness) == [] and machine.addresses == (str(spec.ip),)
    assert config_of(harness, 3000)["ide2"] == "none,media=cdrom"
    assert not await provider.forget_seed(machine)
    await provider.destroy(machine)
    assert not harness.world.vms


async def test_the_guest_agent_tells_the_address(harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "neighbours", dict)
    spec = unseeded(harness, agent=True)
    await harness.provider().create(spec)
    (silent,) = await harness.provider().find()
    assert silent.addresses == (str(spec.ip),), "an agent that does not run yet is no error"
    vm = harness.world.vms[3000]
    vm.agent_running = True
    vm.interfaces = [
        {"name": "lo", "hardware-address": "00:00:00:00:00:00", "ip-addresses": [{"ip-address": "127.0.0.1"}]},
        {
            "name": "eth0",
            "hardware-address": "52:54:00:00:00:65",
            "ip-addresses": [{"ip-address": one} for one in ("fe80::1", "2001:db8::9", "192.0.2.9")],
        },
        {"name": "cni0", "hardware-address": "02:00:00:00:00:07", "ip-addresses": [{"ip-address": "10.244.0.1"}]},
    ]
    (found,) = await harness.provider().find()
    assert found.addresses == ("192.0.2.9", "2001:db8::9", str(spec.ip))


async def test_the_neighbours_tell_the_address(harness: ProxmoxHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what the table has for the MAC address, only where something answers: entries get old."""
    spec = unseeded(harness, agent=False)
    leased, old = str(ip_address(spec.ip) + 1), str(ip_address(spec.ip) + 2)
    table = {leased: "52:54:00:00:00:65", old: "52:54:00:00:00:65", "192.0.2.1": "02:00:00:00:00:01"}
    monkeypatch.setattr(addresses, "neighbours", lambda: table)
    await harness.provider().create(spec)
    with socket.create_server((leased, 50000)):
        (found,) = await harness.provider().find()
        assert found.addresses == (leased, str(spec.ip))
    with socket.create_server((str(spec.ip), 50000)):
        (found,) = await harness.provider().find()
        assert found.addresses == (str(spec.ip),), "configured: it is at its own address"
