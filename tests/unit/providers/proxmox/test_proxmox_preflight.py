"""The preflight of Proxmox VE: the order of its checks, VMIDs, memory, bridges, CPU types, pools and addresses."""

from __future__ import annotations

import socket
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest

from talosmith.providers.proxmox.lookup import Lookup, Row
from tests.loopback import free_network
from tests.machine_specs import with_settings
from tests.simulators.proxmox import Bridge, Proxmox
from tests.unit.providers.proxmox.proxmox_findings import MACHINES, look, the_error
from tests.unit.providers.proxmox.proxmox_harness import proxmox

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


# All is well


@pytest.mark.parametrize("version", ["9.1.7", "8.4.5"])
async def test_a_host_where_all_is_well(tmp_path: Path, version: str) -> None:
    """In the order in which someone looks for the cause: what comes first is the cause of what comes after."""
    world = Proxmox(version=version)
    world.add_pool("talos")
    options = {"pool": "talos", "cpu_type": "x86-64-v2-AES"}
    with proxmox(tmp_path, world, options=options) as harness:
        found = await look(harness)
    assert [(one.level, one.check) for one in found] == [
        ("ok", "Proxmox VE API"),
        ("ok", "API token"),
        ("ok", "node pve"),
        ("ok", "storage local on pve"),
        ("ok", "ISO local:iso/talos.iso on pve"),
        ("ok", "VMIDs"),
        ("ok", "memory of pve"),
        ("ok", "bridge vmbr0 on pve"),
        ("ok", "CPU type on pve"),
        ("ok", "pool talos"),
        ("ok", "addresses"),
    ]
    by_check = {one.check: one.evidence for one in found}
    assert f"version {version}" in by_check["Proxmox VE API"] and "2000, 3000" in by_check["VMIDs"]


async def test_a_cluster_of_two_hosts_where_all_is_well(tmp_path: Path) -> None:
    world = Proxmox(nodes=("pve", "pve2"))
    world.add_volume("local:iso/talos.iso", content=b"boots", node="pve2")
    specs = [MACHINES[0], with_settings(MACHINES[1], host="pve2")]
    nodes = {spec.name: spec for spec in specs}
    with proxmox(tmp_path, world, options={"node": None, "hosts": ["pve", "pve2"]}, nodes=nodes) as harness:
        found = await look(harness, specs)
    assert {one.level for one in found} == {"ok"}
    checks = [one.check for one in found]
    for what in ("node {}", "storage local on {}", "memory of {}", "bridge vmbr0 on {}"):
        assert what.format("pve") in checks and what.format("pve2") in checks


async def test_machines_that_exist_need_no_room_any_more(tmp_path: Path) -> None:
    """Neither their VMIDs nor their memory nor the addresses that they answer at are in the way of themselves."""
    with proxmox(tmp_path) as harness:
        await harness.provider().create(MACHINES[0])
        harness.world.nodes["pve"].memory_available = 1
        harness.world.calls.clear()
        found = await look(harness, MACHINES[:1])
    assert {one.level for one in found} == {"ok"}


# VMID


async def test_a_vmid_that_somebodys_vm_has(tmp_path: Path) -> None:
    with proxmox(tmp_path) as harness:
        harness.world.add_vm(3000, "jellyfin")
        found = await the_error(harness, "VMID 3000")
    assert "of w-1" in found.cause and found.evidence == "by jellyfin on pve"
    assert "`vmid` of w-1" in found.fix and "`proxmox.vmid_base`" in found.fix


async def test_a_vmid_that_a_machine_of_another_cluster_has(tmp_path: Path) -> None:
    with proxmox(tmp_path) as harness:
        line = "talosmith machine cluster=other id=fedcba9876543210 node=cp-7 role=controlplane vmid=2000\n"
        harness.world.add_vm(2000, "cp-7", tags="talosmith;talosmith-fedcba9876543210", description=line)
        found = await the_error(harness, "VMID 2000")
    assert "cp-7 on pve, node cp-7 of the cluster other" in found.evidence


async def test_a_machine_that_another_run_makes_meanwhile_is_not_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its VM is made between two looks: listed by none, found by no seed, and its VMID is taken."""
    with proxmox(tmp_path, options={"seed": False}) as harness:
        await harness.provider().create(harness.spec("w-1"))
        provider, late = harness.provider(), [1, 1]
        rows = Lookup.rows

        async def once_without(self: Lookup) -> list[Row]:
            found = await rows(self)
            return [row for row in found if row.vmid != 3000] if late and late.pop() else found

        monkeypatch.setattr(Lookup, "rows", once_without)
        found = await provider.preflight([harness.spec("w-1")])
        assert not late, "the look without the VM was not asked for"
        assert not [one for one in found if one.check.startswith("VMID 3000")], found


# Memory, bridge, CPU, pool, addresses


async def test_too_little_memory(tmp_path: Path) -> None:
    with proxmox(tmp_path) as harness:
        harness.world.nodes["pve"].memory_available = 4 * 2**30
        found = await the_error(harness, "memory of pve")
        assert "6144 MiB asked for by 2 machines" in found.evidence and "4096 of " in found.evidence
        assert "too little memory free" in found.cause and "`ram`" in found.fix
        huge = [with_settings(MACHINES[0], ram_mib=1024 * 1024)]
        assert "less memory than" in (await the_error(harness, "memory of pve", huge)).cause


async def test_a_bridge_that_does_not_exist(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"bridge": "vmbr7"}) as harness:
        harness.world.add_bridge("vmbr1")
        found = await the_error(harness, "bridge vmbr7 on pve")
    assert "'vmbr7'" in found.cause and "vmbr0, vmbr1" in found.evidence and "`proxmox.bridge`" in found.fix


async def test_a_network_of_sdn_is_a_bridge(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"bridge": "lab"}) as harness:
        harness.world.nodes["pve"].bridges["lab"] = Bridge("lab", type="vnet", zone="simple")
        assert {one.level for one in await look(harness)} == {"ok"}


async def test_a_cpu_type_that_the_host_does_not_know(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"cpu_type": "x86-64-v9"}) as harness:
        found = await the_error(harness, "CPU type on pve")
    assert "'x86-64-v9'" in found.cause and "`proxmox.cpu_type`" in found.fix and "`host`" in found.fix


async def test_a_pool_that_does_not_exist(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"pool": "talos"}) as harness:
        harness.world.add_pool("others")
        found = await the_error(harness, "pool talos")
    assert "'talos'" in found.cause and "others" in found.evidence and "pveum pool add talos" in found.fix


async def test_an_address_where_something_answers(tmp_path: Path) -> None:
    address = str(ip_network(free_network())[40])
    spec = replace(MACHINES[1], node=replace(MACHINES[1].node, ip=ip_network(f"{address}/32")[0]))
    with socket.create_server((address, 50000)), proxmox(tmp_path, nodes={"w-1": spec}) as harness:
        found = await the_error(harness, "addresses", [spec])
    assert f"{address} (w-1)" in found.evidence and "other addresses" in found.fix
