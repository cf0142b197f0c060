"""The API described as OpenAPI v3, made from the shapes: what `kubectl explain`, `apply`, `diff` and validation read.

There is one document for each group and version. It has the paths that clients look for, with the parameters that
tell them what the server can do, and the shapes of all kinds, without prose for those that are builtin.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from talosmith_lab.kube.kinds import Kind
from talosmith_lab.kube.schema import REFERENCE, Obj, Schema, definitions, fingerprint, schema_of

VERSION = "1.36"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_OURS = ("zero", "always")  # our own notes in the shapes
_JSON = "application/json"
_PATCHES = ("application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json")
_STRATEGIC = "application/strategic-merge-patch+json"
_LISTING = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "fieldSelector": "string",
    "labelSelector": "string",
    "limit": "integer",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
V2_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_WRITING = {"dryRun": "string", "fieldManager": "string", "fieldValidation": "string"}
_DELETING = {
    "dryRun": "string",
    "gracePeriodSeconds": "integer",
    "orphanDependents": "boolean",
    "propagationPolicy": "string",
}

Schemas = Mapping[str, Schema]  # of custom kinds, by `<apiVersion> <kind>`


def index(kinds: Iterable[Kind], schemas: Schemas) -> Obj:
    """The answer at `/openapi/v3`: where the documents are, each with a hash that changes when it does."""
    places: dict[str, list[Kind]] = {}
    for kind in kinds:
        places.setdefault(_place(kind), []).append(kind)
    return {
        "paths": {
            place: {"serverRelativeURL": f"/openapi/v3/{place}?hash={_hash(found, schemas)}"}
            for place, found in sorted(places.items())
        }
    }


def document(place: str, kinds: Iterable[Kind], schemas: Schemas) -> Obj | None:
    """The document at `/openapi/v3/<place>`, such as `apis/apps/v1`; nothing if there is no such."""
    served = [kind for kind in kinds if _place(kind) == place]
    if not served:
        return None
    paths: Obj = {}
    components: Obj = {}
    for kind in served:
        name = _component(kind, schemas, components)
        listed = _list_component(kind, name, components)
        paths.update(_paths(kind, name, listed))
    for name in ("DeleteOptions", "Patch", "Status", "APIResourceList"):
        _copy(_META + name, components)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": VERSION},
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}},
        },
    }


def _place(kind: Kind) -> str:
    return f"apis/{kind.api_version}" if kind.group else f"api/{kind.version}"


def _hash(kinds: list[Kind], schemas: Schemas) -> str:
    described = [[_place(kinds[0]), fingerprint()]]
    for kind in kinds:
        schema = schemas.get(f"{kind.api_version} {kind.kind}")
        described.append([kind.kind, json.dumps(schema.raw, sort_keys=True) if schema is not None else ""])
    return hashlib.sha512(json.dumps(described).encode()).hexdigest().upper()


def _component(kind: Kind, schemas: Schemas, components: Obj) -> str:
    """The name of a kind's shape, which is then among the components with all that it needs."""
    custom = schemas.get(f"{kind.api_version} {kind.kind}")
    if custom is None:
        builtin = schema_of(kind.group, kind.version, kind.kind)
        name = builtin.name if builtin is not None else f"{_META}Status"
        _copy(name, components)
        return name
    reversed_group = ".".join(reversed(kind.group.split(".")))
    name = f"{reversed_group}.{kind.version}.{kind.kind}"
    components[name] = {**_written(custom.raw), "x-kubernetes-group-version-kind": [_gvk(kind)]}
    for reference in _references(custom.raw):
        _copy(reference, components)
    return name


def _list_component(kind: Kind, name: str, components: Obj) -> str:
    listed = f"{name}List"
    if listed in definitions():
        _copy(listed, components)
    elif "list" in kind.verbs:
        components[listed] = {
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "items": {"type": "array", "items": {"$ref": REFERENCE + name}},
                "kind": {"type": "string"},
                "metadata": {"allOf": [{"$ref": f"{REFERENCE}{_META}ListMeta"}], "default": {}},
            },
            "x-kubernetes-group-version-kind": [{**_gvk(kind), "kind": kind.listed_as}],
        }
        _copy(f"{_META}ListMeta", components)
    return listed


def _copy(name: str, components: Obj) -> None:
    if name in components or name not in definitions():
        return
    raw = definitions()[name]
    components[name] = _written(raw)
    for reference in _references(raw):
        _copy(reference, components)


def _references(raw: Any) -> Iterator[str]:
    if isinstance(raw, Mapping):
        if isinstance(raw.get("$ref"), str):
            yield raw["$ref"].removeprefix(REFERENCE)
        for value in raw.values():
            yield from _references(value)
    elif isinstance(raw, list):
        for item in raw:
            yield from _references(item)


def _written(raw: Mapping[str, Any]) -> Obj:
    """As OpenAPI has it: a reference with something beside it stands in an `allOf`."""
    made: Obj = {}
    for key, value in raw.items():
        if key == "properties":
            made[key] = {name: _written(one) for name, one in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, Mapping):
            made[key] = _written(value)
        elif key not in _OURS:
            made[key] = value
    if "$ref" in made and len(made) > 1:
        made["allOf"] = [{"$ref": made.pop("$ref")}]
    return made


def _paths(kind: Kind, name: str, listed: str) -> Obj:
    start = f"/apis/{kind.api_version}" if kind.group else f"/api/{kind.version}"
    inside = f"{start}/namespaces/{{namespace}}/{kind.plural}" if kind.namespaced else f"{start}/{kind.plural}"
    found = {
        inside: _operations(kind, ("list", "create", "deletecollection"), name, listed),
        f"{inside}/{{name}}": _operations(kind, ("get", "update", "patch", "delete"), name, listed),
    }
    if kind.namespaced and "list" in kind.verbs:
        found[f"{start}/{kind.plural}"] = _operations(kind, ("list",), name, listed)
    for subresource in kind.subresources.values():
        if subresource.kind == kind.kind:
            verbs = tuple(verb for verb in ("get", "update", "patch") if verb in subresource.verbs)
            place = f"{inside}/{{name}}/{subresource.name}"
            found[place] = _operations(kind, verbs, name, listed, subresource.verbs)
    return {path: operations for path, operations in found.items() if operations}


_METHODS = {
    "list": ("get", "list"),
    "get": ("get", "get"),
    "create": ("post", "post"),
    "update": ("put", "put"),
    "patch": ("patch", "patch"),
    "delete": ("delete", "delete"),
    "deletecollection": ("delete", "deletecollection"),
}


def _operations(
    kind: Kind, verbs: tuple[str, ...], name: str, listed: str, served: tuple[str, ...] | None = None
) -> Obj:
    found: Obj = {}
    for verb in verbs:
        if verb in (kind.verbs if served is None else served):
            method, action = _METHODS[verb]
            found[method] = _operation(kind, verb, action, listed if verb == "list" else name)
    if found:
        found["parameters"] = [_parameter("pretty", "string")]
    return found


def _operation(kind: Kind, verb: str, action: str, answer: str) -> Obj:
    parameters = {
        "list": _LISTING,
        "create": _WRITING,
        "update": _WRITING,
        "patch": {**_WRITING, "force": "boolean"},
        "delete": _DELETING,
        "deletecollection": {**_LISTING, **_DELETING},
    }.get(verb, {})
    returned = f"{_META}Status" if verb.startswith("delete") else answer
    operation: Obj = {
        "tags": [f"{kind.group.partition('.')[0] or 'core'}_{kind.version}"],
        "parameters": [_parameter(parameter, type_) for parameter, type_ in parameters.items()],
        "responses": {
            "200": {"description": "OK", "content": _content((_JSON,), returned)},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(kind),
    }
    if verb in ("create", "update"):
        operation["requestBody"] = {"content": _content(("*/*",), answer), "required": True}
    elif verb == "patch":
        types = _PATCHES if kind.custom else (*_PATCHES, _STRATEGIC)
        operation["requestBody"] = {"content": _content(types, f"{_META}Patch"), "required": True}
    return operation


def _content(types: Iterable[str], name: str) -> Obj:
    return {one: {"schema": {"$ref": REFERENCE + name}} for one in types}


def _parameter(name: str, type_: str) -> Obj:
    return {"name": name, "in": "query", "schema": {"type": type_, "uniqueItems": True}}


def _gvk(kind: Kind) -> Obj:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def no_v2() -> bytes:
    """The older description, in protocol buffers and without anything in it: a version, a title.

    Clients look into it for kinds that are not in the newer one, and have to learn that there are none.
    """
    return b"\x0a\x032.0\x12\x0c\x0a\x0aKubernetes"
