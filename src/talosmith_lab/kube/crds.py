"""Kinds that definitions add: accepted, served, and deleted with all their objects."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import TYPE_CHECKING

from talosmith_lab.kube.cluster import Kubernetes
from talosmith_lab.kube.kinds import Kind, Obj, Subkind, find

if TYPE_CHECKING:
    from talosmith_lab.kube.api import Api

DEFINITION = find("apiextensions.k8s.io/v1", "CustomResourceDefinition")
FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_PART_VERBS = ("get", "patch", "update")


def definitions(kubernetes: Kubernetes) -> Iterator[Obj]:
    for _, stored in kubernetes.storage.under(DEFINITION.root):
        yield stored.obj


def kinds_of(definition: Obj) -> list[Kind]:
    """In the order of the versions' worth."""
    spec = definition["spec"]
    served = [version for version in spec["versions"] if version.get("served")]
    served.sort(key=lambda version: _worth(version["name"]), reverse=True)
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    names = (definition.get("status") or {}).get("acceptedNames") or spec["names"]
    return [
        Kind(
            group=spec["group"],
            version=version["name"],
            kind=names["kind"],
            plural=names["plural"],
            singular=names.get("singular") or names["kind"].lower(),
            short_names=tuple(names.get("shortNames") or ()),
            namespaced=spec["scope"] == "Namespaced",
            categories=tuple(names.get("categories") or ()),
            subresources=MappingProxyType(_parts(spec["group"], version, names["kind"])),
            verbs=_VERBS,
            stored_as=f"{spec['group']}/{stored}",
            custom=True,
            list_kind=names.get("listKind") or "",
        )
        for version in served
    ]


def _parts(group: str, version: Obj, kind: str) -> dict[str, Subkind]:
    parts = version.get("subresources") or {}
    found = {}
    if "status" in parts:
        found["status"] = Subkind("status", group, version["name"], kind, _PART_VERBS)
    if "scale" in parts:
        found["scale"] = Subkind("scale", "autoscaling", "v1", "Scale", _PART_VERBS)
    return found


def _worth(version: str) -> tuple[int, int, int]:
    """v2 before v1, v1 before v1beta2, that before v1alpha1, and anything else last."""
    digits, letters, rest = "", "", ""
    if version.startswith("v"):
        for letter in version[1:]:
            if letter.isdigit() and not letters:
                digits += letter
            elif letter.isdigit():
                rest += letter
            else:
                letters += letter
    stage = {"": 3, "beta": 2, "alpha": 1}.get(letters, 0)
    return (stage, int(digits or 0), int(rest or 0)) if digits else (0, 0, 0)


def is_established(definition: Obj) -> bool:
    return _condition(definition, "Established") == "True"


def _condition(definition: Obj, kind: str) -> str:
    conditions = (definition.get("status") or {}).get("conditions") or ()
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "")


def serve(kubernetes: Kubernetes, definition: Obj) -> None:
    name = definition["metadata"]["name"]
    kinds = kinds_of(definition) if is_established(definition) else []
    for kind in kinds:
        kubernetes.storage.begin(kind.root)
    kubernetes.kinds.serve(name, kinds)


def definition_of(kubernetes: Kubernetes, kind: Kind) -> Obj | None:
    """Which definition a kind comes from."""
    stored = kubernetes.storage.get(f"{DEFINITION.root}{kind.plural}.{kind.group}") if kind.custom else None
    return stored.obj if stored is not None else None


def after_write(api: Api, kind: Kind, obj: Obj) -> None:
    """What follows from a definition that came or changed."""
    if kind != DEFINITION:
        return
    metadata = obj["metadata"]
    if metadata.get("deletionTimestamp"):
        _take_away(api, obj)
    elif not is_established(obj) or _names_changed(obj):
        _accept(api, obj)
    else:
        serve(api.kubernetes, obj)


def after_removal(api: Api, kind: Kind, obj: Obj) -> None:
    if kind == DEFINITION:
        api.kubernetes.kinds.serve(obj["metadata"]["name"], ())
    elif kind.custom:
        definition = definition_of(api.kubernetes, kind)
        if definition is not None and definition["metadata"].get("deletionTimestamp"):
            _finish(api, definition)


def _names_changed(obj: Obj) -> bool:
    return bool(obj["spec"]["names"] != (obj.get("status") or {}).get("acceptedNames"))


def _accept(api: Api, definition: Obj) -> None:
    """Write that the names are free, or that another kind has them."""
    from talosmith_lab.kube.writing import copied

    obj = copied(definition)
    names, now = obj["spec"]["names"], api.kubernetes.now()
    taken = _conflict(api.kubernetes, obj)
    status = obj.setdefault("status", {})
    if taken:
        conditions = [
            _state("NamesAccepted", "False", taken[0], taken[1], now),
            _state("Established", "False", "NotAccepted", "not all names are accepted", now),
        ]
    else:
        status["acceptedNames"] = names
        conditions = [
            _state("NamesAccepted", "True", "NoConflicts", "no conflicts found", now),
            _state("Established", "True", "InitialNamesAccepted", "the initial names have been accepted", now),
        ]
    if status.get("conditions") == conditions:
        return
    status["conditions"] = conditions
    status.setdefault("storedVersions", [one["name"] for one in obj["spec"]["versions"] if one.get("storage")])
    api.part_changed(DEFINITION, definition, obj, "status")


def _state(kind: str, status: str, reason: str, message: str, now: str) -> Obj:
    return {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}


def _conflict(kubernetes: Kubernetes, definition: Obj) -> tuple[str, str] | None:
    names, group, name = definition["spec"]["names"], definition["spec"]["group"], definition["metadata"]["name"]
    others = [kind for kind in kubernetes.kinds if kind.group == group]
    mine = {(kind.kind, kind.plural) for kind in kubernetes.kinds.of_definition(name)}
    for other in others:
        if (other.kind, other.plural) in mine:
            continue
        if other.kind == names["kind"]:
            return "KindConflict", f'"{names["kind"]}" is already in use'
        if names.get("listKind") == other.listed_as:
            return "ListKindConflict", f'"{names["listKind"]}" is already in use'
        used = {other.plural, other.singular, *other.short_names}
        for what, one in (("Plural", names["plural"]), ("Singular", names.get("singular", ""))):
            if one in used:
                return f"{what}Conflict", f'"{one}" is already in use'
    return None


def _take_away(api: Api, definition: Obj) -> None:
    """Delete all objects of the kind, then the definition."""
    from talosmith_lab.kube.how import SYSTEM

    kinds = kinds_of(definition)
    for kind in kinds[:1]:
        api.delete_collection(kind, how=SYSTEM)
    found = api.kubernetes.storage.get(DEFINITION.key("", definition["metadata"]["name"]))
    if found is not None:
        _finish(api, found.obj)


def _finish(api: Api, definition: Obj) -> None:
    from talosmith_lab.kube.writing import copied

    kinds = kinds_of(definition)
    if kinds and api.kubernetes.storage.count(kinds[0].root):
        return
    name = definition["metadata"]["name"]
    left = [one for one in definition["metadata"].get("finalizers") or () if one != FINALIZER]
    api.kubernetes.kinds.serve(name, ())
    if not left:
        api.remove(DEFINITION, name)
    elif left != definition["metadata"].get("finalizers"):
        obj = copied(definition)
        obj["metadata"]["finalizers"] = left
        api.put(DEFINITION, DEFINITION.key("", name), obj)
