"""Which changes of a config a running node takes only with a reboot.

Talos up to 1.13 finds that out when it is given the config; from 1.14 on it takes every change at once and leaves it
to who asks whether a reboot is due. So the table stands here: what is not named in it needs a reboot. All documents
but the main one, and all that the main one says about the cluster, take effect at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from talosmith.desired.config.schema.documents import MAIN, Document
from talosmith.desired.config.schema.notation import ListOf, MapOf, Struct, Type
from talosmith.desired.config.schema.scalars import Scalar
from talosmith.model.versions import Version

_ALWAYS = (0, 0)

# Sections of the main document, by the first line of Talos that takes a change of them at once.
_AT_ONCE: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "": dict.fromkeys(("debug", "cluster"), _ALWAYS),
    "machine": {
        **dict.fromkeys(
            (
                "ca", "acceptedCAs", "certSANs", "controlPlane", "install", "kernel", "kubelet", "logging", "network",
                "nodeLabels", "nodeTaints", "pods", "registries", "seccompProfiles", "sysctls", "sysfs", "time",
            ),
            _ALWAYS,
        ),
        "nodeAnnotations": (1, 8),
    },
    "machine.features": {
        **dict.fromkeys(("kubernetesTalosAPIAccess", "kubePrism", "hostDNS"), _ALWAYS),
        "imageCache": (1, 9),
        "nodeAddressSortAlgorithm": (1, 10),
    },
}  # fmt: skip


def needs_reboot(before: Sequence[Document], after: Sequence[Document], version: Version) -> tuple[str, ...]:
    """The fields, such as `machine.files`, for whose sake a node with this Talos has to reboot."""
    return tuple(_changed(MAIN, _main(before), _main(after), "", version))


def _main(documents: Sequence[Document]) -> Document:
    return next((document for document in documents if "kind" not in document), {})


def _changed(struct: Struct, one: Document, other: Document, path: str, version: Version) -> Iterator[str]:
    at_once = _AT_ONCE[path]
    for key, field in struct.fields.items():
        if version.line >= at_once.get(key, (99, 0)):
            continue
        place = f"{path}.{key}" if path else key
        mine, theirs = one.get(key), other.get(key)
        if place in _AT_ONCE and mine is not None and theirs is not None and isinstance(field.type, Struct):
            yield from _changed(field.type, mine, theirs, place, version)
        elif not _same(field.type, mine, theirs, nullable=field.nullable):
            yield place


def _same(of: Type, one: Any, other: Any, *, nullable: bool) -> bool:
    """As Talos compares: a plain field that is absent is the same as one of zero, but no list is not an empty one."""
    if isinstance(of, Scalar):
        if not nullable:
            one, other = (of.zero if value is None else value for value in (one, other))
        return bool(one == other)
    if isinstance(of, Struct) and not nullable:
        one, other = one or {}, other or {}
    if one is None or other is None:
        return one is other
    if isinstance(of, Struct):
        return all(
            _same(field.type, one.get(key), other.get(key), nullable=field.nullable)
            for key, field in of.fields.items()
        )
    if isinstance(of, ListOf):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(of.item, *pair, nullable=of.nullable) for pair in pairs)
    if isinstance(of, MapOf):
        return one.keys() == other.keys() and all(
            _same(of.value, one[key], other[key], nullable=of.nullable) for key in one
        )
    return bool(one == other)
