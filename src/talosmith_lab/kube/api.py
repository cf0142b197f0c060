"""One cluster's Kubernetes API as calls: what its HTTP server answers with, and what controllers work with.

    api = Api(kubernetes_of(world, cluster))
    pod = api.create(find("v1", "Pod"), {...}, "default", how=How(manager="kubelet"))

Every call raises `ApiError`. What `get` returns is the caller's own; what `list` returns is shared.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterable
from typing import Any

from talosmith_lab.kube import crds, deleting, patching, shapes, writing
from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.errors import (
    ApiError,
    about,
    already_exists,
    expired,
    invalid_value,
    modified,
    not_found,
    too_large_version,
)
from talosmith_lab.kube.how import SYSTEM, How
from talosmith_lab.kube.kinds import Kind, Kinds, Obj
from talosmith_lab.kube.paging import TOO_OLD, Listing, number, read_token, token
from talosmith_lab.kube.selectors import Matches, by_fields, by_labels
from talosmith_lab.kube.storage import Stored
from talosmith_lab.kube.watching import Watch

__all__ = ["SYSTEM", "Api", "How", "Listing"]


class Api:
    """Through the etcd member of one control plane, or through any that works."""

    def __init__(self, kubernetes: Kubernetes, via: str = "") -> None:
        self.kubernetes = kubernetes
        self.via = via
        self._write = kubernetes.writer(via)

    @property
    def kinds(self) -> Kinds:
        return self.kubernetes.kinds

    @property
    def revision(self) -> int:
        return self.kubernetes.storage.revision

    # Reading

    def stored(self, kind: Kind, name: str, namespace: str = "") -> Stored:
        """Shared, as etcd has it but in the version that was asked for."""
        self.kubernetes.check(self.via)
        found = self.kubernetes.storage.get(kind.key(namespace, name))
        if found is None:
            raise not_found(kind, name)
        return shapes.in_version(kind, found)

    def get(self, kind: Kind, name: str, namespace: str = "") -> Obj:
        found: Obj = json.loads(self.stored(kind, name, namespace).value)
        return found

    def find(self, kind: Kind, name: str, namespace: str = "") -> Obj | None:
        """Shared; None if there is none. For who looks often."""
        found = self.kubernetes.storage.get(kind.key(namespace, name))
        return shapes.in_version(kind, found).obj if found is not None else None

    def items(self, kind: Kind, namespace: str = "", *, labels: str = "", fields: str = "") -> Iterable[Obj]:
        """Shared, in the order of their names."""
        matching = self._matching(kind, labels, fields)
        for _, stored in self.kubernetes.storage.under(_prefix(kind, namespace)):
            seen = shapes.in_version(kind, stored)
            if all(matches(seen.obj) for matches in matching):
                yield seen.obj

    def list(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        continue_: str = "",
    ) -> Obj:
        page = self.listing(kind, namespace, labels=labels, fields=fields, limit=limit, continue_=continue_)
        return {
            "kind": kind.listed_as,
            "apiVersion": kind.api_version,
            "metadata": page.metadata,
            "items": [one.obj for one in page.items],
        }

    def listing(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        limit: int = 0,
        continue_: str = "",
        version: str = "",
        exact: bool = False,
    ) -> Listing:
        storage = self.kubernetes.storage
        self.kubernetes.check(self.via)
        matching = self._matching(kind, labels, fields)
        prefix = _prefix(kind, namespace)
        asked = number(version)
        if asked > storage.revision:
            raise too_large_version(asked, storage.revision)
        revision, after = storage.revision, ""
        if continue_:
            revision, after = read_token(continue_)
            revision = revision if revision > 0 else storage.revision
        elif exact:
            revision = asked
        if revision == storage.revision and not (limit or after):
            found = storage.under(prefix)
            items = [stored for _, stored in found]
            return Listing(_seen(kind, items, matching), revision)
        at = storage.at(kind.root, prefix, revision)
        if at is None:
            if continue_:
                raise expired(TOO_OLD, **{"continue": token(-1, after)})
            raise expired(f"The resourceVersion for the provided list is too old: {revision}")
        rest = [(key, stored) for key, stored in at if key.removeprefix(prefix) >= after]
        return self._page(kind, prefix, rest, matching, revision, limit)

    def _page(
        self,
        kind: Kind,
        prefix: str,
        rest: builtins.list[tuple[str, Stored]],
        matching: tuple[Matches, ...],
        revision: int,
        limit: int,
    ) -> Listing:
        items: builtins.list[Stored] = []
        for place, (key, stored) in enumerate(rest):
            items += _seen(kind, [stored], matching)
            if limit and len(items) == limit and place + 1 < len(rest):
                remaining = None if matching else len(rest) - place - 1
                return Listing(items, revision, token(revision, key.removeprefix(prefix) + "\0"), remaining)
        return Listing(items, revision)

    def watch(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        since: str = "",
        labels: str = "",
        fields: str = "",
        bookmarks: bool = False,
        name: str = "",
        initial: bool = False,
    ) -> Watch:
        """Events from a resourceVersion on; without one, all that there is comes first. Ask it with `take`."""
        storage = self.kubernetes.storage
        self.kubernetes.check(self.via)
        matching = self._matching(kind, labels, fields)
        revision = number(since)
        if revision > storage.revision:
            raise too_large_version(revision, storage.revision)
        found: builtins.list[Stored] = []
        prefix = _prefix(kind, namespace)
        if not revision or initial:
            found = _seen(kind, [stored for _, stored in storage.under(prefix)], matching)
            revision = storage.revision
        elif storage.changes_after(kind.root, revision) is None:
            raise expired(f"too old resource version: {revision} ({storage.oldest(kind.root)})")
        return Watch(storage=storage, kind=kind, prefix=prefix, revision=revision, matches=matching, initial=found)

    def _matching(self, kind: Kind, labels: str, fields: str) -> tuple[Matches, ...]:
        return tuple(one for one in (by_labels(labels), by_fields(kind, fields)) if one is not None)

    # Changing

    def create(self, kind: Kind, obj: Obj, namespace: str = "", *, how: How) -> Obj:
        obj = writing.for_creation(self.kubernetes, kind, writing.copied(obj), namespace, how)
        return self.insert(kind, obj, how)

    def insert(self, kind: Kind, obj: Obj, how: How) -> Obj:
        """Put a new object, which is made and checked, where none is."""
        metadata = obj["metadata"]
        key = kind.key(metadata.get("namespace", ""), metadata["name"])
        if self.kubernetes.storage.get(key) is not None:
            raise already_exists(kind, metadata["name"])
        if how.dry_run:
            self.kubernetes.check(self.via)
            return obj
        made = self.put(kind, key, obj)
        return writing.copied(made)

    def update(
        self,
        kind: Kind,
        obj: Obj,
        namespace: str = "",
        *,
        subresource: str = "",
        how: How,
    ) -> Obj:
        obj = writing.copied(obj)
        writing.check_type(kind, obj)
        metadata = obj.setdefault("metadata", {})
        namespace = metadata.get("namespace") or namespace
        live = self._live(kind, str(metadata.get("name", "")), namespace)
        return self.replace(kind, live, obj, how, subresource)

    def replace(
        self, kind: Kind, live: Stored, obj: Obj, how: How, subresource: str = "", *, track: bool = True
    ) -> Obj:
        """Put a changed object in the place of the live one, if no other client was faster."""
        metadata = live.obj["metadata"]
        wanted = writing.version_of(obj, kind)
        if wanted is not None and wanted != live.revision:
            raise modified(kind, metadata["name"])
        if wanted is None and _unconditional(kind) is False:
            raise _must_be_given(kind, metadata["name"])
        obj = writing.for_update(self.kubernetes, kind, live, obj, how, subresource, track=track)
        if deleting.is_over(kind, obj):
            return self._end(kind, obj, how)
        if writing.same(obj, live.obj):
            return writing.copied(live.obj)
        if how.dry_run:
            obj["metadata"]["resourceVersion"] = str(live.revision)
            return obj
        key = kind.key(metadata.get("namespace", ""), metadata["name"])
        return writing.copied(self.put(kind, key, obj))

    def _end(self, kind: Kind, obj: Obj, how: How) -> Obj:
        """The last finalizer has gone, and so does the object."""
        metadata = obj["metadata"]
        if not how.dry_run:
            self.remove(kind, metadata["name"], metadata.get("namespace", ""))
        return obj

    def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        content_type: str,
        body: bytes | Obj | builtins.list[Any],
        *,
        subresource: str = "",
        force: bool = False,
        how: How,
    ) -> Obj:
        return self.apply_patch(kind, name, namespace, content_type, body, subresource, force, how)[0]

    def apply_patch(
        self,
        kind: Kind,
        name: str,
        namespace: str,
        content_type: str,
        body: bytes | Obj | builtins.list[Any],
        subresource: str,
        force: bool,
        how: How,
    ) -> tuple[Obj, bool]:
        """The object, and whether the patch made it."""
        return patching.patch(self, kind, name, namespace, content_type, body, subresource, force, how)

    def delete(
        self, kind: Kind, name: str, namespace: str = "", *, options: Obj | None = None, how: How = SYSTEM
    ) -> Obj:
        return deleting.delete(self, kind, self._live(kind, name, namespace), options or {}, how)

    def delete_collection(
        self,
        kind: Kind,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        options: Obj | None = None,
        how: How = SYSTEM,
    ) -> Obj:
        page = self.listing(kind, namespace, labels=labels, fields=fields)
        for stored in page.items:
            metadata = stored.obj["metadata"]
            live = self.kubernetes.storage.get(kind.key(metadata.get("namespace", ""), metadata["name"]))
            if live is not None:
                deleting.delete(self, kind, live, options or {}, how)
        items = [stored.obj for stored in page.items]
        return {
            "kind": kind.listed_as,
            "apiVersion": kind.api_version,
            "metadata": {"resourceVersion": str(self.revision)},
            "items": items,
        }

    # For the verbs themselves

    def _live(self, kind: Kind, name: str, namespace: str) -> Stored:
        return self.stored(kind, name, namespace)

    def put(self, kind: Kind, key: str, obj: Obj) -> Obj:
        """Write an object as it is. It belongs to the storage from then on."""
        stored = self.kubernetes.storage.put(kind.root, key, shapes.for_storage(kind, obj), self._write)
        crds.after_write(self, kind, stored.obj)
        return shapes.in_version(kind, stored).obj

    def part_changed(self, kind: Kind, live: Obj, obj: Obj, subresource: str) -> None:
        """Write what the server itself has changed of an object, under its own name."""
        obj = shapes.tracked(self.kubernetes, kind, live, obj, SYSTEM, subresource)
        metadata = obj["metadata"]
        self.put(kind, kind.key(metadata.get("namespace", ""), metadata["name"]), obj)

    def remove(self, kind: Kind, name: str, namespace: str = "") -> Stored | None:
        gone = self.kubernetes.storage.delete(kind.root, kind.key(namespace, name), self._write)
        if gone is not None:
            crds.after_removal(self, kind, gone.obj)
        return gone


def _seen(kind: Kind, items: Iterable[Stored], matching: tuple[Matches, ...]) -> list[Stored]:
    seen = (shapes.in_version(kind, stored) for stored in items)
    return [stored for stored in seen if all(matches(stored.obj) for matches in matching)]


def _prefix(kind: Kind, namespace: str) -> str:
    return f"{kind.root}{namespace}/" if namespace and kind.namespaced else kind.root


def _unconditional(kind: Kind) -> bool:
    """Whether an update need not say which version it was made from."""
    return not kind.custom and kind.plural not in ("leases", "customresourcedefinitions", "apiservices")


def _must_be_given(kind: Kind, name: str) -> ApiError:
    problem = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
    message = f'{kind.resource} "{name}" is invalid: {problem["field"]}: {problem["message"]}'
    return ApiError(422, "Invalid", message, about(kind, name, causes=[problem]))
