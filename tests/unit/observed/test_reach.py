"""Where nodes are reached, by what the inventory plans and what the provider reports."""

from __future__ import annotations

from pathlib import Path

import pytest

from talosmith.errors import Permanent
from talosmith.inventory import load
from talosmith.model.cluster import Cluster
from talosmith.model.machines import Machine
from talosmith.observed.reach import Reach, candidates

INVENTORY = """\
cluster_name: home
talos_version: v1.13.9
kubernetes_version: v1.36.3
lab: {}
network: {node_cidr: 127.40.0.0/24}
controlplane: 3
workers: 1
"""


def machine(name: str = "cp-1", *addresses: str, endpoint: str = "") -> Machine:
    return Machine(id=name, name=name, role="controlplane", addresses=addresses, endpoint=endpoint)


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    (tmp_path / "cluster.yaml").write_text(INVENTORY)
    return load(tmp_path)


@pytest.mark.parametrize(
    ("known", "talos", "waiting", "kubernetes"),
    [
        (None, "IP", ["IP"], "IP"),
        (machine(), "IP", ["IP"], "IP"),
        (machine("cp-1", "IP"), "IP", ["IP"], "IP"),
        (machine("cp-1", "10.0.0.77"), "IP", ["10.0.0.77", "IP"], "IP"),
        (machine("cp-1", "10.0.0.77", "IP"), "IP", ["10.0.0.77", "IP"], "IP"),
        (machine("cp-1", "IP", "10.0.0.77"), "IP", ["IP", "10.0.0.77"], "IP"),
        (machine("cp-1", "IP", endpoint="203.0.113.9"), "203.0.113.9", ["203.0.113.9"], "203.0.113.9"),
        (machine("cp-1", "IP", endpoint="127.0.0.1:4711"), "127.0.0.1:4711", ["127.0.0.1:4711"], "127.0.0.1"),
        (machine("cp-1", "IP", endpoint="[fd00::9]:4711"), "[fd00::9]:4711", ["[fd00::9]:4711"], "fd00::9"),
    ],
    ids=[
        "no machine", "no address", "as planned", "a lease", "a lease, then planned", "planned, then a lease",
        "a public address", "a port of a host", "a port of an IPv6 host",
    ],
)  # fmt: skip
def test_a_node_of_the_inventory(
    cluster: Cluster, known: Machine | None, talos: str, waiting: list[str], kubernetes: str
) -> None:
    ip = str(cluster.node("cp-1").ip)
    if known is not None:
        addresses = [ip if one == "IP" else one for one in known.addresses]
        known = machine("cp-1", *addresses, endpoint=known.endpoint)
    reach = Reach(cluster, {"cp-1": known} if known else {})
    assert reach.talos("cp-1") == talos.replace("IP", ip)
    assert reach.in_maintenance("cp-1") == tuple(one.replace("IP", ip) for one in waiting)
    assert reach.kubernetes("cp-1") == kubernetes.replace("IP", ip)
    others = tuple(str(node.ip) for node in cluster.controlplanes[1:])
    assert reach.kubernetes_hosts == (kubernetes.replace("IP", ip), *others)
    assert reach.talos_endpoints == (talos.replace("IP", ip), *others)


def test_a_former_control_plane_is_where_it_was_found(cluster: Cluster) -> None:
    reach = Reach(cluster, {"cp-9": machine("cp-9", "10.0.0.9", "10.0.1.9"), "cp-8": machine("cp-8")})
    assert reach.talos("cp-9") == reach.kubernetes("cp-9") == "10.0.0.9"
    assert "10.0.0.9" not in reach.kubernetes_hosts
    with pytest.raises(Permanent, match="cp-8: its address is not known"):
        reach.talos("cp-8")


def test_machines_that_are_created_meanwhile_are_known(cluster: Cluster) -> None:
    machines: dict[str, Machine] = {}
    reach = Reach(cluster, machines)
    before = reach.kubernetes_hosts
    machines["cp-2"] = machine("cp-2", endpoint="203.0.113.2")
    assert reach.kubernetes_hosts == (before[0], "203.0.113.2", before[2])


def test_an_endpoint_is_asked_alone() -> None:
    """At the planned address, in the network of this computer, another machine may answer."""
    assert candidates("10.0.0.2", machine("cp-1", "10.0.0.2", endpoint="203.0.113.9")) == ("203.0.113.9",)
    assert candidates("10.0.0.2", machine("cp-1", "10.0.0.77")) == ("10.0.0.2", "10.0.0.77")
