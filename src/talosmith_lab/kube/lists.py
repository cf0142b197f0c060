"""How lists of builtin kinds are merged: by the names of their fields, instead of by a schema of every kind.

Lists that are not named here, and all lists of custom kinds but those of their metadata, are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_NAME, _TYPE = ("name",), ("type",)
_KEYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "addresses": (_TYPE,),
    "conditions": (_TYPE,),
    "containers": (_NAME,),
    "env": (_NAME,),
    "ephemeralContainers": (_NAME,),
    "hostAliases": (("ip",),),
    "imagePullSecrets": (_NAME,),
    "initContainers": (_NAME,),
    "ownerReferences": (("uid",),),
    "ports": (("containerPort", "protocol"), ("port", "protocol")),
    "secrets": (_NAME,),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
    "volumeDevices": (("devicePath",),),
    "volumeMounts": (("mountPath",),),
    "volumes": (_NAME,),
    "webhooks": (_NAME,),
}
_SETS = ("finalizers",)
_OF_ALL_KINDS = ("ownerReferences", "finalizers")
_DEFAULTS = {"protocol": "TCP"}


def merge_keys(name: str, items: Iterable[Any], *, custom: bool = False) -> tuple[str, ...]:
    """The fields that tell the items of this list apart; none if the list is replaced as a whole."""
    found = list(items)
    if (custom and name not in _OF_ALL_KINDS) or not found:
        return ()
    for keys in _KEYS.get(name, ()):
        if all(isinstance(item, dict) and keys[0] in item for item in found):
            return keys
    return ()


def is_set(name: str) -> bool:
    return name in _SETS


def key_of(item: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: item.get(key, _DEFAULTS.get(key)) for key in keys}
