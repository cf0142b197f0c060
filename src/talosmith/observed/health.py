"""Waiting until a cluster is healthy, and stays so for a moment: a cluster that flaps is not healthy.

Nodes report when something about them changes, so waiting is mostly listening; what is not reported, such as a new
leader of etcd, is read again after a while.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from talosmith.desired.target import Desired
from talosmith.errors import ExitCode, Permanent
from talosmith.kube import KubeClient
from talosmith.model.machines import Machine
from talosmith.observed.conditions import conditions
from talosmith.observed.listening import Listener
from talosmith.observed.reach import Reach
from talosmith.observed.root_causes import RootCause, root_causes
from talosmith.observed.round import Expected, Round
from talosmith.observed.verdicts import Check, Checked, Verdict
from talosmith.talos import TalosClient, TalosNode
from talosmith.waiting import between_looks, limited, slower

LIMIT = 900.0
STEADY = 3  # rounds in a row with the same result; twice as many each time that health was lost again
_STEADIEST = 12
_WORTH_LISTENING = 0.1  # seconds: it takes a moment until all nodes are listened to
_LONG = 1.0  # seconds: a check that takes longer is itself worth reporting
_LAST_LOOK = 3.0  # seconds after the limit, to find the root cause
_SOON, _SELDOM, _SLOWING = 0.05, 2.0, 0.04  # seconds until the next round, if no node reports a change

Machines = Callable[[], Awaitable[Mapping[str, Machine] | None]]


async def machines_unknown() -> None:
    """For callers that have no provider to ask."""
    return


@dataclass(frozen=True, slots=True)
class Health:
    """All checks, and why those fail that do; without a cause the cluster is healthy."""

    checks: tuple[Checked, ...]
    causes: tuple[RootCause, ...] = ()

    @property
    def healthy(self) -> bool:
        return not self.causes


class Unhealthy(Permanent):
    """`check` is the condition that was waited for, `detail` its last result, `causes` the root causes if known."""

    exit_code = ExitCode.UNHEALTHY

    def __init__(
        self, what: str, *, hint: str = "", check: str = "", detail: str = "", causes: tuple[RootCause, ...] = ()
    ) -> None:
        super().__init__(what, hint=hint or "talosmith health")
        self.check = check
        self.detail = detail
        self.causes = causes

    @classmethod
    def after(cls, seconds: float, check: str, detail: str, causes: tuple[RootCause, ...]) -> Unhealthy:
        """The limit is over."""
        what = f"not healthy after {seconds:g} s: waited for {check}: {detail}"
        if causes:
            more = f" (and {len(causes) - 1} more causes)" if len(causes) > 1 else ""
            what = f"not healthy after {seconds:g} s: {causes[0]}{more}; waited for {check}"
        return cls(what, hint=causes[0].fix if causes else "", check=check, detail=detail, causes=causes)


def checks(desired: Desired, *, kubernetes: bool = True) -> list[Check]:
    """The conditions of this cluster, in the order in which they come true."""
    return conditions(Expected.of(desired), kubernetes=kubernetes)


async def look_once(
    desired: Desired, talos: TalosClient, kube: KubeClient | None, *, reach: Reach | None = None
) -> list[Checked]:
    """All conditions, whether they hold or not."""
    return await _look_at(Expected.of(desired), _nodes(desired, talos, reach), kube)


async def _look_at(expected: Expected, nodes: Mapping[str, TalosNode], kube: KubeClient | None) -> list[Checked]:
    found = Round(expected, nodes, kube)
    found.begin()
    try:
        return [(check, await check.look(found)) for check in conditions(expected, kubernetes=kube is not None)]
    finally:
        await found.end()


async def diagnosed(
    desired: Desired, found: Sequence[Checked], machines: Machines = machines_unknown, folder: Path | None = None
) -> Health:
    """With root causes; the provider is asked for its machines only if a check fails."""
    if all(verdict.ok for _, verdict in found):
        return Health(tuple(found))
    causes = root_causes(found, Expected.of(desired), await machines(), folder=folder)
    return Health(tuple(found), causes)


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
    machines: Machines = machines_unknown,
    folder: Path | None = None,
    ends_without_cni: bool = False,
) -> None:
    """Return once all conditions have held `steady` times in a row, with no change in between; more often if one
    that held did not hold later.

    Raises `Unhealthy` at the limit; with `ends_without_cni` also as soon as the cluster lacks nothing but a CNI, for
    which a run would wait in vain. Without `kube`, only Talos and etcd are checked; without `reach`, nodes at the
    inventory's addresses.
    """
    expected, nodes = Expected.of(desired), _nodes(desired, talos, reach)
    waiter = _Waiter(expected, nodes, kube, report, folder)
    waiter.ends_without_cni = ends_without_cni and expected.without_cni and not expected.manifests
    try:
        async with asyncio.timeout(limit):
            await waiter.wait(steady, between_looks(simulated=False) if between is None else between)
    except TimeoutError:
        causes: tuple[RootCause, ...] = ()
        async with limited(_LAST_LOOK):
            causes = (await diagnosed(desired, await _look_at(expected, nodes, kube), machines, folder)).causes
        raise Unhealthy.after(limit, *waiter.trouble(), causes) from None


class _Waiter:
    def __init__(
        self,
        expected: Expected,
        nodes: Mapping[str, TalosNode],
        kube: KubeClient | None,
        report: Callable[[str], None],
        folder: Path | None,
    ) -> None:
        self._expected = expected
        self._nodes = nodes
        self._kube = kube
        self._report = report
        self._folder = folder
        self._checks = conditions(expected, kubernetes=kube is not None)
        self._looking: tuple[str, float] | None = None  # the check that is being evaluated, and since when
        self._failed: tuple[str, str] | None = None  # the last check that failed, and its detail
        self._well = False
        self._once_well = False
        self._lacks_cni: RootCause | None = None  # the only cause in the last round
        self.ends_without_cni = False

    def trouble(self) -> tuple[str, str]:
        """What keeps the cluster from being healthy: a condition, and its last result."""
        if self._looking is not None:
            name, since = self._looking
            lasted = time.monotonic() - since
            if lasted > _LONG or (self._failed is None and not self._once_well):
                return name, f"no answer for {lasted:.1f} s"
        if self._failed is None:
            return "all conditions to hold for a while", "they hold, but nodes keep changing"
        name, detail = self._failed
        return name, f"the condition comes and goes; its last failure: {detail}" if self._well else detail

    async def wait(self, steady: int, between: float) -> None:
        began = time.monotonic()
        same, before = 0, ""  # rounds in a row with a result that ends the wait
        async with Listener(list(self._nodes.values()), self._kube) as listener:
            while True:
                changes, was_well = listener.changes, self._well
                self._well = await self._all_well()
                if was_well and not self._well:
                    steady = min(steady * 2, max(steady, _STEADIEST))
                self._once_well = self._once_well or self._well
                result = "healthy" if self._well else "no CNI" if self._lacks_cni else ""
                same, before = same + 1 if result and result == before else int(bool(result)), result
                if same >= steady:
                    self._end()
                    return
                if same:
                    if between >= _WORTH_LISTENING:
                        listener.begin()
                    await asyncio.sleep(between)
                    same = same if listener.changes == changes else 0
                else:
                    await listener.listen(slower(time.monotonic() - began, _SOON, _SLOWING, _SELDOM))

    def _end(self) -> None:
        cause = self._lacks_cni
        if cause is not None:
            check, detail = self.trouble()
            raise Unhealthy(cause.cause, hint=cause.fix, check=check, detail=detail, causes=(cause,))

    async def _all_well(self) -> bool:
        found = Round(self._expected, self._nodes, self._kube)
        if self._failed is None or self._well:  # else the first check that fails ends the round
            found.begin()
        try:
            return await self._look(found)
        finally:
            await found.end()

    async def _look(self, found: Round) -> bool:
        self._lacks_cni = None
        results: list[Checked] = []
        for check in self._checks:
            self._looking = check.name, time.monotonic()
            verdict = await check.look(found)
            results.append((check, verdict))
            if not verdict.ok and not self._may_lack_cni(results):
                self._fail(check, verdict)
                return False
        self._looking = None
        failed = [one for one in results if not one[1].ok]
        if failed:
            (self._lacks_cni,) = root_causes(results, self._expected, folder=self._folder)
            self._fail(*failed[0])
        return not failed

    def _may_lack_cni(self, results: Sequence[Checked]) -> bool:
        """Whether the missing CNI explains all that has failed so far: then the checks that follow matter, too."""
        if not self.ends_without_cni:
            return False
        return [cause.kind for cause in root_causes(results, self._expected)] == ["no-cni"]

    def _fail(self, check: Check, verdict: Verdict) -> None:
        seen = check.name, verdict.detail
        if seen != self._failed or self._well:
            self._report(f"waiting for {check.name}: {verdict.detail}")
        self._failed, self._looking = seen, None


def _nodes(desired: Desired, talos: TalosClient, reach: Reach | None) -> dict[str, TalosNode]:
    reach = reach or Reach(desired.cluster, {})
    return {name: talos.node(reach.talos(name), name) for name in desired.nodes}
