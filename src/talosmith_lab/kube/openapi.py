"""The API described as OpenAPI v3, as far as `kubectl` looks into it before it writes.

`kubectl apply` and `--dry-run=server` look for the paths of a kind and the parameters of its PATCH. Shapes of kinds
are not described: `kubectl` then merges builtin kinds by its own, and `kubectl explain` has nothing to show.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from talosmith_lab.kube.kinds import Kind, Obj

V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_WRITING = ("dryRun", "fieldManager", "fieldValidation")
_METHODS = {"create": "post", "update": "put", "patch": "patch"}


def index(kinds: Iterable[Kind]) -> Obj:
    """The answer at `/openapi/v3`: where the documents are, each with a hash that changes when it does."""
    places: dict[str, list[str]] = {}
    for kind in kinds:
        places.setdefault(_place(kind), []).append(kind.kind)
    return {
        "paths": {
            place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={_hash(found)}"}
            for place, found in sorted(places.items())
        }
    }


def document(place: str, kinds: Iterable[Kind]) -> Obj | None:
    """The document at `/openapi/v3/<place>`, such as `apis/apps/v1`; None if there is no such."""
    served = [kind for kind in kinds if _place(kind) == place]
    if not served:
        return None
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": {path: found for kind in served for path, found in _paths(kind).items()},
        "components": {"schemas": {}},
    }


def _place(kind: Kind) -> str:
    return f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"


def _hash(names: list[str]) -> str:
    return hashlib.sha256(",".join(names).encode()).hexdigest().upper()


def _paths(kind: Kind) -> Obj:
    namespace = "namespaces/{namespace}/" if kind.namespaced else ""
    many = f"/{_place(kind)}/{namespace}{kind.plural}"
    return {many: _operations(kind, "create"), f"{many}/{{name}}": _operations(kind, "update", "patch")}


def _operations(kind: Kind, *verbs: str) -> Obj:
    return {_METHODS[verb]: _operation(kind, verb) for verb in verbs if verb in kind.verbs}


def _operation(kind: Kind, verb: str) -> Obj:
    operation: Obj = {
        "parameters": [{"name": name, "in": "query", "schema": {"type": "string"}} for name in _WRITING],
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": _METHODS[verb],
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
    }
    if verb == "patch":
        types = _PATCHES if kind.custom else (*_PATCHES, _STRATEGIC)
        operation["requestBody"] = {"content": {one: {"schema": {"type": "object"}} for one in types}}
    return operation


def no_v2() -> bytes:
    """The older description, in protocol buffers and without anything in it: a version, a title.

    Clients look into it for kinds that are not in the newer one, and have to learn that there are none.
    """
    return b"\x0a\x032.0\x12\x0c\x0a\x0aKubernetes"
