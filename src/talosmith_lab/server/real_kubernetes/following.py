"""Objects of one kind at the real API, kept current, and a look at them whenever something has changed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from talosmith.kube import KubeClient, KubeError, Snapshot, follow
from talosmith_lab.kube.kinds import Obj

_AGAIN = 1.0  # seconds until something is tried again that did not work

log = logging.getLogger(__name__)


class Followed:
    """`items` by `namespace/name`. `changed` is called after each change."""

    def __init__(self, client: KubeClient, api_version: str, kind: str, changed: Callable[[], None]) -> None:
        self.items: dict[str, Obj] = {}
        self._client = client
        self._kind = api_version, kind
        self._changed = changed

    async def run(self) -> None:
        """Without end. A kind that is not served is asked for again."""
        while True:
            with suppress(KubeError):  # those that do not pass by themselves; the server may have been recreated
                async for event in follow(self._client, *self._kind):
                    if isinstance(event, Snapshot):
                        self.items = {key_of(dict(item)): dict(item) for item in event.items}
                    elif event.kind == "DELETED":
                        self.items.pop(key_of(dict(event.item)), None)
                    else:
                        self.items[key_of(dict(event.item))] = dict(event.item)
                    self._changed()
            await asyncio.sleep(_AGAIN)


def key_of(obj: Obj) -> str:
    return f"{obj['metadata'].get('namespace', '')}/{obj['metadata']['name']}"


async def look_on_changes(
    changed: asyncio.Event, look: Callable[[], Awaitable[None]], pause: float, followed: Sequence[Followed]
) -> None:
    """Follow these kinds, and `look` a moment after something has changed. What fails is tried again."""
    tasks = [asyncio.create_task(one.run()) for one in followed]
    try:
        while True:
            await changed.wait()
            await asyncio.sleep(pause)  # changes come in swarms
            changed.clear()
            try:
                await look()
            except KubeError as problem:
                log.info("%s", problem)
                asyncio.get_running_loop().call_later(_AGAIN, changed.set)
            except Exception:  # an object that cannot be dealt with must not keep the others waiting for ever
                log.exception("objects of add-ons")
    finally:
        await cancel(tasks)


async def cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        with suppress(asyncio.CancelledError):
            await task
