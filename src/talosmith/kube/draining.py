"""Empties a node by the eviction API, so that disruption budgets and each pod's time to say goodbye are honoured.

Pods without a controller are evicted too, and what is in an emptyDir is lost: the node is going to be restarted or
removed, and both would end them anyway, less gently.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from talosmith.errors import Temporary
from talosmith.kube import errors
from talosmith.kube.client import KubeClient
from talosmith.kube.discovery import Resource
from talosmith.kube.nodes import cordon
from talosmith.kube.pods import Budget, Pod, budgets_of, pods_on
from talosmith.kube.waiting import Progress
from talosmith.tasks import together
from talosmith.waiting import limited

TIMEOUT = 300.0
BETWEEN_TRIES = 5.0
_PODS = Resource("v1", "Pod", "pods", namespaced=True)


@dataclass(frozen=True, slots=True)
class Blocked:
    """A pod that cannot be evicted now, and what is in the way."""

    pod: Pod
    why: str

    def __str__(self) -> str:
        return f"{self.pod}: {self.why}"


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a drain would do. `in_turn`: budgets that let pods go, but not all of them at once."""

    node: str
    evicted: tuple[Pod, ...]
    stay: tuple[Pod, ...]
    blocked: tuple[Blocked, ...]
    in_turn: tuple[Budget, ...]

    @property
    def passes(self) -> bool:
        return not self.blocked


@dataclass(frozen=True, slots=True)
class Drained:
    """What a drain did."""

    node: str
    evicted: tuple[Pod, ...]
    stay: tuple[Pod, ...]
    deleted: tuple[Pod, ...] = ()  # those that no eviction could move


class NotDrained(errors.NotInTime):
    """Pods are still there; `blocked` says which, and why. The node stays cordoned."""

    def __init__(self, server: str, node: str, timeout: float, blocked: tuple[Blocked, ...]) -> None:
        listed = "; ".join(str(one) for one in blocked)
        super().__init__(
            server,
            f"not drained within {timeout:g} s, {len(blocked)} pods are still there: {listed}",
            about=f"Node {node}",
            hint="The node stays cordoned. Make room elsewhere, mend the pods or the budget, and drain again.",
        )
        self.node = node
        self.blocked = blocked


async def simulate_drain(client: KubeClient, node: str) -> Forecast:
    """What would block, asked of the server itself, before anything is touched."""
    pods = await pods_on(client, node)
    leaving = [pod for pod in pods if not pod.stays]
    refusals: dict[str, str] = {}

    async def ask(pod: Pod) -> None:
        why = "" if pod.leaving else await evict(client, pod, dry_run=True)
        if why:
            refusals[pod.uid] = why

    await together(ask, leaving)
    budgets = await budgets_of(client, [pod for pod in leaving if not pod.leaving])
    return Forecast(
        node,
        evicted=tuple(leaving),
        stay=tuple(pod for pod in pods if pod.stays),
        blocked=tuple(Blocked(pod, _why(refusals[pod.uid], pod, budgets)) for pod in leaving if pod.uid in refusals),
        in_turn=tuple(budget for budget in budgets if 0 < budget.allowed < len(budget.pods)),
    )


async def drain(
    client: KubeClient,
    node: str,
    *,
    timeout: float = TIMEOUT,
    between: float = BETWEEN_TRIES,
    report: Callable[[Progress], None] | None = None,
    delete_if_blocked: bool = False,
) -> Drained:
    """Cordon the node, evict its pods, wait until they are gone. Asked again, it goes on where it stopped.

    With `delete_if_blocked`, pods that could not be evicted in time are deleted, budgets or not, within a second
    such time. Raises `NotFound` if there is no such node and `NotDrained` at the time-out.
    """
    await cordon(client, node)
    draining = _Draining(client, node, report or (lambda progress: None))
    if not await draining.empties(timeout, between, draining.ask_to_leave):
        if not delete_if_blocked:
            raise await draining.failure(timeout)
        if not await draining.empties(timeout, between, draining.delete):
            raise await draining.failure(2 * timeout)
    return draining.result()


class _Draining:
    def __init__(self, client: KubeClient, node: str, report: Callable[[Progress], None]) -> None:
        self._client = client
        self._node = node
        self._report = report
        self._since = time.monotonic()
        self._seen: dict[str, Pod] = {}
        self._gone: set[str] = set()
        self._looked = False
        self._left: list[Pod] = []
        self._stay: tuple[Pod, ...] = ()
        self._refusals: dict[str, str] = {}
        self._deleted: list[Pod] = []
        self._attempted: dict[str, float] = {}  # when each may be asked again

    async def empties(self, timeout: float, between: float, remove: Callable[[Pod], Awaitable[None]]) -> bool:
        """Whether all pods left in time. New ones may come while others go, so the node is asked each time."""
        self._attempted.clear()
        async with limited(timeout):
            while True:
                if await self._look() and not self._left:
                    return True
                now = time.monotonic()
                due = [pod for pod in self._left if not pod.leaving and now >= self._attempted.get(pod.uid, 0.0)]
                self._attempted.update({pod.uid: now + between for pod in due})
                await together(remove, due)
                await asyncio.sleep(min(1.0, between))
        return False

    async def ask_to_leave(self, pod: Pod) -> None:
        with self._noting(pod):
            why = await evict(self._client, pod)
            if why:
                self._say(pod, why)
            else:
                self._refusals.pop(pod.uid, None)

    async def delete(self, pod: Pod) -> None:
        with self._noting(pod):
            try:
                if await self._client.delete(pod.ref, uid=pod.uid):
                    self._deleted.append(pod)
            except errors.Changed:
                pass  # another pod has its name now, and may stay

    @contextmanager
    def _noting(self, pod: Pod) -> Iterator[None]:
        """Troubles that may pass are kept as the reason why the pod is still there."""
        try:
            yield
        except errors.KubeError as wrong:
            if not isinstance(wrong, Temporary):
                raise
            self._say(pod, str(wrong))

    async def blocked(self) -> tuple[Blocked, ...]:
        try:
            budgets = await budgets_of(self._client, self._left)
        except errors.KubeError:
            budgets = []  # they only explain; that the pods are still there is known without
        found = []
        for pod in self._left:
            if pod.leaving:
                why = "it is being deleted, and its containers have not ended, or a finalizer holds it"
            else:
                why = _why(self._refusals.get(pod.uid, "not asked to leave yet"), pod, budgets)
            found.append(Blocked(pod, why))
        return tuple(found)

    async def failure(self, timeout: float) -> errors.KubeError:
        if self._looked:
            return NotDrained(self._client.server, self._node, timeout, await self.blocked())
        what = f"not drained within {timeout:g} s: the server did not tell which pods there are"
        return errors.NotInTime(self._client.server, what, about=f"Node {self._node}")

    def result(self) -> Drained:
        deleted = {pod.uid for pod in self._deleted}
        evicted = tuple(pod for pod in self._seen.values() if pod.uid not in deleted)
        return Drained(self._node, evicted, self._stay, tuple(self._deleted))

    async def _look(self) -> bool:
        """Whether the pods could be seen; if not, what was known before still counts, and nothing is not none."""
        try:
            pods = await pods_on(self._client, self._node)
        except errors.KubeError as wrong:
            if not isinstance(wrong, Temporary):
                raise
            return False
        self._looked = True
        self._left = [pod for pod in pods if not pod.stays]
        self._stay = tuple(pod for pod in pods if pod.stays)
        still_there = {pod.uid for pod in self._left}
        for uid in self._seen.keys() - still_there - self._gone:
            self._gone.add(uid)
            self._tell(self._seen[uid], True, "gone")
        for pod in self._left:
            self._seen.setdefault(pod.uid, pod)
        return True

    def _say(self, pod: Pod, why: str) -> None:
        if self._refusals.get(pod.uid) != why:
            self._refusals[pod.uid] = why
            self._tell(pod, False, why)

    def _tell(self, pod: Pod, ok: bool, reason: str) -> None:
        self._report(Progress(f"pod {pod} off {self._node}", ok, reason, time.monotonic() - self._since))


async def evict(client: KubeClient, pod: Pod, *, dry_run: bool = False) -> str:
    """Why the pod cannot go now; empty if it goes, or is gone."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.ref.name, "namespace": pod.ref.namespace},
        # No grace period: the pod's own counts. The uid, lest another pod of its name is hit.
        "deleteOptions": {"preconditions": {"uid": pod.uid}, **({"dryRun": ["All"]} if dry_run else {})},
    }
    path = _PODS.path(pod.ref.namespace, pod.ref.name, "eviction")
    params = {"dryRun": "All"} if dry_run else {}
    try:
        await client.caller.ask("POST", path, params=params, body=body, about=str(pod.ref), repeat=True)
    except (errors.NotFound, errors.Changed):
        return ""
    except errors.Protected as wrong:
        return " ".join([wrong.said, *(cause.said for cause in wrong.causes)])
    return ""


def _why(refusal: str, pod: Pod, budgets: list[Budget]) -> str:
    own = [str(budget) for budget in budgets if pod in budget.pods]
    return f"{refusal} ({'; '.join(own)})" if own else refusal
