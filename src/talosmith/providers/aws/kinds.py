"""What the modules for kinds of resources share: how each looks, and how rivals end with one of what both made.

EC2 gives ids, not names: two runs that create a VPC at the same time have two. Each waits until the other's is
visible; the one with the smallest id is kept, and both know which that is. A run whose call took longer than that
wait gives its own up to any other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from talosmith.errors import Permanent
from talosmith.model.resources import Resource, ResourceKey, ResourceSpec, Setting, Settings
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import Gone, InUse
from talosmith.providers.aws.marks import as_tags
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.base import Known

_LOOKS = 3  # at several of what there is to be one of: what a killed run left stays


class Kind(Protocol):
    """One or more kinds of resources that are read by the same calls."""

    kinds: frozenset[str]
    in_place: frozenset[str]  # settings that `update` changes; others need a new resource

    async def find(self) -> list[Resource]: ...

    async def create(self, spec: ResourceSpec, known: Known) -> Resource: ...

    async def update(self, found: Resource, spec: ResourceSpec, known: Known) -> Resource: ...

    async def delete(self, found: Resource) -> None: ...


class OnEc2:
    """What is found in EC2 by tags."""

    def __init__(self, client: AwsClient, settings: AwsSettings) -> None:
        self.client = client
        self.settings = settings
        self.marks = settings.marks

    async def ec2(self, action: str, *, fresh: bool = False, **parameters: Any) -> dict[str, Any]:
        return await self.client.call("ec2", action, fresh=fresh, **parameters)

    def seen(
        self, key: ResourceKey, identity: str, settings: Settings, tags: Mapping[str, str], **outputs: str
    ) -> Resource:
        return Resource(
            id=identity, kind=key.kind, name=key.name, settings=settings, tags=dict(tags), outputs=outputs
        )

    def key_of(self, thing: Mapping[str, Any]) -> ResourceKey | None:
        return self.marks.key_of(as_tags(thing.get("Tags", ())))

    async def single(
        self,
        look: Callable[[], Awaitable[Sequence[str]]],
        create: Callable[[], Awaitable[str]],
        delete: Callable[[str], Awaitable[None]],
    ) -> str:
        """The id of the only one: an existing one, or one that is created, also if others create one meanwhile.

        `look` returns all there are.
        """
        while True:
            began, there = await self._decided(look)
            if there:
                return there[0]
            mine = await create()
            late = time.monotonic() - began >= self.settings.settle  # a rival may have looked before mine was there
            await asyncio.sleep(self.settings.settle)
            there = sorted({*await look(), mine})
            if there == [mine] or (there[0] == mine and not late):
                return mine
            await delete(mine)

    async def _decided(self, look: Callable[[], Awaitable[Sequence[str]]]) -> tuple[float, list[str]]:
        """What there is after rivals have decided, and when that was: one that is new may yet be given up."""
        began, there = time.monotonic(), sorted(await look())
        for _ in range(_LOOKS):
            if not there:
                break
            await asyncio.sleep(self.settings.settle)
            before, began = there, time.monotonic()
            there = sorted(await look())
            if len(there) == 1 and there == before:
                break
        return began, there


def known_id(known: Known, key: ResourceKey) -> str:
    found = known.resources.get(key)
    if found is None:
        raise Permanent(f"the {key} does not exist", hint="plan again: AWS has changed meanwhile")
    return found.id


def in_use(key: ResourceKey, by: Sequence[str]) -> InUse:
    return InUse(f"the {key} is in use by {', '.join(by)}", retry_after=2.0)


def texts(of: Resource | ResourceSpec, name: str) -> list[str]:
    """A setting that is a list."""
    listed = of.settings.get(name)
    return [str(one) for one in listed] if isinstance(listed, list) else []


def listing(items: Iterable[str]) -> list[Setting]:
    """In one order, to be compared."""
    return [*sorted(items)]


async def ignore_gone(work: Awaitable[object]) -> None:
    try:
        await work
    except Gone:
        return
