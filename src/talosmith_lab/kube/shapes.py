"""Between what clients send and what etcd stores: JSON read, nulls dropped, defaults filled, field owners noted."""

from __future__ import annotations

import json
from typing import Any

from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.defaults import fill_defaults
from talosmith_lab.kube.errors import ApiError, bad_request
from talosmith_lab.kube.how import How
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.managed_fields import FieldConflicts, server_side_apply, track
from talosmith_lab.kube.storage import Stored, encoded


def read(kind: Kind, text: bytes) -> Obj:
    """An object out of a client's JSON."""
    try:
        obj = json.loads(text)
    except ValueError as error:
        raise _unreadable(kind, text, str(error)) from None
    if not isinstance(obj, dict):
        raise _unreadable(kind, text, "json: cannot unmarshal into an object")
    return obj


def _unreadable(kind: Kind, text: bytes, problem: str) -> ApiError:
    shown = text.decode(errors="replace")
    shown = f"{shown[:30]} ..." if len(shown) > 30 else shown or "<empty>"
    what = f"couldn't get version/kind; json parse error: {problem} ({shown})"
    return bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): {what}")


def decoded(kind: Kind, obj: Obj) -> Obj:
    """With what the kind always has. Custom kinds keep their nulls, since their definition may allow them."""
    if kind.custom:
        return obj
    made: Obj = _without_nulls(obj)
    metadata = made.get("metadata") or {}
    made["metadata"] = {name: value for name, value in metadata.items() if value not in ({}, [])}
    fill_defaults(kind, made)
    return made


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def tracked(kubernetes: Kubernetes, kind: Kind, before: Obj | None, obj: Obj, how: How, subresource: str = "") -> Obj:
    """With the owners of fields brought up to date."""
    if not how.manager:
        return obj
    now = kubernetes.now()
    return track(before, obj, manager=how.manager, now=now, part=subresource, custom=kind.custom)


def applied(
    kubernetes: Kubernetes, kind: Kind, live: Obj | None, obj: Obj, force: bool, how: How, subresource: str = ""
) -> Obj:
    try:
        return server_side_apply(
            live,
            obj,
            manager=how.manager,
            force=force,
            now=kubernetes.now(),
            part=subresource,
            custom=kind.custom,
        )
    except FieldConflicts as found:
        raise ApiError(409, "Conflict", str(found), {"causes": found.causes}) from None


# Versions: those of a custom kind differ only in their name.


def in_version(kind: Kind, stored: Stored) -> Stored:
    if stored.obj["apiVersion"] == kind.api_version:
        return stored
    obj = {**stored.obj, "apiVersion": kind.api_version}
    return Stored(obj, encoded(obj), stored.revision)


def for_storage(kind: Kind, obj: Obj) -> Obj:
    same = not kind.stored_as or obj["apiVersion"] == kind.stored_as
    return obj if same else {**obj, "apiVersion": kind.stored_as}
