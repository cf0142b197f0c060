"""What clients put into the query and the body of a request beside the object itself, and what is wrong with it."""

from __future__ import annotations

import json
from typing import Any

from talosmith_lab.kube import openapi
from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.discovery import groups_of
from talosmith_lab.kube.errors import ApiError, bad_request, cause
from talosmith_lab.kube.kinds import Kind, Kinds, Obj
from talosmith_lab.kube.patching import APPLY
from talosmith_lab.server.kube.http import Request

_VALIDATIONS = ("", "Ignore", "Warn", "Strict")
_LONGEST_MANAGER = 128
_OTHER_PATHS = ("/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version")


def number(text: str) -> int:
    if not text:
        return 0
    try:
        return int(text)
    except ValueError:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def check_writing(query: dict[str, str], verb: str) -> None:
    kind = f"{verb.capitalize()}Options"
    dry = query.get("dryRun")
    if dry not in (None, "", "All"):
        words = f'Unsupported value: ["{dry}"]: supported values: "All"'
        raise _option(kind, "dryRun", "FieldValueNotSupported", words)
    wanted = query.get("fieldValidation", "")
    if wanted not in _VALIDATIONS:
        words = f'Unsupported value: "{wanted}": supported values: "", "Ignore", "Strict", "Warn"'
        raise _option(kind, "fieldValidation", "FieldValueNotSupported", words)
    if len(query.get("fieldManager", "").encode()) > _LONGEST_MANAGER:
        words = f"Too long: may not be more than {_LONGEST_MANAGER} bytes"
        raise _option(kind, "fieldManager", "FieldValueTooLong", words)


def check_reading(query: dict[str, str]) -> None:
    """Versions that lists and watches are asked for."""
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    if query.get("sendInitialEvents"):
        if match != "NotOlderThan":
            words = "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            raise _option("ListOptions", "resourceVersionMatch", "FieldValueForbidden", words)
    elif match and not version:
        words = "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided"
        raise _option("ListOptions", "resourceVersionMatch", "FieldValueForbidden", words)
    if query.get("continue") and version:
        raise bad_request("specifying resource version is not allowed when using continue")


def watch_start(query: dict[str, str]) -> str:
    version = query.get("resourceVersion", "")
    if version and not version.isdecimal():
        why = f'Invalid value: "{version}": strconv.ParseUint: parsing "{version}": invalid syntax'
        raise ApiError(500, "", f"resourceVersion: {why}")
    return version


def check_patch(request: Request, content_type: str) -> bool:
    """Whether to force; raises where that, or the manager's name, does not fit the kind of patch."""
    force = request.query.get("force")
    if content_type == APPLY:
        if not request.query.get("fieldManager"):
            words = "Required value: is required for apply patch"
            raise _option("PatchOptions", "fieldManager", "FieldValueRequired", words)
    elif force is not None:
        words = "Forbidden: may not be specified for non-apply patch"
        raise _option("PatchOptions", "force", "FieldValueForbidden", words)
    return force in ("1", "true")


def _option(kind: str, field: str, reason: str, words: str) -> ApiError:
    details = {"group": "meta.k8s.io", "kind": kind, "causes": [cause(reason, words, field)]}
    return ApiError(422, "Invalid", f'{kind}.meta.k8s.io "" is invalid: {field}: {words}', details)


def check_name(obj: Obj, name: str) -> None:
    stated = (obj.get("metadata") or {}).get("name")
    if stated and stated != name:
        raise bad_request(f"the name of the object ({stated}) does not match the name on the URL ({name})")
    if not stated:
        raise bad_request("name must be provided") if obj.get("metadata") is None else _no_name(name)


def _no_name(name: str) -> ApiError:
    return bad_request(f"the name of the object () does not match the name on the URL ({name})")


def check_kind_given(kind: Kind, obj: Obj, text: bytes) -> None:
    for field in ("kind", "apiVersion"):
        if not obj.get(field):
            shown = text.decode(errors="replace").strip()
            start = f"{shown[:27]} ..." if len(shown) > 30 else shown
            what = f"Object '{field[0].upper()}{field[1:]}' is missing in '{shown}' ({start})"
            raise bad_request(f"the object provided is unrecognized (must be of type {kind.kind}): {what}")


def delete_options(request: Request, body: bytes) -> Obj:
    """Out of the body, and out of the query where there is none."""
    options: Any = {}
    if body.strip():
        try:
            options = json.loads(body)
        except ValueError as problem:
            raise bad_request(f"couldn't get version/kind; json parse error: {problem}") from None
        if not isinstance(options, dict):
            raise bad_request("the body is not an object")
    query = request.query
    for name in ("propagationPolicy",):
        if query.get(name):
            options.setdefault(name, query[name])
    if query.get("gracePeriodSeconds"):
        options.setdefault("gracePeriodSeconds", number(query["gracePeriodSeconds"]))
    if query.get("dryRun"):
        options.setdefault("dryRun", [query["dryRun"]])
    policy = options.get("propagationPolicy")
    if policy not in (None, "Orphan", "Background", "Foreground"):
        words = f'Unsupported value: "{policy}": supported values: "Foreground", "Background", "Orphan", "nil"'
        raise _option("DeleteOptions", "propagationPolicy", "FieldValueNotSupported", words)
    if policy is not None and options.get("orphanDependents") is not None:
        words = f'Invalid value: "{policy}": orphanDependents and deletionPropagation cannot be both set'
        raise _option("DeleteOptions", "propagationPolicy", "FieldValueInvalid", words)
    return options  # type: ignore[no-any-return]


def paths(kinds: Kinds) -> list[str]:
    found = ["/api", "/api/v1", "/apis"]
    for group, versions in groups_of(kinds).items():
        if group:
            found += [f"/apis/{group}", *(f"/apis/{group}/{version}" for version in versions)]
    return sorted([*found, *_OTHER_PATHS])


def openapi_document(kubernetes: Kubernetes, path: str) -> Obj | None:
    if path == "/openapi/v3":
        return openapi.index(kubernetes.kinds)
    return openapi.document(path.removeprefix("/openapi/v3/"), kubernetes.kinds)
