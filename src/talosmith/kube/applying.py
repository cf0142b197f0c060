"""Brings objects into a cluster by server-side apply, in the order they need, and removes what is not wanted now."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from talosmith.errors import Permanent, Temporary
from talosmith.kube import conditions, errors, inventory
from talosmith.kube.client import FIELD_MANAGER, KubeClient
from talosmith.kube.diff import difference, same
from talosmith.kube.errors import KubeError
from talosmith.kube.manifests import CRD, Manifests, read, refuse_twice, stage_of, stages
from talosmith.kube.objects import Object, Ref, uid
from talosmith.kube.owners import take_over_fields, without_replicas
from talosmith.kube.waiting import Progress, Report, wait
from talosmith.tasks import together
from talosmith.waiting import limited

AT_ONCE = 8
UNTIL_SERVED = 60.0
MANY = 10  # objects of a kind in a namespace; then listing them all is cheaper than asking for each

Find = Callable[[Ref], Awaitable[Object | None]]
Outcome = Literal["created", "changed", "unchanged", "pruned", "kept", "refused"]  # the last by dry runs alone


@dataclass(frozen=True, slots=True)
class Change:
    """What became, or would become, of one object. `diff` is for dry runs, `note` for what there is to know."""

    ref: Ref
    outcome: Outcome
    diff: str = ""
    note: str = ""
    warnings: tuple[str, ...] = ()
    before: Object | None = field(default=None, repr=False, compare=False)  # both only where they were compared
    after: Object | None = field(default=None, repr=False, compare=False)
    digest: str = field(default="", repr=False, compare=False)  # of what was applied and what became of it


@dataclass(frozen=True, slots=True)
class Applied:
    """Everything, in the order it was done."""

    changes: tuple[Change, ...]

    def of(self, outcome: Outcome) -> tuple[Ref, ...]:
        return tuple(change.ref for change in self.changes if change.outcome == outcome)

    @property
    def nothing_to_do(self) -> bool:
        return all(change.outcome in ("unchanged", "kept") for change in self.changes)

    def text(self) -> str:
        """For people: one line each, and the diffs."""
        lines = []
        for change in self.changes:
            if change.outcome != "unchanged":
                lines.append(f"{change.ref}: {change.outcome}{f' ({change.note})' if change.note else ''}")
                lines += [f"  {line}" for line in change.diff.splitlines()]
        return "\n".join(lines)


class NotApplied(KubeError):
    """Some objects could not be applied; `failures` has the error of each. What comes after them was not tried."""

    def __init__(self, server: str, failures: dict[Ref, KubeError]) -> None:
        listed = "; ".join(str(wrong) for wrong in failures.values())
        hint = next((wrong.hint for wrong in failures.values() if wrong.hint), "")
        super().__init__(server, f"{len(failures)} objects were not applied: {listed}", hint=hint)
        self.failures = failures


class NotAppliedYet(NotApplied, Temporary):
    """Trying again may help all of them."""


class NotApplicable(NotApplied, Permanent):
    """For some of them trying again will not help."""


@dataclass(frozen=True, slots=True)
class _Options:
    namespace: str
    name: str
    force: bool
    dry_run: bool
    delete: Collection[str]
    manager: str


async def apply(
    client: KubeClient,
    manifests: Manifests,
    *,
    name: str = "",
    namespace: str = "",
    force: bool = False,
    prune: bool = False,
    dry_run: bool = False,
    also: Iterable[Ref] = (),
    delete: Collection[str] = (),
    note: str = "",
    manager: str = FIELD_MANAGER,
    report: Report | None = None,
    changed: Callable[[Change], None] | None = None,
) -> Applied:
    """Apply all of them; ask again with the same, and nothing changes.

    `name` marks them as one set, and `prune` then removes what an earlier apply of the set brought and this one does
    not have; `also` are objects of the set that another call applies, `delete` kinds that are pruned although they
    may hold what others have put there, `note` is recorded with the set. `namespace` is for objects that name none.
    `force` takes fields over from others; without it `Conflict` says whose they are. `manager` is the field manager.
    With `dry_run` the server is asked what would come of it, and nothing changes.
    """
    if name or prune:
        inventory.check_name(name)
    options = _Options(namespace or client.namespace, name, force, dry_run, delete, manager)
    wanted = await placed(client, read(manifests), name=name, namespace=options.namespace)
    refs = {Ref.of(item): digest_of(item) for item in wanted}
    others = {ref.identity: ref for ref in also}
    earlier = (await inventory.find_set(client, name)).digests if name else {}
    if name and not dry_run:
        # Before anything else: what is applied by a run that is killed must be found by the next. What it has of
        # each object is not known until the end.
        known = {ref: digest for ref, digest in earlier.items() if refs.get(ref) in (None, digest.partition(".")[0])}
        unproven = dict.fromkeys([*earlier, *refs], "")
        await inventory.record(client, inventory.ObjectSet(name, {**unproven, **known}, note))
    done: list[Change] = []
    for stage in stages(wanted):
        done += await _apply_stage(client, stage, options, changed or (lambda change: None))
        if stage[0]["kind"] == CRD and not dry_run:
            await wait_until_served(client, stage, report=report)
    staying = {ref: digest for ref, digest in earlier.items() if ref.identity in others}
    gone, left = await _prune(client, earlier, [*refs, *others.values()], options) if prune else ([], [*earlier])
    if name and not dry_run:
        kept = {ref: earlier[ref] for ref in left}
        applied = {change.ref: change.digest for change in done}
        await inventory.record(client, inventory.ObjectSet(name, {**kept, **staying, **applied}, note))
    return Applied((*done, *gone))


def digest_of(item: Any) -> str:
    """Of an object as it is applied."""
    return hashlib.sha256(json.dumps(item, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[:16]


def owned_digest(live: Object, manager: str) -> str:
    """Of which fields the manager has applied: as soon as another one changes a field, it is the other's."""
    return digest_of(inventory.applied_by(live).get(manager))


async def wait_until_served(
    client: KubeClient, definitions: Iterable[Object], *, timeout: float = UNTIL_SERVED, report: Report | None = None
) -> None:
    """Until the server takes objects of the kinds that these definitions bring."""
    crds = list(definitions)
    await wait(client, [conditions.established(Ref.of(crd)) for crd in crds], timeout=timeout, report=report)
    kinds = [
        (f"{crd['spec']['group']}/{one['name']}", str(crd["spec"]["names"]["kind"]))
        for crd in crds
        for one in crd["spec"]["versions"]
        if one.get("served")
    ]
    for api_version, kind in kinds:
        await wait_until_kind(client, api_version, kind, timeout=timeout)


async def wait_until_kind(
    client: KubeClient, api_version: str, kind: str, *, timeout: float = UNTIL_SERVED, report: Report | None = None
) -> None:
    """Until the server has this kind: an operator may bring its definition."""
    async with limited(timeout) as limit:
        while not await client.serves(api_version, kind):
            if report is not None:
                report(Progress(f"kind {kind} of {api_version}", False, "not served yet", 0.0))
            await asyncio.sleep(0.1)
    if limit.over:
        raise errors.NotInTime(client.server, f"{kind} of {api_version} is not served after {timeout:g} s")


async def placed(client: KubeClient, items: Sequence[Object], *, name: str, namespace: str) -> list[dict[str, Any]]:
    """With the namespace they will live in, where their kind has one, and with our label."""
    scopes = _scopes(items)
    found = []
    for item in items:
        ref = Ref.of(item)
        namespaced = scopes.get((ref.group, ref.kind))
        if namespaced is None:
            namespaced = (await client.resource(ref.api_version, ref.kind)).namespaced
        meta = dict(item["metadata"])
        meta.pop("namespace", None)
        if namespaced:
            meta["namespace"] = ref.namespace or namespace
        one = {**item, "metadata": meta}
        found.append(inventory.marked(one, name) if name else one)
    refuse_twice(found)
    return found


def _scopes(items: Sequence[Object]) -> dict[tuple[str, str], bool]:
    """Of the kinds that the manifests bring themselves: whether their objects live in namespaces."""
    brought = [item.get("spec") or {} for item in items if item["kind"] == CRD]
    return {
        (str(one.get("group")), str((one.get("names") or {}).get("kind"))): one.get("scope") == "Namespaced"
        for one in brought
    }


async def _finder(client: KubeClient, stage: Sequence[Object]) -> Find:
    """How to look up what was there before: one by one, or all at once where there are many of a kind."""
    counts = Counter((ref.api_version, ref.kind, ref.namespace) for ref in map(Ref.of, stage))
    many = {group for group, count in counts.items() if count >= MANY and await client.serves(*group[:2])}
    listed = [item for group in sorted(many) for item in (await client.list(*group)).items]
    known = {Ref.of(item): item for item in listed}

    async def find(ref: Ref) -> Object | None:
        if (ref.api_version, ref.kind, ref.namespace) in many:
            return known.get(ref)
        return await client.find(ref)

    return find


async def _apply_stage(
    client: KubeClient, stage: Sequence[Object], options: _Options, changed: Callable[[Change], None]
) -> list[Change]:
    done: dict[Ref, Change] = {}
    failures: dict[Ref, KubeError] = {}
    find = await _finder(client, stage)

    async def one(item: Object) -> None:
        ref = Ref.of(item)
        try:
            done[ref] = await (_foresee if options.dry_run else _apply_one)(client, find, item, options)
        except KubeError as wrong:
            failures[ref] = wrong
        else:
            changed(done[ref])

    await together(one, stage, AT_ONCE)
    if len(failures) == 1:
        raise next(iter(failures.values()))
    if failures:
        hopeful = all(isinstance(wrong, Temporary) for wrong in failures.values())
        raise (NotAppliedYet if hopeful else NotApplicable)(client.server, failures)
    return [done[Ref.of(item)] for item in stage]


async def _apply_one(client: KubeClient, find: Find, item: Object, options: _Options) -> Change:
    ref = Ref.of(item)
    before = await find(ref)
    if before is not None and options.force:
        await take_over_fields(client, before, options.manager)
    wanted = item
    try:
        written = await client.apply(item, force=options.force, manager=options.manager)
    except errors.Conflict as conflict:
        if (lesser := without_replicas(item, conflict)) is None:
            raise
        wanted = lesser
        written = await client.apply(lesser, manager=options.manager)
    if before is None:
        outcome: Outcome = "created"
    else:
        outcome = "unchanged" if same(before, written.item) else "changed"
    digest = f"{digest_of(item)}.{owned_digest(written.item, options.manager)}" if wanted is item else ""
    return Change(ref, outcome, warnings=written.warnings, digest=digest)


async def _foresee(client: KubeClient, find: Find, item: Object, options: _Options) -> Change:
    ref = Ref.of(item)
    if not await client.serves(ref.api_version, ref.kind):
        return Change(ref, "created", difference(None, item), "not checked: its kind does not exist yet")
    before = await find(ref)
    try:
        written = await client.apply(item, force=options.force, dry_run=True, manager=options.manager)
    except errors.NotFound:
        # Only a namespace that does not exist yet makes the server say so.
        return Change(ref, "created", difference(None, item), "not checked: its namespace does not exist yet")
    diff = difference(before, written.item)
    outcome: Outcome = "created" if before is None else "changed" if diff else "unchanged"
    return Change(ref, outcome, diff, warnings=written.warnings)


async def _prune(
    client: KubeClient, earlier: Iterable[Ref], wanted: Sequence[Ref], options: _Options
) -> tuple[list[Change], list[Ref]]:
    """What became of what is not wanted, and what of it is still ours. Last comes what the others needed."""
    still_wanted = {ref.identity for ref in wanted}
    changes, left = [], []
    for ref in sorted(earlier, key=lambda one: (-stage_of({"kind": one.kind}), one)):
        if ref.identity in still_wanted:
            continue
        found = await client.find(ref) if await client.serves(ref.api_version, ref.kind) else None
        if found is None:
            continue
        not_ours, kept = inventory.why_not_ours(found, options.name), inventory.why_kept(found, options.delete)
        if not_ours or kept:
            changes.append(Change(ref, "kept", note=not_ours or kept))
            left += [] if not_ours else [ref]
            continue
        try:
            await client.delete(ref, uid=uid(found), dry_run=options.dry_run)
        except errors.Changed:
            changes.append(Change(ref, "kept", note="it was just recreated"))
        else:
            changes.append(Change(ref, "pruned", difference(found, None) if options.dry_run else ""))
    return changes, left
