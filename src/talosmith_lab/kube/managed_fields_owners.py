"""Owners of fields: who they are, what they have, how that is written into an object, and how conflicts are told."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from talosmith_lab.kube.managed_fields_paths import Path, Paths, iteration_order, read, readable, written
from talosmith_lab.kube.schema import Obj

APPLY, UPDATE = "Apply", "Update"
ANCIENT = "ancient-changes"
MOST_UPDATERS = 10


class Owner(NamedTuple):
    name: str
    operation: str
    version: str  # of an updater; an applier stays the same whatever version it applies with
    subresource: str

    def __str__(self) -> str:
        text = json.dumps(self.name, ensure_ascii=False)
        if self.subresource:
            text += f' with subresource "{self.subresource}"'
        return f"{text} using {self.version}" if self.operation == UPDATE else text


@dataclass(frozen=True)
class Share:
    """What an owner has."""

    fields: Paths
    version: str
    time: str


Shares = dict[Owner, Share]


class FieldConflicts(Exception):
    """Fields that would change though another owns them: pairs of the owner, as messages have it, and the path."""

    def __init__(self, conflicts: Iterable[tuple[Owner, Path]]) -> None:
        self.found = sorted(conflicts, key=lambda one: (_identity(one[0]), iteration_order(one[1])))
        super().__init__(self._message())

    @property
    def pairs(self) -> list[tuple[str, str]]:
        return [(str(owner), readable(path)) for owner, path in self.found]

    @property
    def causes(self) -> list[dict[str, str]]:
        """For the details of the API server's answer."""
        return [
            {"reason": "FieldManagerConflict", "message": f"conflict with {owner}", "field": path}
            for owner, path in self.pairs
        ]

    def _message(self) -> str:
        pairs = self.pairs
        if len(pairs) == 1:
            return f"Apply failed with 1 conflict: conflict with {pairs[0][0]}: {pairs[0][1]}"
        lines: list[str] = []
        for owner in dict.fromkeys(owner for owner, _ in pairs):
            lines += [f"conflicts with {owner}:", *(f"- {path}" for other, path in pairs if other == owner)]
        return f"Apply failed with {len(pairs)} conflicts: " + "\n".join(lines)


def _identity(owner: Owner) -> str:
    """In the order in which the API server names owners."""
    parts = {"manager": owner.name, "operation": owner.operation}
    if owner.operation == UPDATE:
        parts["apiVersion"] = owner.version
    return json.dumps({**parts, "subresource": owner.subresource} if owner.subresource else parts)


def capped(shares: Shares) -> Shares:
    """Of many updaters the oldest are put together, those of a version each, so that objects do not grow for ever."""
    updaters = sorted((one for one in shares if one.operation == UPDATE), key=lambda one: (shares[one].time, one))
    too_many = len(updaters) - MOST_UPDATERS
    first: dict[str, Owner] = {}
    for owner in updaters:
        if too_many <= 0:
            break
        bucket = Owner(ANCIENT, UPDATE, owner.version, "")
        if owner.version not in first:
            first[owner.version] = owner
            continue
        if bucket not in shares:
            shares[bucket] = shares.pop(first[owner.version])
        share = shares.pop(owner)
        shares[bucket] = Share(shares[bucket].fields | share.fields, share.version, share.time)
        too_many -= 1
    return shares


def shares_of(obj: Obj) -> Shares:
    shares: Shares = {}
    for entry in (obj.get("metadata") or {}).get("managedFields") or ():
        if not entry:
            continue
        operation, version = entry.get("operation", UPDATE), entry.get("apiVersion", "")
        owner = Owner(
            entry.get("manager", ""), operation, version if operation == UPDATE else "", entry.get("subresource", "")
        )
        shares[owner] = Share(read(entry.get("fieldsV1") or {}), version, entry.get("time", ""))
    return shares


def with_shares(obj: Obj, shares: Mapping[Owner, Share]) -> Obj:
    def order(one: tuple[Owner, Share]) -> tuple[str, str, str, str, str]:
        owner, share = one
        return owner.operation, share.time, owner.name, share.version, owner.subresource

    entries = []
    for owner, share in sorted(shares.items(), key=order):
        entry = {
            "manager": owner.name,
            "operation": owner.operation,
            "apiVersion": share.version,
            "time": share.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": written(share.fields),
        }
        if owner.subresource:
            entry["subresource"] = owner.subresource
        entries.append(entry)
    metadata = without_managed(obj.get("metadata") or {})
    return {**obj, "metadata": {**metadata, "managedFields": entries} if entries else metadata}


def without_managed(metadata: Obj) -> Obj:
    return {name: value for name, value in metadata.items() if name != "managedFields"}
