"""Runs a plan: steps start as soon as the steps they need are done, many at once, each with events as it goes.

- Before a step is run, and again before each retry, its `done` is asked: a change that was made although the response
  got lost is not made twice. While `done` cannot be answered, nothing is run.
- A step's limit covers all of its attempts and pauses.
- A failed step stops the steps that need it, and nothing else.
- If a listener fails (the journal's disk is full, for one), the run does not start, or ends at a safe point.
- Asked to stop, the run starts no further step. Steps that change nothing, and those that pause before a retry, end
  at once; those in the middle of a change finish. Asked again, all are cancelled.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic

from talosmith.engine.attempts import Ended, StepAttempts
from talosmith.engine.failures import explained
from talosmith.engine.lock import LockLost
from talosmith.engine.stopping import Stopping
from talosmith.errors import ExitCode, Permanent, TalosmithError
from talosmith.events import EventKind, Events
from talosmith.plan.step import C, Plan, Step
from talosmith.waiting import running_task

AT_ONCE = 256  # steps; most wait for machines with a connection or two, and a process has up to 1,024 open files


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended. Keys are in the order of the plan."""

    done: tuple[str, ...]
    failed: Mapping[str, TalosmithError]
    left: tuple[str, ...]  # not started, or not finished
    changed: tuple[str, ...] = ()  # those of `done` that changed something
    stopped: bool = False  # the run was asked to stop, or had to, and steps are left
    interrupted: bool = False  # the run was asked to stop twice
    problem: TalosmithError | None = None  # why the run had to stop, if no step was the cause

    @property
    def exit_code(self) -> ExitCode:
        if self.interrupted:
            return ExitCode.INTERRUPTED
        if self.failed:  # an error with an exit code of its own says more than the general one
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
    check_lock: Callable[[], None] = lambda: None,
    limit: float = math.inf,
    labels: Mapping[str, str] = MappingProxyType({}),
) -> Outcome:
    """Run `plan`. `check_lock` is called before each step and raises if another process has taken over the lock.

    `limit`: seconds, for steps whose own limit is longer. `labels` are recorded with the start of the run: its id.

    Errors of steps are in the outcome. An error that is raised came before any step: the plan is blocked, or a
    listener failed.
    """
    if plan.blocked:
        raise Permanent(f"plan is blocked: {'; '.join(map(str, plan.blocked))}")
    one = _Run(plan, context, events, stopping or Stopping(), at_once, check_lock, limit)
    about = {
        **labels,
        "operation": plan.operation,
        "cluster": plan.cluster,
        "plan": _steps_data(plan),
        "digest": plan.digest,
    }
    try:
        if one.emit("run-started", "", None, **about):
            await one.run()
    finally:  # also if the caller is cancelled
        outcome = one.outcome()
        delivered = one.emit(
            "run-finished",
            str(outcome.problem or ""),
            outcome=outcome.word,
            exit_code=int(outcome.exit_code),
            done=list(outcome.done),
            failed=list(outcome.failed),
            left=list(outcome.left),
        )
    if outcome.problem is not None and not one.begun:
        raise outcome.problem
    return outcome if delivered else one.outcome()


def _steps_data(plan: Plan[Any]) -> dict[str, dict[str, Any]]:
    return {
        step.key: {
            "title": step.action.describe(),
            "subject": step.subject,
            "needs": list(step.needs),
            "expected_seconds": step.expected,
            "stage": step.stage,
            "disruption": step.disruption,
            "reason": step.reason,
        }
        for step in plan
    }


@dataclass(slots=True)
class _Running:
    """A step that has started, or is about to. A task that is cancelled before that never starts."""

    harmless: bool  # the step changes nothing
    task: asyncio.Task[None] | None = None
    cancels: int = 0  # by the run itself; the task counts all

    def cancel(self) -> None:
        if self.task is not None:
            self.cancels += 1
            self.task.cancel()

    @property
    def cancelled_by_others(self) -> bool:
        return self.task is not None and self.task.cancelling() > self.cancels


class _Run(Generic[C]):
    """State of a run. Everything happens in one thread; each step is a task of one group."""

    def __init__(
        self,
        plan: Plan[C],
        context: C,
        events: Events,
        stopping: Stopping,
        at_once: int,
        check_lock: Callable[[], None],
        limit: float,
    ) -> None:
        self._context = context
        self._steps = plan.steps
        self._events = events
        self._stopping = stopping
        self._at_once = at_once
        self._check_lock = check_lock
        self._limit = limit
        self._problem: TalosmithError | None = None
        self._cut = False  # no further step may start
        self.begun = False
        self._done: dict[str, bool] = {}  # by key: whether the step changed something
        self._failed: dict[str, TalosmithError] = {}
        self._skipped: set[str] = set()
        self._wanting: dict[str, list[int]] = {}  # by key: the steps that need it
        self._unmet: list[int] = []  # by position: how many needs are not done
        self._ready: list[int] = []  # a heap: what is first in the plan starts first
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

    def emit(self, kind: EventKind, text: str = "", step: Step[Any] | None = None, **data: Any) -> bool:
        """Emit an event; whether all listeners took it. The first failure of a listener ends the run."""
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
        """A lock that was taken over is the cause; an error of the journal is then only its consequence."""
        try:
            self._check_lock()
        except LockLost as lost:
            return lost
        except Exception:
            return None
        return None

    # Starting

    @property
    def _halted(self) -> bool:
        return self._stopping.wanted or self._problem is not None or self._cut

    def _begin(self) -> None:
        """Start the steps that are ready; end the run if no step is running."""
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
            if begun and self.emit("step-started", step=step):
                tries = StepAttempts(step, self._context, self.emit, self._stopping, self._check_lock, self._limit)
                ended = await tries.until_ended()
        except asyncio.CancelledError:
            if not running.cancels or running.cancelled_by_others:
                raise
        except BaseException:
            self._cut = True
            raise
        finally:
            self._cut = self._cut or running.cancelled_by_others  # with the caller
            del self._running[step.key]
            if begun:
                self._settle(step, ended)
            self._begin()

    # Ending

    def _settle(self, step: Step[C], ended: Ended) -> None:
        if ended is None:
            self.emit("step-skipped", "stopped before it was done", step, because="")
            return
        if isinstance(ended, TalosmithError):
            self._fail(step, ended)
            return
        self._done[step.key] = ended
        self.emit("step-done", step=step, changed=ended)
        for position in self._wanting[step.key]:
            self._unmet[position] -= 1
            if not self._unmet[position]:
                heapq.heappush(self._ready, position)

    def _fail(self, step: Step[C], error: TalosmithError) -> None:
        self._failed[step.key] = error
        self.emit("step-failed", str(error), step, hint=error.hint)
        self._skip(self._wanting[step.key], step.key)
        if isinstance(error, LockLost):  # another process changes the cluster: everything stops now
            self._cut = True
            self._cancel()

    def _skip(self, positions: Iterable[int], because: str) -> None:
        """Skip all steps that need a failed one, directly or not; one event each, in the order of the plan."""
        heap = sorted(positions)
        while heap:
            position = heapq.heappop(heap)
            step = self._steps[position]
            if step.key not in self._skipped:
                self._skipped.add(step.key)
                self.emit("step-skipped", f"{because} failed", step, because=because)
                for wanting in self._wanting[step.key]:
                    heapq.heappush(heap, wanting)

    # Stopping

    async def _watch(self) -> None:
        await self._stopping.until_wanted()
        self.emit("warning", "stopping at a safe point; Ctrl-C again stops at once")
        self._halt()
        await self._stopping.until_urgent()
        self._cancel()

    def _halt(self) -> None:
        """Cancel the steps that change nothing."""
        for running in self._running.values():
            if running.harmless:
                running.cancel()

    def _cancel(self) -> None:
        for running in self._running.values():
            running.cancel()
