"""Everything a node knows about itself, as resources: get one, list a kind, watch it change.

A resource's content travels as YAML too, which is what is read here: it is what `talosctl get -o yaml` shows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from talosmith.inventory.parse import Unreadable, parse
from talosmith.talos.errors import Failed, NotFound, NotTalos
from talosmith.talos.grpc.caller import FOLLOWING, NO_CHANNEL, Caller
from talosmith.talos.kinds import DEFINITIONS, KINDS, Kind
from talosmith.talos.proto import cosi_pb2
from talosmith.talos.proto.services import StateStub
from talosmith.talos.times import read_time

_STATE = StateStub(NO_CHANNEL)


@dataclass(frozen=True)
class Resource:
    """`spec` is the content as plain data; of sensitive kinds it holds secrets, so it is not printed."""

    node: str
    namespace: str
    type: str
    id: str
    version: str
    owner: str
    phase: str
    created: datetime
    updated: datetime
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    finalizers: tuple[str, ...]
    yaml: str = field(repr=False)
    proto: bytes = field(repr=False)

    @cached_property
    def spec(self) -> Any:
        try:
            return parse(self.yaml.encode(), f"{self.type}/{self.id}").data
        except Unreadable as wrong:
            place = wrong.problems[0]
            raise NotTalos(
                self.node, f"{self.type}/{self.id} cannot be read: line {place.line}: {place.what}", call="Get"
            ) from None


class ChangeKind(StrEnum):
    """`BOOTSTRAPPED` says that everything that was there has been reported."""

    CREATED = "created"
    UPDATED = "updated"
    DESTROYED = "destroyed"
    BOOTSTRAPPED = "bootstrapped"
    NOOP = "noop"


@dataclass(frozen=True, slots=True)
class Change:
    """One thing a watch reports. A later watch can go on from `bookmark`, where there is one."""

    kind: ChangeKind
    resource: Resource | None
    old: Resource | None = None
    bookmark: bytes = field(default=b"", repr=False)


_CHANGES = {
    cosi_pb2.CREATED: ChangeKind.CREATED,
    cosi_pb2.UPDATED: ChangeKind.UPDATED,
    cosi_pb2.DESTROYED: ChangeKind.DESTROYED,
    cosi_pb2.BOOTSTRAPPED: ChangeKind.BOOTSTRAPPED,
    cosi_pb2.NOOP: ChangeKind.NOOP,
}


class ResourceCalls(Caller):
    """A kind is named as for `talosctl get`: `members`, `machinestatus`, or in full `Members.cluster.talos.dev`."""

    async def get(self, kind: str, id: str, *, namespace: str = "") -> Resource:  # noqa: A002
        """One resource; `NotFound` if there is none."""
        known = await self.kind(kind)
        request = cosi_pb2.GetRequest(
            namespace=namespace or known.namespace, type=known.type, id=id, options=cosi_pb2.GetOptions()
        )
        reply = await self._ask(_STATE.Get, request)
        if not reply.HasField("resource"):
            raise self._no_answer(_STATE.Get)
        return self._read(reply.resource)

    async def list(
        self, kind: str, *, namespace: str = "", labels: Mapping[str, str] | None = None
    ) -> tuple[Resource, ...]:
        """All of a kind that carry the labels."""
        known = await self.kind(kind)
        request = cosi_pb2.ListRequest(
            namespace=namespace or known.namespace,
            type=known.type,
            options=cosi_pb2.ListOptions(label_query=_query(labels)),
        )
        parts = self._stream(_STATE.List, request, budget=self._limits.max_answer)
        return tuple([self._read(part.resource) async for part in parts])

    async def watch(
        self,
        kind: str,
        id: str = "",  # noqa: A002
        *,
        namespace: str = "",
        labels: Mapping[str, str] | None = None,
        after: bytes = b"",
        timeout: float = FOLLOWING,
    ) -> AsyncIterator[Change]:
        """What is there, then `BOOTSTRAPPED`, then every change, until the caller stops or the node goes away.

        `after` is the bookmark of a change: then only what came after it is reported. Of a single resource there
        is no `BOOTSTRAPPED`: first comes its present state, `DESTROYED` if there is none.
        """
        known = await self.kind(kind)
        options = cosi_pb2.WatchOptions(label_query=_query(labels))
        if after:
            options.start_from_bookmark = after
        else:
            options.bootstrap_contents = not id
        request = cosi_pb2.WatchRequest(
            namespace=namespace or known.namespace,
            type=known.type,
            id=id or None,
            options=options,
            api_version=1,
        )
        async for part in self._stream(_STATE.Watch, request, timeout=timeout):
            for event in part.event:
                yield self._change(event)

    async def kind(self, name: str) -> Kind:
        """What a name stands for; those that are not in our list are looked up on the node."""
        known = KINDS.get(name.lower())
        if known is not None:
            return known
        wanted = name.lower()
        for definition in await self.list(DEFINITIONS):
            spec = definition.spec
            names = (spec.get("type"), *(spec.get("aliases") or ()), *(spec.get("allAliases") or ()))
            if wanted in (str(other).lower() for other in names):
                return Kind(spec.get("defaultNamespace") or "", spec["type"])
        raise NotFound(
            self._label, f"has no kind of resource that is called {name!r}", hint="talosctl get rd lists all of them."
        )

    def _change(self, event: cosi_pb2.Event) -> Change:
        if event.event_type == cosi_pb2.ERRORED:
            raise Failed(self._label, f"Watch: {event.error or 'the node gave up'}", call="Watch", said=event.error)
        kind = _CHANGES.get(event.event_type)
        if kind is None:
            raise NotTalos(self._label, f"Watch: an event of the unknown kind {event.event_type}", call="Watch")
        has_resource = event.HasField("resource") and kind is not ChangeKind.BOOTSTRAPPED
        return Change(
            kind,
            self._read(event.resource) if has_resource else None,
            self._read(event.old) if event.HasField("old") else None,
            event.bookmark,
        )

    def _read(self, wire: cosi_pb2.Resource) -> Resource:
        facts = wire.metadata
        return Resource(
            node=self._label,
            namespace=facts.namespace,
            type=facts.type,
            id=facts.id,
            version=facts.version,
            owner=facts.owner,
            phase=facts.phase,
            created=read_time(facts.created),
            updated=read_time(facts.updated),
            labels=dict(facts.labels),
            annotations=dict(facts.annotations),
            finalizers=tuple(facts.finalizers),
            yaml=wire.spec.yaml_spec,
            proto=wire.spec.proto_spec,
        )


def _query(labels: Mapping[str, str] | None) -> list[cosi_pb2.LabelQuery]:
    if not labels:
        return []
    terms = [cosi_pb2.LabelTerm(key=key, op=cosi_pb2.LabelTerm.EQUAL, value=[value]) for key, value in labels.items()]
    return [cosi_pb2.LabelQuery(terms=terms)]
