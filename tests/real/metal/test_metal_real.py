"""The provider `metal` with real Talos nodes: found by address and by MAC address, and told for what they are."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from pathlib import Path

from talosmith.model.cluster import Node as InventoryNode
from talosmith.model.machines import MachineSpec, Owner
from talosmith.model.services import Image
from talosmith.providers.base import Finding
from talosmith.providers.metal import MetalProvider
from talosmith.providers.network.neighbours import neighbours
from talosmith.talos import Credentials, MaintenanceClient
from tests.machine_specs import spec_of
from tests.real.talos.cluster import Cluster
from tests.real.talos.fixtures import MakeNodes
from tests.real.talos.lab import Lab, Node
from tests.real.talos.patience import eventually

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
    return spec_of(node)


async def told(nodes: list[InventoryNode], holds: Callable[[Finding], bool], authority: str = "") -> Finding:
    """The preflight's word about a node, once it holds.

    A node has another certificate only a moment after its config, a busy one takes longer than a preflight waits,
    and for a moment the kernel answers in the place of one without power.
    """
    provider = MetalProvider(nodes, OWNER, authority=authority)
    (finding,) = await eventually(
        lambda: provider.preflight([spec(node) for node in nodes]), lambda findings: holds(findings[0])
    )
    assert isinstance(finding, Finding)
    return finding


async def test_a_real_node_is_found_where_it_is(talos_lab: Lab, talos_nodes: MakeNodes) -> None:
    (node,) = talos_nodes(1)

    # At its address, and known by what its console says.
    pinned = listed(node, pin=node.fingerprint)
    provider = MetalProvider([pinned], OWNER)
    (machine,) = await eventually(provider.find, lambda found: found[0].power == "on")
    assert (machine.power, machine.addresses, machine.fingerprint) == ("on", (node.address,), node.fingerprint)
    await told([pinned], lambda finding: finding.level == "ok")
    async with MaintenanceClient() as client:
        assert await eventually(client.node(machine.addresses[0], fingerprint=machine.fingerprint).version)

    # The kernel's table is the one that `ip` shows.
    async def tables() -> tuple[dict[str, str], dict[str, str]]:
        return _shown(talos_lab), neighbours()

    _, table = await eventually(tables, lambda pair: node.address in pair[0] and pair[0].items() <= pair[1].items())
    assert table[node.address] == node.mac

    # Elsewhere than the inventory says, as with DHCP before it is configured.
    nowhere = talos_lab.network.address(NOWHERE)
    subprocess.run(["ip", "neighbour", "flush", "dev", talos_lab.network.name], check=True, capture_output=True)
    moved = listed(node, ip=nowhere)
    searching = MetalProvider([moved], OWNER, search=ip_network(talos_lab.network.subnet))
    (machine,) = await eventually(searching.find, lambda found: found[0].power == "on")
    assert (machine.power, machine.addresses) == ("on", (node.address, nowhere))
    finding = await told([moved], lambda finding: finding.level == "warning")
    assert finding.check == f"{node.name} at {node.address}"
    assert node.fingerprint in finding.evidence

    # Another machine has the address.
    await told(
        [listed(node, mac="02:00:00:00:00:99")],
        lambda finding: finding.level == "error" and node.mac in finding.evidence,
    )


def _shown(lab: Lab) -> dict[str, str]:
    """Who is who on the nodes' network, by `ip`."""
    shown = subprocess.run(["ip", "-j", "neighbour"], capture_output=True, text=True, check=True).stdout
    return {
        one["dst"]: one["lladdr"]
        for one in json.loads(shown)
        if one.get("dev") == lab.network.name and "lladdr" in one and "FAILED" not in one["state"]
    }


async def test_a_real_cluster_is_told_from_another(talos_lab: Lab, talos_nodes: MakeNodes, tmp_path: Path) -> None:
    (node,) = talos_nodes(1)
    cluster = Cluster(talos_lab, tmp_path, (node,))
    cluster.generate()
    cluster.apply(node)
    cluster.wait_for_service(node, "apid", "Running")
    ours = Credentials.from_talosconfig(cluster.talosconfig.read_text())
    known = listed(node)
    await told([known], lambda finding: finding.level == "ok", authority=ours.authority)
    await told([known], lambda finding: finding.level == "error" and "of another cluster" in finding.cause)
    node.cut_power()
    await told([known], lambda finding: finding.level == "error" and finding.cause == "no answer")
    (machine,) = await MetalProvider([known], OWNER).find()
    assert machine.power == "unknown"
