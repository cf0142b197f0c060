"""Puts a plan together: steps by key, each with its reason and what it needs; in order once it is frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from talosmith.errors import UsageError
from talosmith.plan.step import Action, Plan, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which steps of a plan are meant: patterns of step keys, and names of nodes. Nothing said: all."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def has(self, step: Step) -> bool:
        if self.targets and step.subject not in self.targets:
            return False
        if self.only and not any(fnmatchcase(step.key, pattern) for pattern in self.only):
            return False
        return not any(fnmatchcase(step.key, pattern) for pattern in self.skip)

    def names(self, key: str) -> bool:
        """Whether just this was asked for."""
        return any(fnmatchcase(key, pattern) for pattern in self.only)


class PlanBuilder:
    def __init__(self, operation: str, cluster: str) -> None:
        self._operation = operation
        self._cluster = cluster
        self._steps: dict[str, Step] = {}
        self._bound: dict[str, tuple[str, ...]] = {}
        self._notes: list[str] = []
        self._blocked: list[str] = []
        self._confirm: list[tuple[str, tuple[str, ...]]] = []

    def add(
        self,
        action: Action,
        reason: str,
        *,
        needs: Iterable[str] = (),
        never_without: Iterable[str] = (),
        effect: str = "",
    ) -> str:
        """The step's key. Needs may name steps that come later, or never come: then they are not needed.

        Who selects steps may leave out what is needed, and answers for it; but not what a step is `never_without`.
        """
        if action.key in self._steps:
            raise AssertionError(f"{action.key} is planned twice")
        self._bound[action.key] = tuple(never_without)
        all_needs = (*needs, *self._bound[action.key])
        self._steps[action.key] = Step(action=action, reason=reason, needs=all_needs, effect=effect)
        return action.key

    def has(self, key: str) -> bool:
        return key in self._steps

    def keys(self, where: Callable[[Step], bool] = lambda step: True) -> list[str]:
        return [key for key, step in self._steps.items() if where(step)]

    def note(self, text: str) -> None:
        self._notes.append(text)

    def block(self, text: str) -> None:
        """The plan is not to be run at all, for this reason."""
        self._blocked.append(text)

    def confirm(self, text: str, of: Iterable[str]) -> None:
        """A plain yes is not enough for these steps."""
        self._confirm.append((text, tuple(of)))

    def freeze(self, selection: Selection | None = None) -> Plan:
        chosen = selection or Selection()
        steps = {key: step for key, step in self._steps.items() if chosen.has(step)}
        unbound = self._unbound(steps)
        steps = {key: step for key, step in steps.items() if key not in unbound}
        also = ", ".join(f"{key} (never without {missing})" for key, missing in unbound.items())
        if self._steps and not steps and (chosen.only or chosen.targets):
            hint = f"not done: {also}" if also else f"it has {', '.join(self._steps)}"
            raise UsageError("none of the plan's steps is chosen", hint=hint)
        kept = [
            replace(step, needs=tuple(dict.fromkeys(need for need in step.needs if need in steps)))
            for step in steps.values()
        ]
        return Plan(
            operation=self._operation,
            cluster=self._cluster,
            steps=ordered(kept),
            notes=(*self._notes, *([f"also left out: {also}"] if also else [])),
            blocked=tuple(self._blocked),
            confirm=tuple(text for text, of in self._confirm if any(key in steps for key in of)),
        )

    def _unbound(self, chosen: Iterable[str]) -> dict[str, str]:
        """Of the chosen steps those that must not be done, each with the step it lacks; and who lacks those."""
        staying, found = dict.fromkeys(chosen), dict[str, str]()
        while True:
            lacking = {
                key: need
                for key in staying
                for need in self._bound[key]
                if need in self._steps and need not in staying
            }
            if not lacking:
                return found
            found |= lacking
            staying = {key: None for key in staying if key not in lacking}


def ordered(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Each after what it needs, otherwise as they came; raises if they need each other in a circle."""
    by_key = {step.key: step for step in steps}
    placed: dict[str, Step] = {}
    entered: set[str] = set()
    for first in by_key:
        path = [first]
        while path:
            key = path[-1]
            missing = [need for need in by_key[key].needs if need not in placed]
            if key in placed or not missing:
                placed[key] = by_key[key]
                path.pop()
                continue
            entered.add(key)
            if missing[0] in entered:
                raise AssertionError(f"{key} and {missing[0]} need each other")
            path.append(missing[0])
    return tuple(placed.values())
