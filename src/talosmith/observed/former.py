"""Nodes that the inventory no longer has, where no provider lists machines: the cluster itself knows where they are.

Kubernetes and etcd tell a name and addresses. Who answers there is believed to be that node only if it has this
cluster's certificate and calls itself so, or if it is empty.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from talosmith.desired.target import Desired
from talosmith.model.cluster import Role
from talosmith.model.machines import Machine
from talosmith.observed.nodes import Asked, NodeLooker, unknown
from talosmith.observed.world import EtcdMemberSeen, KubeNodeSeen, NodeSeen, Unknown


async def look_for(
    names: Sequence[str],
    desired: Desired,
    looker: NodeLooker,
    members: Iterable[EtcdMemberSeen],
    kubernetes: Mapping[str, KubeNodeSeen],
) -> dict[str, NodeSeen]:
    """Those that were found, and those that are known to be somewhere and do not answer."""
    ours = {str(node.node.ip) for node in desired.nodes.values()}
    by_name = {member.name: member for member in members}
    asks: list[Asked] = []
    for name in names:
        member, node = by_name.get(name), kubernetes.get(name)
        known = (*(node.addresses if node else ()), *(member.addresses if member else ()))
        addresses = tuple(dict.fromkeys(one for one in known if one not in ours))
        if addresses:
            asks.append(_asked(name, addresses, controlplane=member is not None))
    return {seen.name: seen for seen in await asyncio.gather(*(_look(looker, one) for one in asks))}


async def _look(looker: NodeLooker, asked: Asked) -> NodeSeen:
    seen = await looker.look(asked, keep=True)
    if not seen.configured or seen.foreign_reason:
        return seen
    name = await looker.own_name(seen)
    if isinstance(name, Unknown):
        return unknown(asked, f"it does not tell its name: {name.why}")
    if name != asked.name:
        return replace(seen, foreign_reason=f"at {seen.address} answers `{name}`")
    return replace(seen, machine=_machine(name, (seen.address, *asked.addresses), controlplane=asked.controlplane))


def _asked(name: str, addresses: tuple[str, ...], *, controlplane: bool) -> Asked:
    machine = _machine(name, addresses, controlplane=controlplane)
    return Asked(name=name, machine=machine, addresses=addresses, controlplane=controlplane)


def _machine(name: str, addresses: tuple[str, ...], *, controlplane: bool) -> Machine:
    """Where it answers comes first: steps go there."""
    role: Role = "controlplane" if controlplane else "worker"
    return Machine(id=addresses[0], name=name, role=role, addresses=tuple(dict.fromkeys(addresses)))
