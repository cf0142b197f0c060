"""Runs a plan: steps begin as soon as what they need is done, many at once, each told about as it goes.

- A step is asked first whether the world is already as it leaves it; if so, nothing is run. After a try that did not
  end well it is asked again before the next one: what was carried out although the answer got lost has no second
  effect. While that question cannot be answered nothing is run either.
- A step's limit covers all of its tries and pauses.
- A failed step stops what needs it, and nothing else.
- Nothing begins that could not be told: if a listener fails (the journal's disk is full, say), the run does not
  begin, or ends at a safe point.
- Asked to stop, the run begins nothing new. Steps that change nothing end at once, those that pause between two tries
  too; those in the middle of a change are let finish. Asked again, all are cancelled.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic

from talosmith.engine.failures import explained
from talosmith.engine.lock import LockLost
from talosmith.engine.stopping import Stopping
from talosmith.engine.tries import Ended, Tries
from talosmith.errors import ExitCode, Permanent, TalosmithError
from talosmith.events import EventKind, Events
from talosmith.plan.step import C, Plan, Step
from talosmith.waiting import running_task

AT_ONCE = 256  # steps; most wait for machines with a connection or two, and a process may have 1,024 files open


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended. Keys are in the order of the plan."""

    done: tuple[str, ...]
    failed: Mapping[str, TalosmithError]
    left: tuple[str, ...]  # not begun, or not finished
    changed: tuple[str, ...] = ()  # those of `done` that had something to do
    stopped: bool = False  # it was asked to stop, or had to, and something is left
    interrupted: bool = False  # it was asked twice
    problem: TalosmithError | None = None  # why it had to stop, if it was no step's fault

    @property
    def exit_code(self) -> ExitCode:
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if self.failed:  # an error with a code of its own is worth more than the general one
            codes = (error.exit_code for error in self.failed.values())
            return next((code for code in codes if code != ExitCode.FAILED), ExitCode.FAILED)
        if self.problem is not None and self.problem.exit_code != ExitCode.FAILED:
            return self.problem.exit_code
        return ExitCode.RESUMABLE if self.stopped or self.problem is not None else ExitCode.DONE

    @property
    def word(self) -> str:
        return "failed" if self.failed else "stopped" if self.stopped or self.problem is not None else "done"


async def run(
    plan: Plan[C],
    context: C,
    events: Events,
    *,
    stopping: Stopping | None = None,
    at_once: int = AT_ONCE,
    may_write: Callable[[], None] = lambda: None,
    limit: float = math.inf,
) -> Outcome:
    """Run `plan`. `may_write` is asked before each step and raises if somebody else has taken over the cluster.

    `limit` is for steps that would give themselves more seconds than that.

    Errors of steps are in the outcome. What is raised came before any step: the plan is blocked, or nobody listens.
    """
    if plan.blocked:
        raise Permanent(f"this plan must not be run: {'; '.join(plan.blocked)}")
    one = _Run(plan, context, events, stopping or Stopping(), at_once, may_write, limit)
    about = {"operation": plan.operation, "cluster": plan.cluster, "plan": _told(plan), "digest": plan.digest}
    try:
        if one.tell("run-started", "", None, **about):
            await one.run()
    finally:  # also if whoever called us is cancelled
        outcome = one.outcome()
        heard = one.tell(
            "run-finished",
            str(outcome.problem or ""),
            outcome=outcome.word,
            done=list(outcome.done),
            failed=list(outcome.failed),
            left=list(outcome.left),
        )
    if outcome.problem is not None and not one.begun:
        raise outcome.problem
    return outcome if heard else one.outcome()


def _told(plan: Plan[Any]) -> dict[str, dict[str, Any]]:
    return {
        step.key: {
            "title": step.action.describe(),
            "subject": step.subject,
            "needs": list(step.needs),
            "expected": step.expected,
            "stage": step.stage,
            "disruption": step.disruption,
            "reason": step.reason,
        }
        for step in plan
    }


@dataclass(slots=True)
class _Running:
    """A step that has begun, or will in the next moment. A task that is cancelled before that never begins at all."""

    harmless: bool  # it changes nothing
    task: asyncio.Task[None] | None = None
    cancels: int = 0  # ours; the task counts all

    def cancel(self) -> None:
        if self.task is not None:
            self.cancels += 1
            self.task.cancel()

    @property
    def cancelled_by_others(self) -> bool:
        return self.task is not None and self.task.cancelling() > self.cancels


class _Run(Generic[C]):
    """What is known while a plan is run. Everything happens in one thread; each step is a task of one group."""

    def __init__(
        self,
        plan: Plan[C],
        context: C,
        events: Events,
        stopping: Stopping,
        at_once: int,
        may_write: Callable[[], None],
        limit: float,
    ) -> None:
        self._context = context
        self._steps = plan.steps
        self._events = events
        self._stopping = stopping
        self._at_once = at_once
        self._may_write = may_write
        self._limit = limit
        self._problem: TalosmithError | None = None
        self._cut = False  # nothing more may begin
        self.begun = False
        self._done: dict[str, bool] = {}  # by key: whether it had something to do
        self._failed: dict[str, TalosmithError] = {}
        self._skipped: set[str] = set()
        self._wanting: dict[str, list[int]] = {}  # by key: the steps that need it
        self._unmet: list[int] = []  # by position: how many needs are not done
        self._ready: list[int] = []  # a heap: what stands first in the plan begins first
        self._running: dict[str, _Running] = {}
        self._group = asyncio.TaskGroup()
        for position, step in enumerate(self._steps):
            self._add(position, step)

    def _add(self, position: int, step: Step[C]) -> None:
        if step.key in self._wanting:
            raise ValueError(f"the plan has two steps {step.key}")
        needs = set(step.needs)
        for need in needs:
            if need not in self._wanting:  # which also proves that there is no circle
                raise ValueError(f"{step.key} needs {need}, which does not stand before it in the plan")
            self._wanting[need].append(position)
        self._wanting[step.key] = []
        self._unmet.append(len(needs))
        if not needs:
            self._ready.append(position)

    async def run(self) -> None:
        self.begun = True
        async with self._group:
            self._watcher = self._group.create_task(self._watch())
            self._begin()

    def outcome(self) -> Outcome:
        keys = [step.key for step in self._steps]
        left = tuple(key for key in keys if key not in self._done and key not in self._failed)
        return Outcome(
            done=tuple(key for key in keys if key in self._done),
            failed={key: self._failed[key] for key in keys if key in self._failed},
            left=left,
            changed=tuple(key for key in keys if self._done.get(key)),
            stopped=any(key not in self._skipped for key in left),
            interrupted=self._stopping.urgent and bool(left),
            problem=self._problem,
        )

    def tell(self, kind: EventKind, text: str = "", step: Step[Any] | None = None, **data: Any) -> bool:
        """Whether all have heard it. The first time that somebody has not, the run is brought to its end."""
        try:
            if step is None:
                self._events.emit(kind, text, **data)
            else:
                self._events.emit(kind, text, step=step.key, subject=step.subject, **data)
        except Exception as problem:
            if self._problem is None:
                self._problem = self._taken_over() or explained(problem)
                self._stopping.give_up()
                if isinstance(self._problem, LockLost):
                    self._cancel()
                else:
                    self._halt()
            return False
        return True

    def _taken_over(self) -> LockLost | None:
        """That somebody else works here by now tells more than what came of it, such as another's journal."""
        try:
            self._may_write()
        except LockLost as lost:
            return lost
        except Exception:
            return None
        return None

    # Beginning

    @property
    def _halted(self) -> bool:
        return self._stopping.wanted or self._problem is not None or self._cut

    def _begin(self) -> None:
        """Begin what may begin; end the run if nothing is left to wait for."""
        while self._ready and len(self._running) < self._at_once and not self._halted:
            step = self._steps[heapq.heappop(self._ready)]
            running = self._running[step.key] = _Running(harmless=not step.action.calls())
            self._group.create_task(self._one(step, running))
        if not self._running:
            self._watcher.cancel()

    async def _one(self, step: Step[C], running: _Running) -> None:
        running.task = running_task()
        ended: Ended = None
        begun = not self._halted
        try:
            if begun and self.tell("step-started", step=step):
                tries = Tries(step, self._context, self.tell, self._stopping, self._may_write, self._limit)
                ended = await tries.until_ended()
        except asyncio.CancelledError:
            if not running.cancels or running.cancelled_by_others:
                raise
        except BaseException:
            self._cut = True
            raise
        finally:
            self._cut = self._cut or running.cancelled_by_others  # with whoever called us
            del self._running[step.key]
            if begun:
                self._settle(step, ended)
            self._begin()

    # Ending

    def _settle(self, step: Step[C], ended: Ended) -> None:
        if ended is None:
            self.tell("step-skipped", "stopped before it was done", step, because="")
            return
        if isinstance(ended, TalosmithError):
            self._fail(step, ended)
            return
        self._done[step.key] = ended
        self.tell("step-done", step=step, changed=ended)
        for position in self._wanting[step.key]:
            self._unmet[position] -= 1
            if not self._unmet[position]:
                heapq.heappush(self._ready, position)

    def _fail(self, step: Step[C], error: TalosmithError) -> None:
        self._failed[step.key] = error
        self.tell("step-failed", str(error), step, hint=error.hint)
        self._skip(self._wanting[step.key], step.key)
        if isinstance(error, LockLost):  # somebody else is at work; whatever we still do is in their way
            self._cut = True
            self._cancel()

    def _skip(self, positions: Iterable[int], because: str) -> None:
        """All that needs a failed step, directly or not; each is told about once, in the order of the plan."""
        heap = sorted(positions)
        while heap:
            position = heapq.heappop(heap)
            step = self._steps[position]
            if step.key not in self._skipped:
                self._skipped.add(step.key)
                self.tell("step-skipped", f"{because} failed", step, because=because)
                for wanting in self._wanting[step.key]:
                    heapq.heappush(heap, wanting)

    # Being stopped

    async def _watch(self) -> None:
        await self._stopping.until_wanted()
        self.tell("warning", "stopping at a safe point; Ctrl-C again stops at once")
        self._halt()
        await self._stopping.until_urgent()
        self._cancel()

    def _halt(self) -> None:
        """Cut short what changes nothing."""
        for running in self._running.values():
            if running.harmless:
                running.cancel()

    def _cancel(self) -> None:
        for running in self._running.values():
            running.cancel()
