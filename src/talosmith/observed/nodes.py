"""One node, asked: who answers at its address, in which stage it is, and what it has.

It is asked as a node of this cluster first, and as a machine without a config only if that is what it shows to be. A
dead node costs a few seconds at most, and so do all dead nodes together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from talosmith.desired.target import Desired
from talosmith.errors import TalosmithError
from talosmith.model.machines import Machine
from talosmith.model.secret import Secret
from talosmith.observed.asking import answer_of
from talosmith.observed.configs import ConfigSeen, read_config
from talosmith.observed.etcd import look_at_member
from talosmith.observed.world import EtcdSeen, NodeSeen, Unknown
from talosmith.probe import in_turns
from talosmith.talos import (
    ClockMismatch,
    InMaintenance,
    MaintenanceClient,
    NotFound,
    NotInMaintenance,
    NotTalos,
    NotTrusted,
    Refused,
    TalosClient,
    TalosNode,
    Unreachable,
)

CONNECT = 3.0  # seconds for each address; all addresses are tried together
_PROBE = 1.0  # for an address at which nothing is expected
ANSWER = 8.0  # for all that a node is asked

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who is asked, and where it may answer; `fingerprint` is insisted on if it is in maintenance mode."""

    name: str
    machine: Machine | Unknown | None
    addresses: tuple[str, ...]
    controlplane: bool
    fingerprint: str = ""


@dataclass(frozen=True, slots=True)
class Reached:
    node: TalosNode
    maintenance: bool


class NodeLooker:
    """Looks at nodes with the clients of one cluster. Changes nothing."""

    def __init__(
        self, desired: Desired, talos: TalosClient, maintenance: MaintenanceClient, *, at_once: int, connecting: int
    ) -> None:
        self._desired = desired
        self._talos = talos
        self._maintenance = maintenance
        self._open = asyncio.Semaphore(connecting)  # many more than are asked: most dead nodes are just silent
        self._asking = asyncio.Semaphore(at_once)

    async def look(self, asked: Asked, *, keep: bool) -> NodeSeen:
        """With `keep`, the connection is left open for the next call."""
        async with self._open:
            found = await self.reach(asked)
            if isinstance(found, TalosmithError):
                return unknown(asked, str(found), foreign_reason=_foreign(found))
            seen = NodeSeen(name=asked.name, machine=asked.machine, address=str(found.node.address))
            try:
                async with self._asking:
                    answers = self._waiting(seen, found.node) if found.maintenance else self._ours(seen, found, asked)
                    return await answers
            finally:
                if not keep:
                    await found.node.close()

    async def answers(self, name: str, address: str) -> str:
        """What answers at an address where nothing should; empty if nothing does."""
        async with self._open:
            found = await self._try(address, name, "", _PROBE)
        if isinstance(found, Reached):
            await found.node.close()
            return f"a node {'in maintenance mode' if found.maintenance else 'of this cluster'}"
        return _foreign(found)

    async def own_name(self, seen: NodeSeen) -> str | Unknown:
        """The name under which a node that was found registers in Kubernetes."""
        return await _known(self._talos.node(seen.address, seen.name).nodename)

    async def reach(self, asked: Asked) -> Reached | TalosmithError:
        """The best of what its addresses give: our node, one without a config, a foreign machine, nothing."""
        tries = [self._try(one, asked.name, asked.fingerprint, CONNECT) for one in asked.addresses]
        return min(await asyncio.gather(*tries), key=_rank)

    async def _try(self, address: str, name: str, fingerprint: str, seconds: float) -> Reached | TalosmithError:
        try:
            try:
                return await _connected(self._talos.node(address, name), False, seconds)
            except InMaintenance:
                node = self._maintenance.node(address, name, fingerprint=fingerprint)
                try:
                    return await _connected(node, True, seconds)
                except NotInMaintenance:  # another run has applied the machine config meanwhile
                    return await _connected(self._talos.node(address, name), False, seconds)
        except TalosmithError as wrong:
            return wrong

    async def _waiting(self, seen: NodeSeen, node: TalosNode) -> NodeSeen:
        status, version, fingerprint = await asyncio.gather(
            _known(node.machine_status), _known(node.version), _known(node.fingerprint)
        )
        return replace(
            seen,
            stage=status if isinstance(status, Unknown) else status.stage,
            fingerprint="" if isinstance(fingerprint, Unknown) else fingerprint,
            talos_version=version if isinstance(version, Unknown) else version.tag,
        )

    async def _ours(self, seen: NodeSeen, found: Reached, asked: Asked) -> NodeSeen:
        node = found.node
        vip = self._desired.cluster.network.vip if asked.controlplane else None
        status, version, boot, config, etcd, addresses = await asyncio.gather(
            _known(node.machine_status),
            _known(node.version),
            _known(node.boot_id),
            _known(lambda: self._config(node, asked.name)),
            _known(partial(look_at_member, node) if asked.controlplane else _nothing),
            _known(node.addresses if vip else _nothing),
        )
        if isinstance(config, ConfigSeen) and config.foreign_reason:
            return unknown(asked, config.foreign_reason, foreign_reason=config.foreign_reason)
        if isinstance(config, ConfigSeen) and config.controlplane and not asked.controlplane:
            etcd = await _known(lambda: look_at_member(node))  # it was one, and is to be none
        return replace(
            seen,
            stage=status if isinstance(status, Unknown) else status.stage,
            ready=not isinstance(status, Unknown) and status.ready,
            unmet=()
            if isinstance(status, Unknown)
            else tuple(f"{unmet.name}: {unmet.reason}" for unmet in status.unmet),
            talos_version=version if isinstance(version, Unknown) else version.tag,
            boot_id="" if isinstance(boot, Unknown) else boot,
            config=config if isinstance(config, Unknown) else config.config,
            config_digest="" if isinstance(config, Unknown) else config.digest,
            pending_reboot=not isinstance(config, Unknown) and config.pending,
            etcd=_etcd(etcd, config),
            holds_vip=isinstance(addresses, tuple) and any(one.address.ip == vip for one in addresses),
        )

    async def _config(self, node: TalosNode, name: str) -> ConfigSeen:
        found = {one.id: one for one in await node.list("machineconfigs")}
        running = found.get("v1alpha1")
        kept = found.get("persistent") or running  # an older Talos tells only the one it runs with
        if kept is None:
            raise NotFound(node.name, "tells no config", call="List")
        pending = running is not None and running.yaml != kept.yaml
        text = kept.spec if isinstance(kept.spec, str) else kept.yaml
        return read_config(Secret(text), name, self._desired, pending=pending)


def unknown(asked: Asked, why: str, *, foreign_reason: str = "") -> NodeSeen:
    """A node of which nothing is known. A control plane may have etcd data all the same."""
    unseen = Unknown(why)
    return NodeSeen(
        name=asked.name,
        machine=asked.machine,
        address=asked.addresses[0] if asked.addresses else "",
        stage=unseen,
        foreign_reason=foreign_reason,
        talos_version=unseen,
        config=unseen,
        etcd=unseen if asked.controlplane else None,
    )


def _etcd(etcd: EtcdSeen | Unknown | None, config: ConfigSeen | Unknown) -> EtcdSeen | Unknown | None:
    """A node that runs as a worker, though it is to be a control plane, has no etcd."""
    if isinstance(etcd, Unknown) and isinstance(config, ConfigSeen) and not config.controlplane:
        return None
    return etcd


def _rank(found: Reached | TalosmithError) -> int:
    if isinstance(found, Reached):
        return 1 if found.maintenance else 0
    return 2 if _foreign(found) else 3


def _foreign(found: TalosmithError) -> str:
    """Why a machine that answers is not a node of this cluster as far as can be proven; empty where none answers.

    A certificate outside its validity period proves as little as one of a foreign CA; its node may have etcd data.
    """
    if isinstance(found, NotTrusted | NotTalos):
        return str(found)
    return f"{found}; fix: {found.hint}" if isinstance(found, ClockMismatch | Refused) else ""


async def _connected(node: TalosNode, maintenance: bool, seconds: float) -> Reached:
    try:
        await in_turns(node.connect(), seconds)
    except TimeoutError:
        what = f"nothing answers at {node.address} within {seconds:g} s"
        raise Unreachable(node.name, what, hint="Is the machine on?") from None
    return Reached(node, maintenance)


async def _known(ask: Callable[[], Awaitable[T]]) -> T | Unknown:
    try:
        async with asyncio.timeout(ANSWER):
            return await answer_of(ask)
    except TalosmithError as wrong:
        return Unknown(str(wrong))
    except TimeoutError:
        return Unknown(f"no answer within {ANSWER:g} s")


async def _nothing() -> None:
    """Where there is nothing to ask: workers have no etcd, clusters without a VIP no holder."""
