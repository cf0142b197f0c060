"""The provider `metal` with real Talos nodes: found by address and by MAC address, and told for what they are."""

from __future__ import annotations

import asyncio
import json
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from talosmith.model.cluster import Node as InventoryNode
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.services import Image
from talosmith.providers.metal import MetalProvider
from talosmith.providers.metal.neighbours import neighbours
from talosmith.providers.metal.peek import peek
from talosmith.talos import Credentials, MaintenanceClient
from tests.real.talos.cluster import Cluster
from tests.real.talos.fixtures import MakeNodes
from tests.real.talos.lab import Lab, Node

pytestmark = pytest.mark.anyio

OWNER = Owner("real", "0123456789abcdef")
NOWHERE = 253  # an address of the network that no node gets


def listed(node: Node, *, ip: str = "", mac: str = "", pin: str = "") -> InventoryNode:
    return InventoryNode(
        name=node.name,
        role="controlplane",
        ip=ip_address(ip or node.address),
        mac=mac or node.mac,
        fingerprint=pin or None,
        image=Image(),
    )


def spec(node: InventoryNode) -> MachineSpec:
    return MachineSpec(name=node.name, role=node.role, ip=node.ip, mac=node.mac, fingerprint=node.fingerprint or "")


async def test_a_real_node_is_found_where_it_is(talos_lab: Lab, talos_nodes: MakeNodes) -> None:
    (node,) = talos_nodes(1)

    # At its address, and known by what its console says.
    pinned = listed(node, pin=node.fingerprint)
    provider = MetalProvider([pinned], OWNER)
    (machine,) = await provider.find()
    assert (machine.power, machine.addresses, machine.fingerprint) == ("on", (node.address,), node.fingerprint)
    assert [one.level for one in await provider.preflight([spec(pinned)])] == ["ok"]
    async with MaintenanceClient() as client:
        assert await client.node(machine.addresses[0], fingerprint=machine.fingerprint).version()

    # The kernel's table is the one that `ip` shows.
    shown = subprocess.run(["ip", "-j", "neighbour"], capture_output=True, text=True, check=True).stdout
    wanted = {
        one["dst"]: one["lladdr"]
        for one in json.loads(shown)
        if one.get("dev") == talos_lab.network.name and "lladdr" in one and "FAILED" not in one["state"]
    }
    table = neighbours()
    assert wanted[node.address] == node.mac and wanted.items() <= table.items()

    # Elsewhere than the inventory says, as with DHCP before it is configured.
    nowhere = talos_lab.network.address(NOWHERE)
    subprocess.run(["ip", "neighbour", "flush", "dev", talos_lab.network.name], check=True, capture_output=True)
    moved = listed(node, ip=nowhere)
    (machine,) = await MetalProvider([moved], OWNER, search=ip_network(talos_lab.network.subnet)).find()
    assert (machine.power, machine.addresses) == ("on", (node.address, nowhere))
    (finding,) = await MetalProvider([moved], OWNER).preflight([spec(moved)])
    assert finding.level == "warning" and finding.check == f"{node.name} at {node.address}"
    assert node.fingerprint in finding.evidence

    # Another machine has the address.
    (finding,) = await MetalProvider([(other := listed(node, mac="02:00:00:00:00:99"))], OWNER).preflight(
        [spec(other)]
    )
    assert finding.level == "error" and node.mac in finding.evidence


async def test_a_real_cluster_is_told_from_another(talos_lab: Lab, talos_nodes: MakeNodes, tmp_path: Path) -> None:
    (node,) = talos_nodes(1)
    cluster = Cluster(talos_lab, tmp_path, (node,))
    cluster.generate()
    cluster.apply(node)
    cluster.wait_for_service(node, "apid", "Running")
    ours = Credentials.from_talosconfig(cluster.talosconfig.read_text())
    known = listed(node)
    async with asyncio.timeout(30):  # its certificate comes a moment after the config
        while (await peek(node.address)).who != "another":
            await asyncio.sleep(0.1)
    (finding,) = await MetalProvider([known], OWNER, authority=ours.authority).preflight([spec(known)])
    assert finding.level == "ok"
    (finding,) = await MetalProvider([known], OWNER).preflight([spec(known)])
    assert finding.level == "error" and "not by this cluster" in finding.cause
    node.cut_power()
    async with asyncio.timeout(30):  # for a moment the kernel still answers in its place
        while (await peek(node.address)).who != "nobody":
            await asyncio.sleep(0.1)
    (finding,) = await MetalProvider([known], OWNER).preflight([spec(known)])
    assert finding.level == "error" and "nothing answers" in finding.cause
    (machine,) = await MetalProvider([known], OWNER).find()
    assert machine.power == "unknown"
