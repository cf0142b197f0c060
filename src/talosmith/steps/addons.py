"""Add-ons: applying their CRDs, objects and configuration, waiting for them, and removing them.

What a step applies is what the plan has shown: objects of other managers that the plan leaves alone are left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from talosmith import kube as api
from talosmith.errors import Permanent
from talosmith.model.resources import SettingChange
from talosmith.observed.addons import Placed, field_manager, look_at_addons, place, settle, workloads
from talosmith.observed.pod_troubles import pod_troubles
from talosmith.plan.step import Report, Stage, StepKey
from talosmith.steps.action import OnCluster
from talosmith.steps.context import Context
from talosmith.steps.hooks import run_hooks
from talosmith.waiting import now

if TYPE_CHECKING:  # whose module renders charts
    from talosmith.desired.addons import DesiredAddon

_NAMED_AFTER = 5.0  # seconds until pods are asked why they do not become ready


@dataclass(frozen=True, slots=True)
class _OnAddon(OnCluster):
    addon: str
    changed: tuple[SettingChange, ...] = ()

    area: ClassVar[str] = "addon"
    stage: ClassVar[Stage] = "addons"
    limit: ClassVar[float] = 600.0
    makes: ClassVar[tuple[str, ...]] = ("kube:apply",)

    @classmethod
    def key_for(cls, addon: str) -> StepKey:
        return StepKey(cls.area, addon, cls.verb)

    @property
    def key(self) -> StepKey:
        return self.key_for(self.addon)

    @property
    def settings(self) -> tuple[SettingChange, ...]:
        return self.changed


@dataclass(frozen=True, slots=True)
class _Applying(_OnAddon):
    """A part of an add-on is applied. `left` are objects that belong to other managers, by kind and name.

    `compared`: the plan has looked at the cluster; otherwise the step does, before it changes anything.
    """

    left: tuple[str, ...] = ()
    force: bool = False
    compared: bool = True

    async def _left_alone(self, context: Context, one: DesiredAddon) -> tuple[str, ...]:
        """Objects to leave alone; raises where another tool manages the whole add-on."""
        if self.compared:
            return self.left
        take_over = (one.name,) if self.force else ()
        seen = (await look_at_addons(context.kube(), {one.name: one}, take_over=take_over)).each[one.name]
        if seen.downgrades:
            raise Permanent(
                f"a CustomResourceDefinition would be downgraded: {seen.downgrades[0]}", hint="plan again"
            )
        if seen.manager:
            what = f"{one.name} is managed by {seen.manager}: left alone"
            raise Permanent(what, hint="re-run the same command: its plan leaves the add-on alone")
        return tuple(kept.ref for kept in seen.left_alone)

    async def _apply(
        self,
        context: Context,
        placed: Placed,
        items: Sequence[api.Object],
        report: Report,
        *,
        left: Sequence[str],
        delete: Sequence[str] = (),
        prune: bool = False,
    ) -> None:
        kube, one = context.kube(), placed.addon
        live = await api.live_objects(kube, map(api.Ref.of, items)) if one.volatile else {}
        wanted = [settle(one, item, live) for item in items if str(api.Ref.of(item)) not in left]
        context.check_lock()
        await api.apply(
            kube,
            wanted,
            name=one.name,
            namespace=one.namespace,
            force=self.force,
            prune=prune,
            delete=delete,
            also=map(api.Ref.of, placed.everything),
            note=one.version,
            manager=field_manager(one),
            report=_progress(report),
        )


@dataclass(frozen=True, slots=True)
class ApplyCrds(_Applying):
    verb: ClassVar[str] = "crds"
    limit: ClassVar[float] = 300.0

    def describe(self) -> str:
        return f"apply CustomResourceDefinitions of {self.addon}"

    async def run(self, context: Context, report: Report) -> None:
        one = _desired(context, self.addon)
        left = await self._left_alone(context, one)
        placed = await place(context.kube(), one)
        await self._apply(context, placed, placed.crds, report, left=left)


@dataclass(frozen=True, slots=True)
class ApplyAddon(_Applying):
    """Its namespace, hooks and objects; what an earlier version had and this one does not have is pruned."""

    version: str = ""
    delete: tuple[str, ...] = ()

    def describe(self) -> str:
        return f"apply {self.addon}{f' {self.version}' if self.version else ''}"

    async def run(self, context: Context, report: Report) -> None:
        kube, one = context.kube(), _desired(context, self.addon)
        left = await self._left_alone(context, one)
        if one.space is not None:
            context.check_lock()
            await kube.apply(one.space, force=True)
        await run_hooks(context, one, one.before, report)
        placed = await place(kube, one)
        await self._apply(context, placed, placed.objects, report, left=left, delete=self.delete, prune=True)
        await run_hooks(context, one, one.later, report)


@dataclass(frozen=True, slots=True)
class AddonReady(_OnAddon):
    """Every Deployment, DaemonSet and StatefulSet of the add-on has its pods, and all of them are available."""

    verb: ClassVar[str] = "ready"
    limit: ClassVar[float] = 900.0
    makes: ClassVar[tuple[str, ...]] = ()

    def describe(self) -> str:
        return f"wait for {self.addon} to be ready"

    async def run(self, context: Context, report: Report) -> None:
        one = _desired(context, self.addon)
        await _wait(context, [api.ready(ref) for ref in workloads(one)], report, self.limit)


@dataclass(frozen=True, slots=True)
class ConfigureAddon(_Applying):
    """Objects that need the running add-on: its CRDs, or the webhook that checks them."""

    verb: ClassVar[str] = "config"

    def describe(self) -> str:
        return f"apply configuration of {self.addon}"

    async def run(self, context: Context, report: Report) -> None:
        kube, one = context.kube(), _desired(context, self.addon)
        left = await self._left_alone(context, one)
        kinds = dict.fromkeys((str(item["apiVersion"]), str(item["kind"])) for item in one.config)
        for api_version, kind in kinds:
            await api.wait_until_kind(kube, api_version, kind, report=_progress(report))
        placed = await place(kube, one)
        await self._apply(context, placed, placed.config, report, left=left)
        refs = [api.Ref.of(item) for item in placed.config if item["kind"] in one.awaited]
        awaited = [api.condition_met(ref, one.awaited[ref.kind]) for ref in refs]
        await _wait(context, awaited, report, self.limit)


@dataclass(frozen=True, slots=True)
class RemoveAddon(_OnAddon):
    """Deletes what was applied for an add-on that the inventory no longer has. What may hold data stays."""

    delete: tuple[str, ...] = ()

    verb: ClassVar[str] = "remove"
    stage: ClassVar[Stage] = "removal"
    makes: ClassVar[tuple[str, ...]] = ("kube:delete",)

    def describe(self) -> str:
        return f"remove add-on {self.addon}"

    async def done(self, context: Context) -> bool:
        return self.addon not in await api.recorded(context.kube())

    async def run(self, context: Context, report: Report) -> None:
        kube = context.kube()
        context.check_lock()
        await api.apply(kube, [], name=self.addon, prune=True, delete=self.delete, report=_progress(report))
        if not (await api.find_set(kube, self.addon)).digests:
            await api.forget(kube, self.addon)


async def _wait(context: Context, awaited: Iterable[api.Awaited], report: Report, limit: float) -> None:
    """Until all of them hold; what keeps pods from running is reported with their own words."""
    conditions, began = list(awaited), now()
    reasons: dict[str, str] = {}

    def progress(one: api.Progress) -> None:
        if one.ok:
            reasons.pop(one.name, None)
        else:
            reasons[one.name] = one.reason
        if reasons:
            name, reason = next(iter(reasons.items()))
            report(f"waiting for {name.removesuffix(' ready')}: {reason}")

    while conditions:
        try:
            await api.wait(context.kube(), conditions, timeout=min(_NAMED_AFTER, limit), report=progress)
            return
        except api.NotInTime:
            for trouble in await pod_troubles(context.kube(), [one.ref for one in conditions if one.name in reasons]):
                report(trouble)
            if now() - began >= limit:
                raise


def _progress(report: Report) -> Callable[[api.Progress], None]:
    def take(progress: api.Progress) -> None:
        if not progress.ok:
            report(f"{progress.name}: {progress.reason}")

    return take


def _desired(context: Context, addon: str) -> DesiredAddon:
    found = context.desired.addons.get(addon)
    if found is None:
        raise Permanent(f"add-on {addon} cannot be rendered", hint="plan again")
    return found
