"""Following objects as they change, over ends of watches, lost connections and servers that have forgotten."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

from talosmith.errors import Temporary
from talosmith.kube import errors
from talosmith.kube.answers import from_status
from talosmith.kube.client import KubeClient
from talosmith.kube.objects import Object, version
from talosmith.waiting import backoff

SECONDS = 60  # of one watch; short, so that a connection that is dead without a word is noticed
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All there is: at the start, and whenever what happened in between is not known."""

    items: tuple[Object, ...]


@dataclass(frozen=True, slots=True)
class Event:
    """One object that came, changed or went."""

    kind: Literal["ADDED", "MODIFIED", "DELETED"]
    item: Object


async def follow(
    client: KubeClient,
    api_version: str,
    kind: str,
    namespace: str = "",
    *,
    labels: str = "",
    fields: str = "",
    seconds: int = SECONDS,
    trouble: Callable[[errors.KubeError], None] | None = None,
) -> AsyncGenerator[Snapshot | Event]:
    """Without end. Troubles that may pass are told to `trouble` and waited out; the others are raised."""
    since = ""
    attempt = 1
    while True:
        began = time.monotonic()
        try:
            if not since:
                listed = await client.list(api_version, kind, namespace, labels=labels, fields=fields)
                yield Snapshot(listed.items)
                since = listed.version
            lines = client.events(api_version, kind, namespace, since, labels=labels, fields=fields, seconds=seconds)
            async with aclosing(lines):
                async for line in lines:
                    what, item = _read(client, kind, line)
                    since = version(item) or since
                    if what != "BOOKMARK":
                        yield Event(what, item)
        except errors.Expired:
            since = ""
        except errors.KubeError as wrong:
            if not isinstance(wrong, Temporary):
                raise
            if trouble is not None:
                trouble(wrong)
        # Watches that end at once, for whatever reason, are not to become a flood of them.
        lasted = time.monotonic() - began >= _LONGEST_PAUSE
        attempt = 1 if lasted else attempt + 1
        await asyncio.sleep(backoff(attempt, _FIRST_PAUSE, _LONGEST_PAUSE))


def _read(client: KubeClient, kind: str, line: str) -> tuple[Any, Object]:
    try:
        event = json.loads(line)
        what, item = event["type"], event["object"]
    except (ValueError, KeyError, TypeError):
        raise errors.Unreachable(
            client.server, "a watch ended in the middle of an event", about=f"all {kind}s"
        ) from None
    if what == "ERROR":
        raise from_status(client.server, f"all {kind}s", item)
    return what, item
