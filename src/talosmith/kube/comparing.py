"""Which objects of a set an apply would change, with few questions: what is as it was applied is not asked for.

An object is in sync if the record of the set has the digest of exactly this object, and all of its fields are still
ours: the server takes a field from us when another manager changes it. Values alone do not tell, for a server stores
`1000m` as `1` and leaves out what is empty. Whatever fails that test is asked by a server-side dry run, which alone
decides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from talosmith.kube import errors
from talosmith.kube.applying import AT_ONCE, Change, Outcome, digest_of, owned_digest
from talosmith.kube.client import FIELD_MANAGER, KubeClient
from talosmith.kube.diff import difference
from talosmith.kube.inventory import SET_LABEL, ObjectSet, unmarked, why_kept, why_not_ours
from talosmith.kube.objects import Object, Ref, labels
from talosmith.kube.owners import other_manager, without_replicas
from talosmith.tasks import together

Identity = tuple[str, str, str, str]
# Of an admission webhook with side effects, and of one that does not answer yet: only the apply itself can tell.
_NO_DRY_RUN = ("does not support dry run", "failed calling webhook")
Path = tuple[str | int, ...]


async def live_objects(client: KubeClient, refs: Iterable[Ref]) -> dict[Identity, Object]:
    """Those of these objects that exist: one list for each kind has all that carry our label; others are read."""
    kinds = defaultdict[tuple[str, str], list[Ref]](list)
    for ref in refs:
        kinds[ref.api_version, ref.kind].append(ref)
    found: dict[Identity, Object] = {}
    others: list[Ref] = []

    async def look(kind: tuple[str, str]) -> None:
        if await client.serves(*kind):
            listed = (await client.list(*kind, labels=SET_LABEL)).items
            found.update({Ref.of(item).identity: item for item in listed})
            others.extend(ref for ref in kinds[kind] if ref.identity not in found)

    async def read(ref: Ref) -> None:
        item = await client.find(ref)
        if item is not None:
            found[ref.identity] = item

    await together(look, kinds, AT_ONCE)
    await together(read, others, AT_ONCE)
    asked_for = {ref.identity for each in kinds.values() for ref in each}
    return {identity: item for identity, item in found.items() if identity in asked_for}


async def compare(
    client: KubeClient,
    wanted: Sequence[Object],
    live: Mapping[Identity, Object],
    record: ObjectSet,
    *,
    force: bool = False,
    manager: str = FIELD_MANAGER,
) -> list[Change]:
    """What an apply of these objects, as `placed` returned them, would do to each; unchanged ones included."""
    known = {ref.identity: digest for ref, digest in record.digests.items()}
    found: dict[Identity, Change] = {}

    async def look(item: Object) -> None:
        ref = Ref.of(item)
        before = live.get(ref.identity)
        if before is not None and in_sync(before, item, known.get(ref.identity, ""), manager):
            found[ref.identity] = Change(ref, "unchanged")
        else:
            found[ref.identity] = await _foreseen(client, item, before, manager, force=force)

    await together(look, wanted, AT_ONCE)
    return [found[Ref.of(item).identity] for item in wanted]


async def _foreseen(client: KubeClient, item: Object, before: Object | None, manager: str, *, force: bool) -> Change:
    ref = Ref.of(item)
    if before is None:
        return Change(ref, "created", difference(None, item))
    if (owner := other_manager(before)) and not force:
        return await _left_to(client, unmarked(item), before, owner)
    try:
        written = (await client.apply(item, force=force, dry_run=True, manager=manager)).item
    except errors.Conflict as conflict:
        return await _contested(client, item, before, manager, conflict)
    except (errors.Invalid, errors.Denied, errors.NotReady) as wrong:
        if any(words in str(wrong) for words in _NO_DRY_RUN):
            note = f"not checked by the server: {wrong.said}"
            return Change(ref, "changed", difference(before, item), note, before=before, after=item)
        if isinstance(wrong, errors.NotReady):
            raise
        return Change(ref, "refused", difference(before, item), str(wrong))
    diff = difference(before, written)
    outcome: Outcome = "changed" if diff or owner else "unchanged"  # what is taken over is at least marked as ours
    return Change(ref, outcome, diff, before=before, after=written)


async def _contested(
    client: KubeClient, item: Object, before: Object, manager: str, conflict: errors.Conflict
) -> Change:
    """Fields of other managers stay; for a number of replicas the rest of the object does not have to wait."""
    note = f"another field manager owns {', '.join(f'{one.field} ({one.owner})' for one in conflict.conflicts)}"
    if (lesser := without_replicas(item, conflict)) is not None:
        rest = await _foreseen(client, lesser, before, manager, force=False)
        if rest.outcome != "unchanged":
            return replace(rest, note=rest.note or note)
    return Change(Ref.of(item), "kept", note=note, before=before, after=item)


async def _left_to(client: KubeClient, item: Object, before: Object, owner: str) -> Change:
    """Whether an object of another tool has what we would apply."""
    ref = Ref.of(item)
    if covers(before, item):
        return Change(ref, "unchanged")
    try:
        diff = difference(before, (await client.apply(item, force=True, dry_run=True)).item)
    except (errors.Invalid, errors.Denied):
        diff = difference(before, item)
    return Change(ref, "kept", diff, f"managed by {owner}") if diff else Change(ref, "unchanged")


def unwanted(
    record: ObjectSet, wanted: Iterable[Ref], live: Mapping[Identity, Object], delete: Collection[str]
) -> list[Change]:
    """What of a set is no longer wanted: pruned, or kept, with the reason."""
    staying = {ref.identity for ref in wanted}
    changes = []
    for ref in sorted(record.digests):
        item = live.get(ref.identity)
        if ref.identity in staying or item is None:
            continue
        reason = why_not_ours(item, record.name) or why_kept(item, delete)
        changes.append(Change(ref, "kept" if reason else "pruned", note=reason, before=item))
    return changes


def belongs_to(item: Object, name: str) -> bool:
    """Whether an object belongs to this set by its label."""
    return labels(item).get(SET_LABEL) == name


def in_sync(live: Object, wanted: Object, recorded: str, manager: str) -> bool:
    """Whether an object was applied just so, and no other manager has changed what was applied."""
    applied, _, owned = recorded.partition(".")
    return applied == digest_of(wanted) and (owned == owned_digest(live, manager) or covers(live, wanted))


def covers(live: Any, wanted: Any) -> bool:
    """Whether a live value has all that is wanted of it; the server and controllers may have added to it."""
    if isinstance(wanted, dict):
        return isinstance(live, dict) and all(
            (key in live or value is None) and (value is None or covers(live[key], value))
            for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(live, list) and len(live) == len(wanted) and all(map(covers, live, wanted))
    return bool(live == wanted) and isinstance(live, bool) == isinstance(wanted, bool)


def settled(item: Object, volatile: Iterable[Path], live: Object | None) -> Object:
    """The object with the live values of the fields that differ from one rendering to the next (generated keys)."""
    if live is None:
        return item
    result: Any = item
    for path in volatile:
        value = _at(live, path)
        if value is not None:
            result = _with(result, path, value)
    return result  # type: ignore[no-any-return]


def _at(value: Any, path: Path) -> Any:
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _with(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[path[0]] = _with(copy[path[0]], path[1:], new)  # type: ignore[index]
    return copy
