"""Waiting for named conditions, with word of what is still missing, and an end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from talosmith.errors import Temporary
from talosmith.kube import errors
from talosmith.kube.client import KubeClient
from talosmith.kube.conditions import Awaited, Verdict
from talosmith.kube.objects import Object, Ref
from talosmith.kube.watching import Snapshot, follow
from talosmith.tasks import together
from talosmith.waiting import limited

BETWEEN_CHECKS = 1.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Said whenever there is something new about a condition."""

    name: str
    ok: bool
    reason: str
    seconds: float  # since the waiting began


Report = Callable[[Progress], None]


async def wait(
    client: KubeClient,
    awaited: Iterable[Awaited],
    *,
    timeout: float,
    report: Report | None = None,
    in_a_row: int = 1,
    between: float = BETWEEN_CHECKS,
) -> None:
    """Until each of them has been met; then until all are met together in further checks, `in_a_row` in all.

    Raises `NotInTime` naming what is missing and why; `Failed` at once for what can no longer come true.
    """
    waiting = _Waiting(client, list(awaited), report or (lambda progress: None))
    async with limited(timeout) as limit:
        while True:
            await waiting.until_all_met()
            if await waiting.stays_met(in_a_row - 1, between):
                break
    if limit.over:
        raise errors.NotInTime(
            client.server,
            f"waited {timeout:g} s for {waiting.missing()}",
            hint="Waiting again goes on from here; the reason tells where to look.",
        )


@dataclass(frozen=True, slots=True)
class _Group:
    """Conditions of objects of one kind in one namespace: one watch serves them all."""

    api_version: str
    kind: str
    namespace: str
    awaited: tuple[Awaited, ...]

    @property
    def fields(self) -> str:
        """A single object is watched alone."""
        names = {one.ref.name for one in self.awaited}
        return f"metadata.name={names.pop()}" if len(names) == 1 else ""


class _Waiting:
    """The last verdict on each condition."""

    def __init__(self, client: KubeClient, awaited: list[Awaited], report: Report) -> None:
        self._client = client
        self._awaited = awaited
        self._report = report
        self._since = time.monotonic()
        self._verdicts: dict[str, Verdict] = {}
        self._judgements: dict[str, str] = {}  # the reasons that came from objects, not from troubles on the way

    def missing(self) -> str:
        asked_for = {one.name: self._verdicts.get(one.name, Verdict(False, "not known yet")) for one in self._awaited}
        unmet = [f"{name} ({verdict.reason})" for name, verdict in asked_for.items() if not verdict.ok]
        return "; ".join(unmet) or "conditions that were met, but did not last"

    async def until_all_met(self) -> None:
        groups = self._groups()
        await together(self._until_met, groups, at_once=max(1, len(groups)))

    async def stays_met(self, times: int, between: float) -> bool:
        """A condition that comes and goes does not pass."""
        for _ in range(times):
            await asyncio.sleep(between)
            for group in self._groups():
                if not await self._is_met(group):
                    return False
        return True

    def _groups(self) -> list[_Group]:
        found: dict[tuple[str, str, str], list[Awaited]] = {}
        for one in self._awaited:
            found.setdefault((one.ref.api_version, one.ref.kind, one.ref.namespace), []).append(one)
        return [_Group(*key, tuple(awaited)) for key, awaited in found.items()]

    async def _until_met(self, group: _Group) -> None:
        namespace = await self._namespace(group)
        changes = follow(
            self._client,
            group.api_version,
            group.kind,
            namespace,
            fields=group.fields,
            trouble=lambda wrong: self._troubled(group, wrong),
        )
        items: dict[str, Object] = {}
        async with aclosing(changes):
            async for change in changes:
                if isinstance(change, Snapshot):
                    items = _by_name(change.items)
                elif change.kind == "DELETED":
                    items.pop(Ref.of(change.item).name, None)
                else:
                    items.update(_by_name([change.item]))
                if self._heard(group, items):
                    return

    async def _namespace(self, group: _Group) -> str:
        """Where to look, once there is a server that has the kind."""
        while True:
            try:
                if await self._client.serves(group.api_version, group.kind):
                    resource = await self._client.resource(group.api_version, group.kind)
                    return (group.namespace or self._client.namespace) if resource.namespaced else ""
                self._heard(group, {})
            except errors.KubeError as wrong:
                if not isinstance(wrong, Temporary):
                    raise
                self._troubled(group, wrong)
            await asyncio.sleep(BETWEEN_CHECKS)

    async def _is_met(self, group: _Group) -> bool:
        """A server that does not answer is no sign of health."""
        try:
            namespace = await self._namespace(group)
            listed = await self._client.list(group.api_version, group.kind, namespace, fields=group.fields)
        except errors.KubeError as wrong:
            if not isinstance(wrong, Temporary):
                raise
            self._troubled(group, wrong)
            return False
        return self._heard(group, _by_name(listed.items))

    def _heard(self, group: _Group, items: Mapping[str, Object]) -> bool:
        met = [self._judged(one, items.get(one.ref.name)) for one in group.awaited]  # each of them, to report it
        return all(met)

    def _troubled(self, group: _Group, wrong: errors.KubeError) -> None:
        """What was last known is kept: a watch that goes on says nothing new where nothing has changed."""
        for one in group.awaited:
            known = self._judgements.get(one.name, "")
            self._take(one, Verdict(False, f"{known}; then {wrong}" if known else str(wrong)))

    def _judged(self, one: Awaited, item: Object | None) -> bool:
        verdict = one.judge(item)
        self._judgements[one.name] = verdict.reason
        return self._take(one, verdict)

    def _take(self, one: Awaited, verdict: Verdict) -> bool:
        if self._verdicts.get(one.name) != verdict:
            self._verdicts[one.name] = verdict
            self._report(Progress(one.name, verdict.ok, verdict.reason, time.monotonic() - self._since))
        if verdict.hopeless:
            raise errors.Failed(
                self._client.server, f"waited for {one.name}, but {verdict.reason}", about=str(one.ref)
            )
        return verdict.ok


def _by_name(items: Iterable[Object]) -> dict[str, Object]:
    return {Ref.of(item).name: item for item in items}
