"""Puts a plan together: steps by key, each with its reason and what it needs; in order once it is frozen."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import chain
from typing import Any, Generic

from talosmith.errors import UsageError
from talosmith.model.drift import Drift
from talosmith.model.resources import SettingChange
from talosmith.plan.blocked import Blocked, folded
from talosmith.plan.step import Action, C, Plan, Step, StepKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Selects steps of a plan: by patterns of step keys, and by names of nodes. Empty: all steps."""

    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    def has(self, step: Step[Any]) -> bool:
        if self.targets and step.subject not in self.targets:
            return False
        if self.only and not any(fnmatchcase(step.key, pattern) for pattern in self.only):
            return False
        return not any(fnmatchcase(step.key, pattern) for pattern in self.skip)

    def includes(self, area: str) -> bool:
        """Whether steps of this area, which are the cluster's and no node's, may be among the selected ones."""
        any_step = f"{area}/any"
        if self.targets or any(pattern.endswith("*") and fnmatchcase(any_step, pattern) for pattern in self.skip):
            return False
        return not self.only or any(
            fnmatchcase(any_step, pattern) or pattern.startswith(f"{area}/") for pattern in self.only
        )

    def names(self, key: StepKey) -> bool:
        """Whether just this step was asked for."""
        return any(fnmatchcase(key, pattern) for pattern in self.only)


class PlanBuilder(Generic[C]):
    def __init__(self, operation: str, cluster: str) -> None:
        self._operation = operation
        self._cluster = cluster
        self._steps: dict[StepKey, Step[C]] = {}
        self._requires: dict[StepKey, tuple[StepKey, ...]] = {}
        self._notes: list[str] = []
        self._blocked: list[Blocked] = []
        self._confirm: list[tuple[str, tuple[StepKey, ...]]] = []

    def add(
        self,
        action: Action[C],
        reason: str,
        *,
        needs: Iterable[StepKey] = (),
        requires: Iterable[StepKey] = (),
        effect: str = "",
    ) -> StepKey:
        """Plan a step; its key. Edges may name steps that are added later.

        An edge to a step that the plan never gets is an error, unless it is marked (`StepKey.if_planned`). A
        selection may leave out a step that is needed; a step that is required takes along whatever requires it.
        """
        if action.key in self._steps:
            raise AssertionError(f"{action.key} is planned twice")
        self._requires[action.key] = tuple(requires)
        edges = (*needs, *self._requires[action.key])
        self._steps[action.key] = Step(action=action, reason=reason, needs=edges, effect=effect)
        return action.key

    def has(self, key: StepKey) -> bool:
        return key in self._steps

    def keys(self, where: Callable[[Step[C]], bool] = lambda step: True) -> list[StepKey]:
        return [key for key, step in self._steps.items() if where(step)]

    def note(self, text: str) -> None:
        self._notes.append(text)

    def block(
        self,
        cause: str,
        *nodes: str,
        settings: Iterable[SettingChange] = (),
        fix: str = "",
        symptoms: Iterable[str] = (),
    ) -> None:
        """The plan must not be run at all, for this cause. The same cause on several nodes is one item."""
        self._blocked.append(
            Blocked(cause=cause, nodes=nodes, settings=tuple(settings), fix=fix, symptoms=tuple(symptoms))
        )

    def confirm(self, text: str, of: Iterable[StepKey]) -> None:
        """A plain yes is not enough for these steps."""
        self._confirm.append((text, tuple(of)))

    def freeze(self, selection: Selection | None = None, drift: Iterable[Drift] = ()) -> Plan[C]:
        self._check_edges()
        chosen = selection or Selection()
        steps = self._chosen(chosen)
        incomplete = self._incomplete(steps)
        steps = {key: step for key, step in steps.items() if key not in incomplete}
        also = ", ".join(f"{key} (requires {missing})" for key, missing in incomplete.items())
        if self._steps and not steps and (chosen.only or chosen.targets):
            hint = f"skipped: {also}" if also else f"steps of this plan: {', '.join(self._steps)}"
            raise UsageError("no step of the plan is selected", hint=hint)
        return Plan(
            operation=self._operation,
            cluster=self._cluster,
            steps=self._ordered_among(steps),
            notes=(*self._notes, *([f"also skipped: {also}"] if also else [])),
            blocked=folded(self._blocked),
            confirm=tuple(text for text, of in self._confirm if any(key in steps for key in of)),
            drift=tuple(one for one in drift if not chosen.targets or one.node in chosen.targets),
        )

    def _chosen(self, selection: Selection) -> dict[StepKey, Step[C]]:
        """A node that is a target takes along what it requires of the cluster as a whole: what it stands on."""
        found = [key for key, step in self._steps.items() if selection.has(step)]
        whole = replace(selection, targets=())
        for key in found if selection.targets else ():  # grows meanwhile
            needed = (self._steps[need] for need in self._requires[key] if need in self._steps)
            found += [one.key for one in needed if not one.subject and whole.has(one) and one.key not in found]
        return {key: step for key, step in self._steps.items() if key in {*found}}

    def _check_edges(self) -> None:
        """A misspelt or forgotten edge must not pass as “nothing to wait for”."""
        edges = [(key, need) for key, step in self._steps.items() for need in step.needs]
        edges += [(StepKey("confirmation"), key) for _, of in self._confirm for key in of]
        for key, need in edges:
            if need not in self._steps and not need.is_optional:
                raise AssertionError(f"{key} needs {need}, and the plan has no such step")

    def _ordered_among(self, chosen: Container[StepKey]) -> tuple[Step[C], ...]:
        """The chosen steps in order. One that is left out passes on what it waits for itself: turns stay turns."""
        needs: dict[StepKey, tuple[StepKey, ...]] = {}
        planned = [
            replace(step, needs=tuple(need for need in step.needs if need in self._steps))
            for step in self._steps.values()
        ]
        for step in (whole := ordered(planned)):
            passed = ((need,) if need in chosen else needs[need] for need in step.needs)
            needs[step.key] = tuple(dict.fromkeys(chain.from_iterable(passed)))
        return tuple(replace(step, needs=needs[step.key]) for step in whole if step.key in chosen)

    def _incomplete(self, chosen: Iterable[StepKey]) -> dict[StepKey, StepKey]:
        """The chosen steps that lack a required step, each with the one it lacks, and whatever requires those."""
        staying, found = dict.fromkeys(chosen), dict[StepKey, StepKey]()
        while True:
            lacking = {
                key: need
                for key in staying
                for need in self._requires[key]
                if need in self._steps and need not in staying
            }
            if not lacking:
                return found
            found |= lacking
            staying = {key: None for key in staying if key not in lacking}


def ordered(steps: Sequence[Step[C]]) -> tuple[Step[C], ...]:
    """Each after what it needs, otherwise as they came; raises if they need each other in a circle."""
    by_key = {step.key: step for step in steps}
    placed: dict[StepKey, Step[C]] = {}
    entered: set[StepKey] = set()
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
