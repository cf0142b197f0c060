"""What the objects of an add-on must be: complete, unique, few enough, and where they belong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from talosmith.errors import Permanent

MOST_OBJECTS = 5_000
_ACCESS = ("Role", "RoleBinding")  # charts place these where the API server or leader election looks for them
_SHARED = ("kube-system", "kube-public")


class InvalidAddon(Permanent):
    """An add-on whose objects cannot be applied as they are."""


def check_objects(name: str, namespace: str, objects: Iterable[Mapping[str, Any]]) -> None:
    """Raises `InvalidAddon` for the first object that must not be applied."""
    items = list(objects)
    if len(items) > MOST_OBJECTS:
        raise InvalidAddon(
            f"{len(items)} objects; an add-on has {MOST_OBJECTS} at most", hint=f"split {name} into several add-ons"
        )
    brought = {_meta(one).get("name") for one in items if one.get("kind") == "Namespace"}
    seen: set[tuple[str, ...]] = set()
    for one in items:
        shown = _shown(one)
        if not one.get("apiVersion") or not one.get("kind") or not _meta(one).get("name"):
            raise InvalidAddon(f"{shown} lacks apiVersion, kind or metadata.name")
        group = str(one["apiVersion"]).rpartition("/")[0]
        space = str(_meta(one).get("namespace") or namespace)
        identity = (group, str(one["kind"]), space, str(_meta(one)["name"]))
        if identity in seen:
            raise InvalidAddon(f"{shown} exists twice", hint="remove one of them")
        seen.add(identity)
        if space != namespace and space not in brought and not (space in _SHARED and one["kind"] in _ACCESS):
            raise InvalidAddon(
                f"{shown} is outside of the add-on's namespace {namespace}",
                hint=f"set `addons.{name}.namespace: {space}`, or let the add-on create the Namespace {space}",
            )


def _meta(one: Mapping[str, Any]) -> Mapping[str, Any]:
    return one.get("metadata") or {}


def _shown(one: Mapping[str, Any]) -> str:
    where = f"{_meta(one)['namespace']}/" if _meta(one).get("namespace") else ""
    return f"{one.get('kind') or 'an object'} {where}{_meta(one).get('name') or '(without a name)'}"
