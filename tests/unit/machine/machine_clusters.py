"""What tests of machine configs share: a cluster's documents by kind and name, with stand-in secrets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from talosmith import Cluster
from talosmith.desired.machine import MachineConfigs
from talosmith.desired.machine.check import stand_in_bundle

Documents = dict[tuple[str, str], Any]
Make = Callable[..., Cluster]

BUNDLE = stand_in_bundle()
STATIC = (
    "network: {node_cidr: 10.0.0.0/24, vip: 10.0.0.100, dns_servers: [10.0.0.53], ntp_servers: [ntp.example.org]}\n"
)


def documents(cluster: Cluster, name: str) -> Documents:
    rendered = MachineConfigs(cluster, BUNDLE).render(cluster.node(name))
    return {(one.get("kind", ""), one.get("name", "")): one for one in rendered.documents}
