"""Waiting until a cluster is healthy, and stays so for a moment: what flaps is not healthy.

Nodes tell when something about them changes, so waiting is mostly listening; what nobody tells of, such as a leader
in etcd, is looked at again after a while.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from talosmith.desired.target import Desired
from talosmith.errors import ExitCode, Permanent
from talosmith.kube import KubeClient
from talosmith.observed.conditions import Check, Verdict, conditions
from talosmith.observed.listening import Listener
from talosmith.observed.reach import Reach
from talosmith.observed.round import Expected, Round
from talosmith.talos import TalosClient, TalosNode
from talosmith.waiting import between_looks, slower

LIMIT = 900.0
STEADY = 3  # rounds in a row in which all is well; twice as many each time that it was and then was not
_STEADIEST = 12
_WORTH_LISTENING = 0.1  # seconds: it takes a moment until all nodes are listened to
_LONG = 1.0  # a look that takes longer is itself worth telling
_SOON, _SELDOM, _SLOWING = 0.05, 2.0, 0.04  # how long to wait before looking again, if nobody tells anything


class Unhealthy(Permanent):
    """The limit is over; `check` is the condition that does not hold, `detail` the last thing seen of it."""

    exit_code = ExitCode.UNHEALTHY

    def __init__(self, check: str, detail: str, seconds: float) -> None:
        super().__init__(
            f"not healthy after {seconds:g} s: waited for {check}: {detail}",
            hint="`talosmith health` shows all conditions; `talosctl dmesg` tells what a node is doing.",
        )
        self.check = check
        self.detail = detail


def checks(desired: Desired, *, kubernetes: bool = True) -> list[Check]:
    """The conditions of this cluster, in the order in which they come true."""
    return conditions(Expected.of(desired), kubernetes=kubernetes)


async def look_once(
    desired: Desired, talos: TalosClient, kube: KubeClient | None, *, reach: Reach | None = None
) -> list[tuple[Check, Verdict]]:
    """All conditions, whether they hold or not."""
    expected = Expected.of(desired)
    found = Round(expected, _nodes(desired, talos, reach), kube)
    found.begin()
    try:
        return [(check, await check.look(found)) for check in conditions(expected, kubernetes=kube is not None)]
    finally:
        await found.end()


async def wait_healthy(
    desired: Desired,
    talos: TalosClient,
    kube: KubeClient | None,
    *,
    report: Callable[[str], None],
    limit: float = LIMIT,
    reach: Reach | None = None,
    steady: int = STEADY,
    between: float | None = None,
) -> None:
    """Returns once all conditions have held `steady` times in a row, with no change in between; more often if one
    that held did not hold later.

    Raises `Unhealthy` at the limit. Without `kube`, only Talos and etcd are looked at; without `reach`, nodes at the
    inventory's addresses.
    """
    waiter = _Waiter(Expected.of(desired), _nodes(desired, talos, reach), kube, report)
    try:
        async with asyncio.timeout(limit):
            await waiter.wait(steady, between_looks(simulated=False) if between is None else between)
    except TimeoutError:
        raise Unhealthy(*waiter.trouble(), limit) from None


class _Waiter:
    def __init__(
        self,
        expected: Expected,
        nodes: Mapping[str, TalosNode],
        kube: KubeClient | None,
        report: Callable[[str], None],
    ) -> None:
        self._expected = expected
        self._nodes = nodes
        self._kube = kube
        self._report = report
        self._checks = conditions(expected, kubernetes=kube is not None)
        self._looking: tuple[str, float] | None = None  # at what, and since when
        self._failed: tuple[str, str] | None = None  # the last condition that did not hold, and what was seen of it
        self._well = False
        self._once_well = False

    def trouble(self) -> tuple[str, str]:
        """What keeps it from being healthy: a condition, and the last thing seen of it."""
        if self._looking is not None:
            name, since = self._looking
            lasted = time.monotonic() - since
            if lasted > _LONG or (self._failed is None and not self._once_well):
                return name, f"no answer for {lasted:.1f} s"
        if self._failed is None:
            return "all conditions to hold for a while", "they hold, but nodes keep changing"
        name, detail = self._failed
        return name, f"it comes and goes; the last time it was: {detail}" if self._well else detail

    async def wait(self, steady: int, between: float) -> None:
        began = time.monotonic()
        good = 0
        async with Listener(list(self._nodes.values()), self._kube) as listener:
            while True:
                changes, was_well = listener.changes, self._well
                self._well = await self._all_well()
                if was_well and not self._well:
                    steady = min(steady * 2, max(steady, _STEADIEST))
                self._once_well = self._once_well or self._well
                good = good + 1 if self._well else 0
                if good >= steady:
                    return
                if good:
                    if between >= _WORTH_LISTENING:
                        listener.begin()
                    await asyncio.sleep(between)
                    good = good if listener.changes == changes else 0
                else:
                    await listener.listen(slower(time.monotonic() - began, _SOON, _SLOWING, _SELDOM))

    async def _all_well(self) -> bool:
        found = Round(self._expected, self._nodes, self._kube)
        if self._failed is None or self._well:  # else the first condition that fails ends the round
            found.begin()
        try:
            return await self._look(found)
        finally:
            await found.end()

    async def _look(self, found: Round) -> bool:
        for check in self._checks:
            self._looking = check.name, time.monotonic()
            verdict = await check.look(found)
            if not verdict.ok:
                seen = check.name, verdict.detail
                if seen != self._failed or self._well:
                    self._report(f"waiting for {check.name}: {verdict.detail}")
                self._failed, self._looking = seen, None
                return False
        self._looking = None
        return True


def _nodes(desired: Desired, talos: TalosClient, reach: Reach | None) -> dict[str, TalosNode]:
    reach = reach or Reach(desired.cluster, {})
    return {name: talos.node(reach.talos(name), name) for name in desired.nodes}
