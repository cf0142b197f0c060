"""What we have applied under a name, so that what is no longer wanted can be found and removed.

The list lives in the cluster, in a ConfigMap next to nothing secret: kinds and names. Being on it is not enough to be
removed: the object must still carry our label, and we must still be one of its owners.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from talosmith.errors import UsageError
from talosmith.kube import errors
from talosmith.kube.client import FIELD_MANAGER, HELM_MANAGER, KubeClient
from talosmith.kube.objects import Object, Ref, labels, metadata, notes

SET_LABEL = "talosmith.dev/set"
KEEP_ANNOTATION = "talosmith.dev/prune"  # `disabled` keeps the object
_NAMESPACE = "kube-system"
_PREFIX = "talosmith-set-"
_OBJECTS, _NOTE = "objects", "note"  # keys of the ConfigMap
_FIELDS = ("api_version", "kind", "name", "namespace")
_SET_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")
# Removing one of these removes what others have put into it.
HOLDS_OTHERS = ("Namespace", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim")


def check_name(name: str) -> None:
    if not _SET_NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a name for a set of manifests", hint="Small letters, digits and dashes.")


def marked(item: Object, name: str) -> dict[str, Any]:
    """The object with our label."""
    meta = dict(metadata(item))
    meta["labels"] = {**(meta.get("labels") or {}), SET_LABEL: name}
    return {**item, "metadata": meta}


def unmarked(item: Object) -> dict[str, Any]:
    """The object without our label."""
    own = {key: value for key, value in labels(item).items() if key != SET_LABEL}
    meta = {key: value for key, value in metadata(item).items() if key != "labels"}
    return {**item, "metadata": {**meta, **({"labels": own} if own else {})}}


@dataclass(frozen=True, slots=True)
class ObjectSet:
    """What was applied under a name: each object with the digest of what was applied; empty: not known to be applied.

    A digest has a second part, after a dot: that of the fields that were ours afterwards. `note` is the caller's,
    such as the version of a chart.
    """

    name: str
    digests: Mapping[Ref, str] = field(default_factory=dict)
    note: str = ""


async def recorded(client: KubeClient) -> dict[str, ObjectSet]:
    """Every set of the cluster, by its name."""
    listed = await client.list("v1", "ConfigMap", _NAMESPACE, labels=SET_LABEL)
    found = [item for item in listed.items if Ref.of(item).name.startswith(_PREFIX)]
    return {one.name: one for one in (_read(client, item) for item in found)}


async def find_set(client: KubeClient, name: str) -> ObjectSet:
    """The set of this name; an empty one where none was applied."""
    found = await client.find(_ref(name))
    return ObjectSet(name) if found is None else _read(client, found)


async def record(client: KubeClient, objects: ObjectSet) -> None:
    """Each object once, by the version of its API that was used last."""
    unique = {ref.identity: (ref, digest) for ref, digest in objects.digests.items()}
    listed = [
        {
            "api_version": ref.api_version,
            "kind": ref.kind,
            "name": ref.name,
            "namespace": ref.namespace,
            **({"digest": digest} if digest else {}),
        }
        for ref, digest in sorted(unique.values())
    ]
    ref = _ref(objects.name)
    await client.apply(
        {
            "apiVersion": ref.api_version,
            "kind": ref.kind,
            "metadata": {"name": ref.name, "namespace": ref.namespace, "labels": {SET_LABEL: objects.name}},
            "data": {_OBJECTS: json.dumps(listed, separators=(",", ":")), _NOTE: objects.note},
        },
        force=True,
    )


async def forget(client: KubeClient, name: str) -> None:
    """The set has no objects any more."""
    await client.delete(_ref(name))


def _read(client: KubeClient, item: Object) -> ObjectSet:
    data = item.get("data") or {}
    try:
        entries = json.loads(data.get(_OBJECTS, "[]"))
        digests = {Ref(**{key: one[key] for key in _FIELDS}): str(one.get("digest", "")) for one in entries}
    except (ValueError, TypeError, KeyError, AttributeError):
        raise errors.Invalid(
            client.server,
            "the list of what was applied cannot be read",
            about=str(Ref.of(item)),
            hint="It was changed by hand. Delete it: nothing will be pruned until it is written again.",
        ) from None
    return ObjectSet(Ref.of(item).name.removeprefix(_PREFIX), digests, str(data.get(_NOTE, "")))


def applied_by(item: Object) -> dict[str, Mapping[str, Any]]:
    """The managers that have applied a live object, and the fields of each as the server tracks them."""
    return {
        str(one.get("manager")): one.get("fieldsV1") or {}
        for one in metadata(item).get("managedFields") or ()
        if one.get("operation") == "Apply" and not one.get("subresource")
    }


def why_not_ours(item: Object, name: str) -> str:
    """Why an object is none of this set any more; empty if it is."""
    if labels(item).get(SET_LABEL) != name:
        return "it is no longer marked as ours"
    if not applied_by(item).keys() & {FIELD_MANAGER, HELM_MANAGER}:
        return "another manager has taken it over"
    return ""


def why_kept(item: Object, delete: Collection[str] = ()) -> str:
    """Why an object of ours is not to be removed though it is no longer wanted; empty if it may be.

    `delete` are kinds that hold what others have put there, and that are to be removed all the same.
    """
    annotations = notes(item)
    if annotations.get(KEEP_ANNOTATION) == "disabled" or annotations.get("helm.sh/resource-policy") == "keep":
        return "it says that it is to be kept"
    if item.get("kind") in HOLDS_OTHERS and item.get("kind") not in delete:
        return "it may hold what others have put there; delete it by hand if it does not"
    return ""


def _ref(name: str) -> Ref:
    return Ref("v1", "ConfigMap", f"{_PREFIX}{name}", _NAMESPACE)
