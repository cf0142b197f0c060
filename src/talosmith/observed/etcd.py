"""etcd as its members see it, each asked for itself.

Whether a control plane without a running etcd has any is what decides about a bootstrap, so it is only believed on
evidence: the service waits in `Preparing`, not about to start, and the data directory is listed and empty. Anything
else is either known to be there or not known. One moment escapes: a node that was just told to bootstrap looks as if
it still waited, until it begins to start etcd. So every run bootstraps the same node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar
from urllib.parse import urlsplit

from talosmith.errors import TalosmithError
from talosmith.observed.asking import answer_of
from talosmith.observed.world import EtcdMemberSeen, EtcdSeen, etcd_view
from talosmith.plan.gate import EtcdView
from talosmith.talos import EtcdMember, EtcdStatus, InMaintenance, NotReady, Service, TalosNode, sweep

SERVICE = "etcd"
FELL_BACK = (
    "in maintenance mode, without its machine config: Talos was not installed or the system disk was wiped, and the "
    "node fell back"
)
FELL_BACK_FIX = (
    "the console of the machine, or `talosctl dmesg --insecure`, has the reason, such as an install disk or an "
    "installer image that does not exist; correct it and run `talosmith up` again, which applies the machine config"
)
DATA = "/var/lib/etcd"
_ANSWER = 3.0  # seconds; a member without a leader lets calls wait
_STARTING = "Creating service runner"  # Talos' words: what it waited for has come

T = TypeVar("T")


async def look_at_etcd(nodes: Iterable[TalosNode]) -> EtcdView | None:
    """By every control plane that answers; None where none of them knows a member."""
    swept = await sweep(nodes, look_at_member)
    return etcd_view(swept.results.values())


async def look_at_member(node: TalosNode) -> EtcdSeen:
    """etcd on one control plane. Raises `NotReady` where it cannot be told whether it has etcd."""
    try:
        services = await node.services()
    except InMaintenance as wrong:
        raise InMaintenance(node.name, f"is {FELL_BACK}", hint=FELL_BACK_FIX, said=wrong.said) from None
    service = next((one for one in services if one.id == SERVICE), None)
    if service is None:
        raise NotReady(node.name, "has no etcd service yet", hint="It may be booting, or it is a worker.")
    if service.running:
        return await _running(node, service)
    if await _has_data(node):
        return EtcdSeen(state=service.state, errors=_last_words(service))
    last = service.events[-1].message if service.events else ""
    if service.state == "Preparing" and last != _STARTING:
        return EtcdSeen(state=service.state, waiting=True)
    raise NotReady(node.name, f"etcd is {service.state.lower()}" + (f": {last}" if last else ""))


async def _running(node: TalosNode, service: Service) -> EtcdSeen:
    status, members, alarms = await asyncio.gather(
        _answer(lambda: node.etcd_status(timeout=_ANSWER)),
        _answer(lambda: node.etcd_members(local=True, timeout=_ANSWER)),
        _answer(node.etcd_alarms),
    )
    problems = [str(one) for one in (status, members, alarms) if isinstance(one, TalosmithError)]
    found = status if isinstance(status, EtcdStatus) else None
    if found is not None:
        problems += [*found.errors, *(() if found.leader else ("it has no leader",))]
    if service.healthy is False:
        problems.append(service.message or "its own health check fails")
    return EtcdSeen(
        state=service.state,
        healthy=not problems,
        member_id=found.member_id if found else 0,
        leader=found.leader if found else 0,
        members=tuple(map(_member, members)) if isinstance(members, tuple) else (),
        alarms=tuple(f"{one.kind} on {one.member_id:016x}" for one in alarms) if isinstance(alarms, tuple) else (),
        errors=tuple(problems),
    )


async def _answer(ask: Callable[[], Awaitable[T]]) -> T | TalosmithError:
    try:
        async with asyncio.timeout(_ANSWER + 1):
            return await answer_of(ask)
    except TalosmithError as wrong:
        return wrong
    except TimeoutError:
        return TalosmithError(f"no answer within {_ANSWER + 1:g} s")


async def _has_data(node: TalosNode) -> bool:
    """Raises if the directory cannot be listed: before it is mounted, nothing in it means nothing."""
    found = False
    async for entry in node.list_files(DATA, timeout=_ANSWER):
        if entry.error:
            raise NotReady(node.name, f"{DATA} cannot be looked into: {entry.error}")
        found = found or entry.path.rstrip("/") != DATA
    return found


def _member(member: EtcdMember) -> EtcdMemberSeen:
    hosts = tuple(host for url in member.peer_urls if (host := urlsplit(url).hostname))
    return EtcdMemberSeen(id=member.id, name=member.hostname, learner=member.is_learner, addresses=hosts)


def _last_words(service: Service) -> tuple[str, ...]:
    return (service.events[-1].message,) if service.events and service.events[-1].message else ()
