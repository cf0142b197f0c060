"""Add-ons as the cluster has them: what an apply would change, what is not ready, which other tool manages them.

A few lists and, for what is not known to be in sync, server-side dry runs; nothing is changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talosmith import kube as api
from talosmith.kube.comparing import Identity
from talosmith.observed.crd_versions import downgrade
from talosmith.observed.object_fields import changed_fields, without_secrets
from talosmith.observed.world import AddonSeen, AddonsSeen, ObjectChange

if TYPE_CHECKING:  # whose module renders charts
    from talosmith.desired.addons import DesiredAddon

WORKLOADS = ("Deployment", "DaemonSet", "StatefulSet")
Live = Mapping[Identity, api.Object]


@dataclass(frozen=True, slots=True)
class Placed:
    """The objects of an add-on where they will live; of kinds that the server does not have yet, as they are."""

    addon: DesiredAddon
    space: tuple[api.Object, ...]
    crds: tuple[api.Object, ...]
    objects: tuple[api.Object, ...]
    config: tuple[api.Object, ...]
    unserved: frozenset[Identity]

    @property
    def everything(self) -> tuple[api.Object, ...]:
        return (*self.crds, *self.objects, *self.config)


async def look_at_addons(
    kube: api.KubeClient,
    wanted: Mapping[str, DesiredAddon],
    *,
    take_over: Collection[str] = (),
    delete: Collection[str] = (),
) -> AddonsSeen:
    """Every add-on of the inventory, and every one that was installed and that the inventory no longer has.

    `take_over`: add-ons of which objects and fields of other managers are going to be overwritten; `delete`: kinds
    that are pruned although they may hold what others have put there.
    """
    await kube.discover(item["apiVersion"] for one in wanted.values() for item in one.everything)
    records = await api.recorded(kube)
    places = {name: await place(kube, one) for name, one in wanted.items()}
    refs = [api.Ref.of(item) for one in places.values() for item in (*one.space, *one.everything)]
    earlier = [ref for record in records.values() for ref in record.digests]
    live = await api.live_objects(kube, dict.fromkeys([*refs, *earlier]))
    each = {
        name: await _look(kube, one, records.get(name), live, refs, force=name in take_over, delete=delete)
        for name, one in places.items()
    }
    gone = {
        name: AddonSeen(name=name, installed=True, version=record.note, objects=_changes(changes, frozenset()))
        for name, record in records.items()
        if name not in wanted and (changes := _left_of(record, refs, live, delete))
    }
    return AddonsSeen(each=each, not_in_inventory=gone)


def _left_of(
    record: api.ObjectSet, wanted: Sequence[api.Ref], live: Live, delete: Collection[str]
) -> list[api.Change]:
    """What is left of an add-on that the inventory no longer has. What another tool has taken over is none of it."""
    changes = api.unwanted(record, wanted, live, delete)
    return [one for one in changes if api.belongs_to(live[one.ref.identity], record.name)]


async def place(kube: api.KubeClient, one: DesiredAddon) -> Placed:
    unserved: set[Identity] = set()

    async def part(items: Sequence[api.Object]) -> tuple[api.Object, ...]:
        served = []
        for item in items:
            ref = api.Ref.of(item)
            if await kube.serves(ref.api_version, ref.kind):
                served.append(item)
            else:
                unserved.add(ref.identity)
        rest = [item for item in items if api.Ref.of(item).identity in unserved]
        return (*await api.placed(kube, served, name=one.name, namespace=one.namespace), *rest)

    crds, objects, config = await part(one.crds), await part(one.objects), await part(one.config)
    space = () if one.space is None else (one.space,)
    return Placed(one, space, crds, objects, config, frozenset(unserved))


async def _look(
    kube: api.KubeClient,
    placed: Placed,
    recorded: api.ObjectSet | None,
    live: Live,
    wanted: Sequence[api.Ref],
    *,
    force: bool,
    delete: Collection[str],
) -> AddonSeen:
    one = placed.addon
    record = recorded or api.ObjectSet(one.name)
    crds, objects, config = [
        await compare_part(kube, placed, part, record, live, force=force)
        for part in (placed.crds, placed.objects, placed.config)
    ]
    as_applied = {api.Ref.of(item): api.digest_of(item) for item in placed.space}  # shared: in no add-on's record
    spaces = await api.compare(kube, placed.space, live, api.ObjectSet("", as_applied), force=True)
    pruned = api.unwanted(record, wanted, live, delete)
    return AddonSeen(
        name=one.name,
        installed=recorded is not None,
        version=record.note,
        crds=_changes(crds, one.hidden),
        objects=_changes([*spaces, *objects, *pruned], one.hidden),
        config=_changes(config, one.hidden),
        unready=tuple(_not_ready(one, live)),
        manager=_manager(placed, record, live, force=force),
        downgrades=tuple(filter(None, (downgrade(live.get(api.Ref.of(crd).identity), crd) for crd in one.crds))),
    )


async def compare_part(
    kube: api.KubeClient,
    placed: Placed,
    items: Sequence[api.Object],
    record: api.ObjectSet,
    live: Live,
    *,
    force: bool = False,
) -> list[api.Change]:
    """What an apply of these objects would do to each of them."""
    new = [item for item in items if api.Ref.of(item).identity in placed.unserved]
    there = [settle(placed.addon, item, live) for item in items if api.Ref.of(item).identity not in placed.unserved]
    changes = await api.compare(kube, there, live, record, force=force, manager=field_manager(placed.addon))
    return [*changes, *(api.Change(api.Ref.of(item), "created") for item in new)]


def field_manager(one: DesiredAddon) -> str:
    """As whom an add-on is applied: one of a chart as Helm, which can go on with it at any time."""
    return api.HELM_MANAGER if one.version else api.FIELD_MANAGER


def settle(one: DesiredAddon, item: api.Object, live: Live) -> api.Object:
    """A placed object with the live values of what differs from one rendering to the next."""
    ref = api.Ref.of(item)
    for space in (ref.namespace, ""):
        if volatile := one.volatile.get((ref.api_version, ref.kind, space, ref.name)):
            return api.settled(item, volatile, live.get(ref.identity))
    return item


def workloads(one: DesiredAddon) -> list[api.Ref]:
    """The objects of an add-on that run pods until they are deleted."""
    refs = [api.Ref.of(item) for item in one.objects]
    return [
        api.Ref(ref.api_version, ref.kind, ref.name, ref.namespace or one.namespace)
        for ref in refs
        if ref.group == "apps" and ref.kind in WORKLOADS
    ]


def _not_ready(one: DesiredAddon, live: Live) -> Iterator[str]:
    """The workloads of an add-on that exist and are not ready, each with the reason."""
    for ref in workloads(one):
        item = live.get(ref.identity)
        if item is not None and not (verdict := api.ready(ref).judge(item)).ok:
            yield f"{ref}: {verdict.reason}"


def _manager(placed: Placed, record: api.ObjectSet, live: Live, *, force: bool) -> str:
    """Who manages the add-on instead of talosmith: by the mark of another tool on any of its objects, or because one
    exists that talosmith has not created. Flux and Argo CD would undo what is taken over by `force`."""
    known = {ref.identity for ref in record.digests}
    for item in (*placed.objects, *placed.config):
        ref = api.Ref.of(item)
        found = live.get(ref.identity)
        if found is None:
            continue
        manager = api.other_manager(found)
        if manager and not (force and manager.startswith("Helm")):
            return manager
        if ref.identity not in known and not force and not api.belongs_to(found, placed.addon.name):
            return f"another tool ({ref} exists, and talosmith did not create it)"
    return ""


def _changes(changes: Iterable[api.Change], hidden: frozenset[str]) -> tuple[ObjectChange, ...]:
    found = []
    for change in changes:
        one = without_secrets(change, hidden) if hidden else change
        if one.outcome != "unchanged":
            settings = changed_fields(one)
            found.append(
                ObjectChange(ref=str(one.ref), outcome=one.outcome, settings=settings, note=one.note, diff=one.diff)
            )
    return tuple(found)
