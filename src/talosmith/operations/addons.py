"""Add-ons in the plan of `up`: CRDs first, then the CNI, the cloud controller, DNS, and all others in parallel.

Nodes become Ready once the CNI runs on them, so they wait for it; add-ons wait for nodes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Protocol, get_args

from talosmith.desired.target import Desired
from talosmith.model.resources import SettingChange
from talosmith.model.services import AddonStage
from talosmith.observed.world import AddonSeen, AddonsSeen, ObjectChange, Observed, Unknown
from talosmith.plan.builder import PlanBuilder
from talosmith.plan.step import StepKey
from talosmith.steps.addons import AddonReady, ApplyAddon, ApplyCrds, ConfigureAddon, RemoveAddon
from talosmith.steps.context import Context
from talosmith.steps.kubernetes import ControlPlaneUp
from talosmith.steps.nodes import Joined

if TYPE_CHECKING:  # whose module renders charts
    from talosmith.desired.addons import DesiredAddon

STAGES: tuple[AddonStage, ...] = get_args(AddonStage)
PRUNABLE = {"crds": "CustomResourceDefinition", "volumes": "PersistentVolume", "claims": "PersistentVolumeClaim"}
_TO_PRUNE = {kind: word for word, kind in PRUNABLE.items()}


class AddonOptions(Protocol):
    @property
    def take_over(self) -> Collection[str]: ...

    @property
    def prune(self) -> Collection[str]: ...


def kinds_to_delete(options: AddonOptions) -> tuple[str, ...]:
    """Kinds that hold what others have put there, and that the user wants pruned all the same."""
    return tuple(PRUNABLE[word] for word in sorted(options.prune))


def cni_steps(desired: Desired) -> tuple[StepKey, ...]:
    """What brings the network: nodes are not Ready before it."""
    return tuple(ApplyAddon.key_for(name).if_planned for name, one in desired.addons.items() if one.stage == "cni")


def install_addons(plan: PlanBuilder[Context], desired: Desired, observed: Observed, options: AddonOptions) -> None:
    for problem in desired.addon_problems:
        plan.block(f"add-on {problem.addon}: {problem.what}", fix=problem.fix)
    seen = observed.addons
    if isinstance(seen, Unknown) and desired.addons:
        plan.note(f"add-ons are compared once the Kubernetes API answers: {seen.why}")
    each = seen.each if isinstance(seen, AddonsSeen) else {}
    for name, one in desired.addons.items():
        _install(
            plan,
            desired,
            one,
            each.get(name) or _absent(one),
            options,
            reason=_reason_of(seen, each.get(name)),
            compared=not isinstance(seen, Unknown),
        )
    if isinstance(seen, AddonsSeen):
        for former in seen.not_in_inventory.values():
            _remove(plan, former, kinds_to_delete(options))


def _absent(one: DesiredAddon) -> AddonSeen:
    """All of it is to be created: there is no cluster yet, or the cluster cannot be asked."""

    def created(items: Sequence[object]) -> tuple[ObjectChange, ...]:
        return tuple(ObjectChange(ref=_ref(item), outcome="created") for item in items)

    return AddonSeen(name=one.name, crds=created(one.crds), objects=created(one.objects), config=created(one.config))


def _ref(item: object) -> str:
    meta = item["metadata"]  # type: ignore[index]
    return f"{item['kind']} {meta['name']}"  # type: ignore[index]


def _install(
    plan: PlanBuilder[Context],
    desired: Desired,
    one: DesiredAddon,
    seen: AddonSeen,
    options: AddonOptions,
    *,
    reason: str,
    compared: bool,
) -> None:
    name = one.name
    if one.note:
        plan.note(f"add-on {name}: {one.note}")
    if seen.manager:
        again = (
            "" if seen.manager.startswith(("Flux", "Argo")) else f"; to take it over: talosmith up --take-over {name}"
        )
        differs = "" if seen.in_sync else ", and differs from the inventory"
        plan.note(f"add-on {name} is managed by {seen.manager}{differs}: left alone{again}")
        return
    for downgrade in seen.downgrades:
        plan.block(
            f"add-on {name}: a CustomResourceDefinition would be downgraded: {downgrade}",
            fix=f"pin a newer version in `addons.{name}.version`",
        )
    for refused in (change for change in seen.changes if change.outcome == "refused"):
        plan.block(
            f"add-on {name}: the Kubernetes API refuses {refused.ref}: {refused.note}",
            fix="correct the values; an immutable field changes only if you delete the object first",
        )
    _note_kept(plan, name, seen, options)
    force, left = name in options.take_over, tuple(one.ref for one in seen.left_alone)
    earlier = _before(one, desired)
    crds = _to_apply(seen.crds)
    if crds:
        action = ApplyCrds(name, _settings(crds), left=left, force=force, compared=compared)
        plan.add(action, reason, needs=(ControlPlaneUp.key_of().if_planned,))
    objects = _to_apply(seen.objects)
    if objects:
        plan.add(
            ApplyAddon(
                name,
                _settings(objects),
                left=left,
                force=force,
                compared=compared,
                version=one.version,
                delete=kinds_to_delete(options),
            ),
            reason,
            needs=(
                ControlPlaneUp.key_of().if_planned,
                *(ApplyCrds.key_for(other).if_planned for other in desired.addons),
                *earlier,
            ),
        )
    if (objects and one.has_workloads) or seen.unready:
        joined = (Joined.key_of(node).if_planned for node in desired.nodes)
        why = reason if objects else "; ".join(seen.unready)
        plan.add(AddonReady(name), why, needs=(*joined, ApplyAddon.key_for(name).if_planned, *earlier))
    if config := _to_apply(seen.config):
        plan.add(
            ConfigureAddon(name, _settings(config), left=left, force=force, compared=compared),
            reason,
            needs=(
                ControlPlaneUp.key_of().if_planned,
                *(key(name).if_planned for key in (ApplyCrds.key_for, ApplyAddon.key_for, AddonReady.key_for)),
                *earlier,
            ),
        )


def _before(one: DesiredAddon, desired: Desired) -> tuple[StepKey, ...]:
    """The last steps of the add-ons that come first: those of earlier stages, and those that it names."""
    others = [
        name
        for name, other in desired.addons.items()
        if name in one.after or STAGES.index(other.stage) < STAGES.index(one.stage)
    ]
    steps = (ApplyAddon.key_for, AddonReady.key_for, ConfigureAddon.key_for)
    return tuple(key(name).if_planned for name in others for key in steps)


def _to_apply(changes: Sequence[ObjectChange]) -> list[ObjectChange]:
    return [one for one in changes if one.outcome != "kept"]


def _reason_of(every: AddonsSeen | Unknown | None, seen: AddonSeen | None) -> str:
    if isinstance(every, Unknown):
        return "may not be installed: the Kubernetes API does not answer"
    if seen is None or not seen.installed:
        return "not installed"
    counts = {word: sum(one.outcome == word for one in seen.changes) for word in ("created", "changed", "pruned")}
    words = {"created": "missing", "changed": "different", "pruned": "no longer wanted"}
    texts = [f"{number} object{'s' * (number > 1)} {words[word]}" for word, number in counts.items() if number]
    return ", ".join(texts) or "not ready"


def _settings(changes: Sequence[ObjectChange]) -> tuple[SettingChange, ...]:
    """New objects by kind, changed ones field by field, those that go by name."""
    created = [one for one in changes if one.outcome == "created"]
    found = [SettingChange("objects", None, _kinds(created))] if created else []
    for one in changes:
        if one.outcome == "changed":
            found += one.settings or (SettingChange(one.ref, "differs", "as in the inventory"),)
    found += [SettingChange(one.ref, "exists", None) for one in changes if one.outcome == "pruned"]
    return tuple(found)


def _kinds(changes: Sequence[ObjectChange]) -> str:
    counts: dict[str, int] = {}
    for one in changes:
        kind = one.ref.split(" ")[0]
        counts[kind] = counts.get(kind, 0) + 1
    return ", ".join(f"{kind} × {number}" if number > 1 else kind for kind, number in sorted(counts.items()))


def _note_kept(plan: PlanBuilder[Context], name: str, seen: AddonSeen, options: AddonOptions) -> None:
    for one in seen.changes:
        if one.outcome not in ("kept", "changed") or not one.note:
            continue
        word, fix = _TO_PRUNE.get(one.ref.split(" ")[0], ""), ""
        if "field manager" in one.note:
            fix = f"; to overwrite it: talosmith up --take-over {name}"
        elif one.outcome == "kept" and word and word not in options.prune:
            fix = f"; to delete it: talosmith up --prune {word}"
        left = " is left alone" if one.outcome == "kept" else ""
        plan.note(f"add-on {name}: {one.ref}{left}: {one.note}{fix}")


def _remove(plan: PlanBuilder[Context], former: AddonSeen, delete: tuple[str, ...]) -> None:
    gone = [one for one in former.objects if one.outcome == "pruned"]
    kept = [one for one in former.objects if one.outcome == "kept"]
    for one in kept:
        word = _TO_PRUNE.get(one.ref.split(" ")[0], "")
        fix = f"; to delete it: talosmith up --prune {word}" if word else ""
        plan.note(f"add-on {former.name}, no longer in the inventory: {one.ref} is left alone: {one.note}{fix}")
    if not gone:
        return
    settings = tuple(SettingChange(one.ref, "exists", None) for one in gone)
    others = plan.keys(lambda step: step.stage == "addons")
    key = plan.add(RemoveAddon(former.name, settings, delete=delete), "no longer in the inventory", needs=others)
    plan.confirm(f"add-on {former.name} is removed: {_kinds(gone)}", of=(key,))
