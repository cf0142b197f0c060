"""Answers without an end: watches, and logs that are followed."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass

from talosmith.providers.lab.faults import US
from talosmith_lab.kube.api import Api
from talosmith_lab.kube.errors import ApiError
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.subresources import log_lines, log_text
from talosmith_lab.kube.watching import Event, Watch
from talosmith_lab.server.kube import formats
from talosmith_lab.server.kube.formats import Form
from talosmith_lab.server.kube.http import Exchange
from talosmith_lab.server.kube.hub import Hub
from talosmith_lab.server.kube.tabling import Tables

_SECONDS = 1800.0  # of a watch whose client does not say
_BOOKMARK = 60.0  # seconds between two, where nothing else comes
_LOOK = 1.0  # seconds after which a followed log is looked at again


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchStream:
    api: Api
    hub: Hub
    kind: Kind
    watch: Watch
    form: Form
    tables: Tables
    bookmarks: bool
    initial_end: bool  # say so when all there was at the start is told
    seconds: float
    cut: bool = False  # on purpose, by a fault

    async def run(self, exchange: Exchange) -> None:
        exchange.start("application/json")
        end = time.monotonic() + (self.seconds or _SECONDS)
        told = time.monotonic()
        first = True
        while True:
            if not self._is_cut_off:
                try:
                    events = self.watch.take()
                except ApiError as problem:
                    exchange.piece(_line("ERROR", json.dumps(problem.status).encode()))
                    break
                pieces = [self._event(event, index == 0 and first) for index, event in enumerate(events)]
                if first and self.initial_end:
                    pieces.append(self._bookmark(initial=True))
                if not pieces and self.bookmarks and time.monotonic() - told >= _BOOKMARK:
                    pieces.append(self._bookmark())
                if pieces:
                    told, first = time.monotonic(), False
                    exchange.piece(b"".join(pieces))
                first = False
            if self.cut:
                await exchange.read()
                exchange.abort()
                return
            await exchange.read()
            left = end - time.monotonic()
            if left <= 0:
                break
            if not self._has_news:
                await self.hub.changed(self.api.kubernetes.cluster.uid, min(left, _BOOKMARK))
        exchange.end()

    @property
    def _has_news(self) -> bool:
        """What happened while the client was still reading is not sent again."""
        return not self._is_cut_off and self.watch.revision < self.watch.storage.revision

    @property
    def _is_cut_off(self) -> bool:
        """A server whose etcd follows no leader has no news, and from one that is cut off none come."""
        kubernetes = self.api.kubernetes
        return kubernetes.member(self.api.via) is None or not kubernetes.world.talk(US, self.api.via)

    def _event(self, event: Event, first: bool) -> bytes:
        if self.form.shape == "Table":
            metadata = {"resourceVersion": str(event.stored.obj["metadata"]["resourceVersion"])}
            table = self.tables.table(self.kind, [event.stored.obj], metadata)
            table["columnDefinitions"] = table["columnDefinitions"] if first else None
            return _line(event.type, json.dumps(table, ensure_ascii=False).encode())
        if self.form.shape.startswith(formats.PARTIAL):
            return _line(event.type, json.dumps(formats.partial(event.stored.obj), ensure_ascii=False).encode())
        return _line(event.type, event.stored.value)

    def _bookmark(self, *, initial: bool = False) -> bytes:
        metadata: Obj = {"resourceVersion": str(self.watch.revision)}
        if initial:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        obj = {"kind": self.kind.kind, "apiVersion": self.kind.api_version, "metadata": metadata}
        return _line("BOOKMARK", json.dumps(obj).encode())


async def expired(exchange: Exchange, problem: ApiError) -> None:
    """A watch that cannot start where it should says so as its only event."""
    exchange.start("application/json")
    exchange.piece(_line("ERROR", json.dumps(problem.status).encode()))
    exchange.end()


def _line(kind: str, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), obj)


async def follow_log(
    api: Api, name: str, namespace: str, container: str, query: dict[str, str], exchange: Exchange
) -> None:
    """All there is, then what comes, until the pod is gone."""
    lines = log_lines(api, name, namespace, container)
    exchange.start("text/plain")
    exchange.piece(log_text(lines, query, api.kubernetes.world.now()).encode())
    seen = len(lines)
    while True:
        await asyncio.sleep(_LOOK)
        try:
            lines = log_lines(api, name, namespace, container)
        except ApiError:
            break
        kept = {key: value for key, value in query.items() if key == "timestamps"}
        exchange.piece(log_text(lines[seen:], kept, api.kubernetes.world.now()).encode())
        seen = max(seen, len(lines))
        await exchange.read()
    exchange.end()
