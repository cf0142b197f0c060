"""Changes given as patches: which kind of patch it is, what comes of it, and server-side apply."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import yaml

from talosmith_lab.kube import shapes, writing
from talosmith_lab.kube.errors import ApiError, bad_request, conflict, invalid, invalid_value, not_found
from talosmith_lab.kube.how import How
from talosmith_lab.kube.json_patch import apply_json_patch
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.merge_patch import merge_patch
from talosmith_lab.kube.strategic import strategic_merge

if TYPE_CHECKING:
    from talosmith_lab.kube.api import Api

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"


def patch(
    api: Api,
    kind: Kind,
    name: str,
    namespace: str,
    content_type: str,
    body: bytes | Obj | list[Any],
    subresource: str,
    force: bool,
    how: How,
) -> tuple[Obj, bool]:
    """The object, and whether the patch made it."""
    content = content_of(content_type, body)
    if content_type == APPLY:
        return _apply(api, kind, name, namespace, content, subresource, force, how)
    if kind.custom and content_type == STRATEGIC:
        known = ", ".join((JSON, MERGE, APPLY))
        words = f"the body of the request was in an unknown format - accepted media types include: {known}"
        raise ApiError(415, "UnsupportedMediaType", words)
    live = api.stored(kind, name, namespace)
    before = writing.copied(live.obj)
    after = patched(content_type, before, content)
    after.setdefault("metadata", {})
    if after["metadata"].get("name", name) != name:
        raise _other_name(after["metadata"]["name"], name)
    uid = after["metadata"].setdefault("uid", live.obj["metadata"]["uid"])
    if uid != live.obj["metadata"]["uid"]:
        raise invalid(kind, name, [invalid_value("metadata.uid", uid, "field is immutable")])
    return api.replace(kind, live, after, how, subresource), False


def patched(content_type: str, before: Obj, content: Any) -> Obj:
    if content_type == JSON:
        after = apply_json_patch(before, content)
    elif content_type not in (MERGE, STRATEGIC):
        raise unsupported()
    elif not isinstance(content, dict):
        raise bad_request("error decoding patch: json: cannot unmarshal array into an object")
    else:
        after = merge_patch(before, content) if content_type == MERGE else strategic_merge(before, content)
    if not isinstance(after, dict):
        raise bad_request("the patch does not leave an object")
    return after


def unsupported() -> ApiError:
    return ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def content_of(content_type: str, body: bytes | Obj | list[Any]) -> Any:
    if not isinstance(body, bytes):
        return body
    try:
        if content_type == APPLY:
            return _from_yaml(body)
        return json.loads(body)
    except yaml.YAMLError as error:
        problem = str(getattr(error, "problem", None) or error)
        raise bad_request(f"error encoding patch: yaml: {problem}") from None
    except ValueError:
        raise bad_request("invalid JSON patch") from None


def _from_yaml(body: bytes) -> Any:
    """Most clients send JSON, which is YAML as well, and is read a hundred times as fast."""
    if body.startswith(b"{"):
        with suppress(ValueError):
            return json.loads(body)
    return yaml.load(body, Loader=yaml.CSafeLoader)


def _apply(
    api: Api, kind: Kind, name: str, namespace: str, applied: Any, subresource: str, force: bool, how: How
) -> tuple[Obj, bool]:
    if not isinstance(applied, dict):
        raise bad_request("the patch is not an object")
    _check_applied(kind, applied, name, namespace)
    live = api.kubernetes.storage.get(kind.key(namespace, name))
    api.kubernetes.check(api.via)
    if live is None:
        if subresource:
            raise not_found(kind, name)
        if applied["metadata"].get("uid"):
            given = applied["metadata"]["uid"]
            why = f"uid mismatch: the provided object specified uid {given}, and no existing object was found"
            raise conflict(kind, name, why)
        made = shapes.applied(api.kubernetes, kind, None, applied, force, how)
        fields = made["metadata"].get("managedFields") or []
        obj = writing.for_creation(api.kubernetes, kind, made, namespace, how, fields)
        return api.insert(kind, obj, how), True
    seen = shapes.in_version(kind, live)
    after = shapes.applied(api.kubernetes, kind, writing.copied(seen.obj), applied, force, how, subresource)
    wanted = applied["metadata"].get("resourceVersion")
    after["metadata"]["resourceVersion"] = wanted or str(live.revision)
    return api.replace(kind, seen, after, how, subresource, track=False), False


def _check_applied(kind: Kind, applied: Obj, name: str, namespace: str) -> None:
    if not applied.get("apiVersion") or not applied.get("kind"):
        group, slash, version = str(applied.get("apiVersion") or "").rpartition("/")
        raise bad_request(f"invalid object type: {group}{slash or '/'}{version}, Kind={applied.get('kind') or ''}")
    writing.check_type(kind, applied)
    metadata = applied.setdefault("metadata", {})
    if metadata.get("managedFields"):
        raise bad_request("metadata.managedFields must be nil")
    if metadata.setdefault("name", name) != name:
        raise _other_name(metadata["name"], name)
    if kind.namespaced and metadata.get("namespace", namespace) != namespace:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def _other_name(stated: str, name: str) -> ApiError:
    return bad_request(f"the name of the object ({stated}) does not match the name on the URL ({name})")
