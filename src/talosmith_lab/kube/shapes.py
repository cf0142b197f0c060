"""Between clients' words and stored objects: fields checked, defaults filled, versions, patches and their owners.

The rules themselves are elsewhere; here they get the schema of the kind, builtin or custom, and their refusals become
answers.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from talosmith_lab.kube import versions
from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.custom import pruned_and_filled
from talosmith_lab.kube.defaults import fill_defaults
from talosmith_lab.kube.errors import ApiError, bad_request
from talosmith_lab.kube.field_check import check_fields, check_text, type_problem
from talosmith_lab.kube.how import How
from talosmith_lab.kube.json_patch import apply_json_patch
from talosmith_lab.kube.kinds import Kind, Obj, builtin
from talosmith_lab.kube.managed_fields import FieldConflicts, server_side_apply, track, unwritable
from talosmith_lab.kube.merge_patch import merge_patch
from talosmith_lab.kube.normal import normalized
from talosmith_lab.kube.schema import ANY, Schema, schema_of
from talosmith_lab.kube.storage import Stored, encoded
from talosmith_lab.kube.strategic import strategic_merge


def schema(kubernetes: Kubernetes, kind: Kind) -> Schema:
    if kind.custom:
        return kubernetes.schemas.get(f"{kind.api_version} {kind.kind}", ANY)
    return _builtin_schema(kind) or ANY


@cache
def _builtin_schema(kind: Kind) -> Schema | None:
    return schema_of(kind.group, kind.version, kind.kind)


def check(kubernetes: Kubernetes, kind: Kind, obj: Obj, how: How) -> None:
    """Unknown and wrong fields: refused, warned of or passed over, as the client wishes."""
    if how.field_validation == "Ignore":
        return
    _judge(kind, problems(kubernetes, kind, obj), how)


def problems(kubernetes: Kubernetes, kind: Kind, obj: Obj) -> list[str]:
    return check_fields(obj, schema(kubernetes, kind))


def read(kubernetes: Kubernetes, kind: Kind, text: bytes, how: How) -> Obj:
    """An object out of a client's JSON, in which fields may even be stated twice."""
    try:
        obj, found = check_text(text, schema(kubernetes, kind))
    except ValueError as error:
        raise _unreadable(kind, text, error) from None
    if not isinstance(obj, dict):
        raise _unreadable(kind, text, ValueError("json: cannot unmarshal into an object"))
    if how.field_validation != "Ignore":
        _judge(kind, found, how)
    return obj


def _judge(kind: Kind, found: list[str], how: How) -> None:
    if found and how.field_validation == "Strict":
        raise bad_request(_unfit(kind, f"strict decoding error: {', '.join(found)}"))
    how.warnings.extend(found)


def _unfit(kind: Kind, why: str) -> str:
    return f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}'


def _unreadable(kind: Kind, text: bytes, error: ValueError) -> ApiError:
    shown = text.decode(errors="replace")
    if len(shown) > 30:
        shown = f"{shown[:30]} ..."
    problem = "unexpected end of JSON input" if is_cut_off(text) else str(error)
    what = f"couldn't get version/kind; json parse error: {problem} ({shown or '<empty>'})"
    return bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): {what}")


def is_cut_off(text: bytes) -> bool:
    """Whether JSON ends before it is whole, which clients are told in words of its own."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(error.doc.rstrip())
    return False


def decoded(kubernetes: Kubernetes, kind: Kind, obj: Obj, how: How) -> Obj:
    """Without what the kind does not have, and with what it always has."""
    check(kubernetes, kind, obj, how)
    shape = schema(kubernetes, kind)
    if kind.custom:
        return pruned_and_filled(obj, shape)
    wrong = type_problem(obj, shape)
    if wrong:
        raise bad_request(_unfit(kind, wrong))
    fields = obj["metadata"].pop("managedFields", None)
    made: Obj = normalized(fill_defaults(normalized(obj, shape)), shape)
    made.setdefault("metadata", {})
    if fields is not None:
        made["metadata"]["managedFields"] = fields
    return made


def tracked(kubernetes: Kubernetes, kind: Kind, before: Obj | None, obj: Obj, how: How, subresource: str = "") -> Obj:
    """With the owners of fields brought up to date."""
    if not how.manager:
        return obj
    return track(
        before,
        obj,
        manager=how.manager,
        schema=schema(kubernetes, kind),
        now=kubernetes.now(),
        subresource=subresource,
        ignored=unwritable(obj, subresource, kind.has_status),
    )


def applied(
    kubernetes: Kubernetes, kind: Kind, live: Obj | None, obj: Obj, force: bool, how: How, subresource: str = ""
) -> Obj:
    try:
        return server_side_apply(
            live,
            obj,
            manager=how.manager,
            force=force,
            schema=schema(kubernetes, kind),
            now=kubernetes.now(),
            subresource=subresource,
            ignored=unwritable(obj, subresource, kind.has_status),
        )
    except FieldConflicts as found:
        raise ApiError(409, "Conflict", str(found), {"causes": found.causes}) from None


# Patches


def with_operations(obj: Obj, operations: Any) -> Any:
    return apply_json_patch(obj, operations)


def merged(obj: Obj, patch: Any) -> Any:
    if not isinstance(patch, dict):
        problem = "json: cannot unmarshal array into Go value of type map[string]interface {}"
        raise bad_request(f"error decoding patch: {problem}")
    return merge_patch(obj, patch)


def merged_strategically(kubernetes: Kubernetes, kind: Kind, obj: Obj, patch: Any) -> Any:
    if not isinstance(patch, dict):
        problem = "json: cannot unmarshal array into Go value of type map[string]interface {}"
        raise bad_request(f"error decoding patch: {problem}")
    return strategic_merge(obj, patch, schema(kubernetes, kind))


# Versions


def in_version(kind: Kind, stored: Stored) -> Stored:
    if stored.obj["apiVersion"] == kind.api_version:
        return stored
    obj = versions.converted(stored.obj, kind.api_version)
    return Stored(obj, encoded(obj), stored.revision)


def for_storage(kind: Kind, obj: Obj) -> Obj:
    if not kind.stored_as or obj["apiVersion"] == kind.stored_as:
        return obj
    return versions.converted(obj, kind.stored_as)


def why_not(version: str, stated: str, kind: Kind) -> str:
    """Why an object of another kind is not taken."""
    other = next((one for one in builtin() if one.api_version == version and one.kind == stated), None)
    if other is None:
        group, _, short = version.rpartition("/")
        place = f'"{group}/{short}"' if group else f'"{short}"'
        return f'no kind "{stated}" is registered for version {place} in scheme "pkg/api/legacyscheme/scheme.go:30"'
    return f"converting ({_go(other, other.version)}) to ({_go(kind, '')}): unknown conversion"


def _go(kind: Kind, version: str) -> str:
    package = version or (kind.group.partition(".")[0] or "core")
    return f"{package}.{kind.kind}"
