"""The whole world as it is now: machines, nodes, etcd and Kubernetes, all asked at once. Nothing is changed by it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.former import look_for
from talosmith.observed.kubernetes import AskKube, look_at_kubernetes
from talosmith.observed.nodes import Asked, NodeLooker, unknown
from talosmith.observed.reach import candidates, host_of
from talosmith.observed.resources import look_at_resources, persist
from talosmith.observed.world import EtcdSeen, KubeNodeSeen, NodeSeen, Observed, Unknown
from talosmith.providers.base import Provider
from talosmith.talos import MaintenanceClient, TalosClient

AT_ONCE = 64  # nodes that are asked together; on one core more of them only wait for each other
CONNECTING = 128  # and to which there are connections, or are to be: silent nodes are waited for together
KEPT = 256  # connections stay open for the steps that follow, unless there are too many of them


async def observe(
    desired: Desired,
    provider: Provider,
    talos: TalosClient,
    maintenance: MaintenanceClient,
    *,
    kube: AskKube | None,
    at_once: int = AT_ONCE,
) -> Observed:
    """`kube` makes a client for the addresses of control planes; without it Kubernetes is not looked at."""
    at = time.time()
    machines, resources = await asyncio.gather(_machines(provider), look_at_resources(desired, provider))
    ours, others = _asked(desired, machines)
    looker = NodeLooker(desired, talos, maintenance, at_once=at_once, connecting=CONNECTING)
    asked_nodes = {**ours, **others}
    keep = len(asked_nodes) <= KEPT
    probe = provider.creates and desired.cluster.network.addressing == "static"

    async def look(asked: Asked) -> NodeSeen:
        if asked.machine is None:
            answer = await looker.answers(asked.name, asked.addresses[0]) if probe else ""
            created = await _created_since(provider, asked.name) if answer else None
            if created is not None:
                return await look(_node(desired, asked.name, created))
            why = f"at {asked.addresses[0]}, where its machine is going to be, answers {answer}" if answer else ""
            return NodeSeen(name=asked.name, machine=None, foreign_reason=why)
        if isinstance(asked.machine, Machine) and asked.machine.power == "off":
            return replace(unknown(asked, "its machine is off"), stage=None)
        if not asked.addresses:
            return unknown(asked, "its address is not known")
        return await looker.look(asked, keep=keep)

    seen = dict(zip(asked_nodes, await asyncio.gather(*map(look, asked_nodes.values())), strict=True))
    kubernetes = await _kubernetes(kube, seen.values())
    former = [name for name in _unknown_to(desired, seen.values(), kubernetes) if name not in seen]
    members = [member for one in seen.values() if isinstance(one.etcd, EtcdSeen) for member in one.etcd.members]
    seen |= {name: NodeSeen(name=name, machine=None) for name in former}
    if former and not provider.creates:
        known = kubernetes if isinstance(kubernetes, Mapping) else {}
        seen |= await look_for(former, desired, looker, members, known)
    seen = {key: replace(one, kube=_kube(kubernetes, one.name)) for key, one in seen.items()}
    return Observed(
        at=at,
        nodes={name: seen[name] for name in ours},
        not_in_inventory={name: one for name, one in seen.items() if name not in ours},
        kubernetes=kubernetes,
        resources=resources,
    )


async def _machines(provider: Provider) -> list[Machine] | Unknown:
    """Everything hangs on this one answer."""
    return await persist(provider.find, f"{provider.name} did not tell which machines there are")


async def _created_since(provider: Provider, name: str) -> Machine | None:
    """The machine of a node, if another run has created it since the provider was asked."""
    machines = await _machines(provider)
    if isinstance(machines, Unknown):
        return None
    return next((machine for machine in machines if machine.name == name), None)


def _asked(desired: Desired, machines: list[Machine] | Unknown) -> tuple[dict[str, Asked], dict[str, Asked]]:
    """Nodes of the inventory, and machines of ours that it no longer has. A twin is one of those."""
    if isinstance(machines, Unknown):
        return {name: _node(desired, name, machines) for name in desired.nodes}, {}
    found: dict[str, Machine] = {}
    others: dict[str, Asked] = {}
    for machine in machines:
        if machine.name in desired.nodes and machine.name not in found:
            found[machine.name] = machine
        else:
            key = machine.name if machine.name not in desired.nodes and machine.name not in others else machine.id
            others[key] = _other(machine, key)
    return {name: _node(desired, name, found.get(name)) for name in desired.nodes}, others


def _node(desired: Desired, name: str, machine: Machine | Unknown | None) -> Asked:
    wanted = desired.nodes[name]
    return Asked(
        name=name,
        machine=machine,
        addresses=candidates(str(wanted.node.ip), machine if isinstance(machine, Machine) else None),
        controlplane=wanted.is_controlplane,
        fingerprint=(machine.fingerprint if isinstance(machine, Machine) else "") or wanted.machine.fingerprint,
    )


def _other(machine: Machine, key: str) -> Asked:
    return Asked(
        name=key,
        machine=machine,
        addresses=candidates("", machine),
        controlplane=machine.role == "controlplane",
        fingerprint=machine.fingerprint,
    )


async def _kubernetes(kube: AskKube | None, seen: Iterable[NodeSeen]) -> dict[str, KubeNodeSeen] | Unknown | None:
    if kube is None:
        return Unknown("Kubernetes was not asked")
    nodes = list(seen)
    with_etcd = [(one, one.etcd) for one in nodes if isinstance(one.etcd, EtcdSeen) and not one.etcd.waiting]
    if not with_etcd:
        silent = [one.name for one in nodes if isinstance(one.etcd, Unknown) or isinstance(one.stage, Unknown)]
        return Unknown(f"{', '.join(silent)} did not answer") if silent else None
    best = sorted(with_etcd, key=lambda pair: not pair[1].healthy)
    return await look_at_kubernetes(kube, [host_of(one.address) for one, _ in best])


def _kube(kubernetes: Mapping[str, KubeNodeSeen] | Unknown | None, name: str) -> KubeNodeSeen | Unknown | None:
    return kubernetes.get(name) if isinstance(kubernetes, Mapping) else kubernetes


def _unknown_to(
    desired: Desired, seen: Iterable[NodeSeen], kubernetes: Mapping[str, KubeNodeSeen] | Unknown | None
) -> list[str]:
    """Members of etcd, and nodes of Kubernetes, that the inventory does not have.

    A member that has not started yet has no name, and is known by its address.
    """
    hosts = {str(node.node.ip) for node in desired.nodes.values()}
    found: dict[str, None] = {}
    for one in seen:
        for member in one.etcd.members if isinstance(one.etcd, EtcdSeen) else ():
            if not (member.name in desired.nodes if member.name else hosts & {*member.addresses}):
                found[member.name or f"{member.id:x}"] = None
    if isinstance(kubernetes, Mapping):
        found |= dict.fromkeys(name for name in kubernetes if name not in desired.nodes)
    return list(found)
