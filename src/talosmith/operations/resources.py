"""Resources in the plan: created before machines that need them, deleted after them, in the reverse order of needs.

A resource that refers to machines (the members of a target group) is created after them, and deleted before them.
Replacing a resource is never silent: the plan is blocked and says what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from talosmith.desired.target import Desired
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec, SettingChange
from talosmith.observed.world import Observed, ResourceSeen, ResourcesSeen, Unknown
from talosmith.plan.builder import PlanBuilder
from talosmith.plan.step import StepKey
from talosmith.steps.context import Context
from talosmith.steps.machines import CreateMachine, DestroyMachine, ResizeMachine
from talosmith.steps.resources import CreateResource, DeleteResource, UpdateResource


def stands_on(observed: Observed, name: str) -> list[StepKey]:
    """The steps, as far as they are planned, that have to be done before the machine of this node can run."""
    seen = observed.resources
    needs = seen.machine_needs.get(name, ()) if isinstance(seen, ResourcesSeen) else ()
    return _made(needs)


def _made(resources: Iterable[ResourceKey]) -> list[StepKey]:
    kinds = (CreateResource, UpdateResource)
    return [kind.key_for(key).if_planned for key in resources for kind in kinds]


def ensure_resources(plan: PlanBuilder[Context], desired: Desired, observed: Observed) -> None:
    seen = _known(plan, observed)
    needed = _needed_now(observed, seen)
    for one in seen.each:
        if one.wanted is None or (one.wanted.on_demand and one.key not in needed):
            continue
        if one.found is None:
            changes = tuple(SettingChange(name, None, value) for name, value in one.wanted.settings.items())
            plan.add(CreateResource(one.key, changes), "does not exist", requires=_before(one.wanted))
        elif one.difference.change != "none":
            _change(plan, desired, one, one.wanted, one.found)


def _known(plan: PlanBuilder[Context], observed: Observed) -> ResourcesSeen:
    """Nothing is created or deleted while it is unknown what exists. Unknown machines block the plan already."""
    machines_unknown = any(isinstance(seen.machine, Unknown) for seen in observed.nodes.values())
    if isinstance(observed.resources, Unknown) and not machines_unknown:
        plan.block(f"which resources exist is unknown: {observed.resources.why}", fix="talosmith doctor")
    return observed.resources if isinstance(observed.resources, ResourcesSeen) else ResourcesSeen()


def _needed_now(observed: Observed, seen: ResourcesSeen) -> set[ResourceKey]:
    """What the machines need that are going to be created, and what that needs in turn."""
    wanted = {one.key: one.wanted for one in seen.each if one.wanted is not None}
    missing = [name for name, node in observed.nodes.items() if node.to_be_created]
    todo = [key for name in missing for key in seen.machine_needs.get(name, ())]
    found = set[ResourceKey]()
    while todo:
        key = todo.pop()
        if key not in found:
            found.add(key)
            todo += wanted[key].needs if key in wanted else ()
    return found


def _before(spec: ResourceSpec) -> list[StepKey]:
    return [*_made(spec.needs), *(CreateMachine.key_of(name).if_planned for name in spec.members)]


def _change(
    plan: PlanBuilder[Context], desired: Desired, one: ResourceSeen, wanted: ResourceSpec, found: Resource
) -> None:
    if not desired.owner.owns(found.tags):
        what = ", ".join(map(str, one.difference.settings))
        plan.note(f"{one.key} is not owned by this cluster and is not updated ({what})")
    elif one.difference.change == "replace":
        plan.block(
            f"{one.key} cannot be changed in place", settings=one.difference.settings, fix=one.difference.remedy
        )
    else:
        plan.add(UpdateResource(one.key, one.difference.settings), "differs", requires=_before(wanted))


def delete_unwanted(plan: PlanBuilder[Context], desired: Desired, observed: Observed) -> None:
    """What the inventory no longer has, after all that may still use it. Shared resources stay until `destroy`."""
    seen = observed.resources
    if not isinstance(seen, ResourcesSeen):
        return
    unwanted = [one.found for one in seen.each if one.wanted is None and one.found is not None]
    going = _going(plan, desired, [one for one in unwanted if not one.shared])
    moving = plan.keys(lambda step: isinstance(step.action, ResizeMachine | DestroyMachine))
    before = plan.keys()
    for found in going.values():
        needs = [*before, *_dependents(found, going)]
        plan.add(_delete(found), "not in the inventory", needs=needs, requires=moving)


def delete_all(plan: PlanBuilder[Context], desired: Desired, observed: Observed) -> None:
    """All resources of the cluster, whose machines are planned to be deleted already."""
    seen = _known(plan, observed)
    for foreign in seen.foreign:
        fix = "delete it, or move it elsewhere; then run the same command again"
        plan.block(f"in the cluster's network is what this cluster does not own: {foreign}", fix=fix)
    going = _going(plan, desired, seen.found.values())
    machines = plan.keys(lambda step: isinstance(step.action, DestroyMachine))
    early = refers_to_machines(observed)
    for found in going.values():
        after = [] if found.key in early else machines
        needs = _dependents(found, going)
        plan.add(_delete(found), "owned by this cluster", needs=needs, requires=after)


def deleted_before_machines(observed: Observed) -> list[StepKey]:
    return [DeleteResource.key_for(key).if_planned for key in sorted(refers_to_machines(observed))]


def refers_to_machines(observed: Observed) -> set[ResourceKey]:
    """Resources with members, and those that need such a resource."""
    found = observed.resources.found if isinstance(observed.resources, ResourcesSeen) else {}
    early = {key for key, one in found.items() if one.members}
    while more := {key for key, one in found.items() if key not in early and early & {*one.needs}}:
        early |= more
    return early


def _going(
    plan: PlanBuilder[Context], desired: Desired, candidates: Iterable[Resource]
) -> dict[ResourceKey, Resource]:
    """Of these, what this cluster owns and nothing else uses. What a resource that stays needs, stays with it."""
    ours = {one.key: one for one in candidates if desired.owner.owns(one.tags)}
    staying = [one for one in ours.values() if one.used_by]
    for one in staying:
        plan.note(f"{one.key} is kept: in use by {', '.join(one.used_by)}")
    while staying:
        one = staying.pop()
        ours.pop(one.key, None)
        staying += [ours[key] for key in one.needs if key in ours]
    return ours


def _dependents(found: Resource, going: Mapping[ResourceKey, Resource]) -> list[StepKey]:
    return [DeleteResource.key_for(key) for key, other in going.items() if found.key in other.needs]


def _delete(found: Resource) -> DeleteResource:
    return DeleteResource(found.key, shared=found.shared)
