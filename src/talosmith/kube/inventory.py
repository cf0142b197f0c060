"""What we have applied under a name, so that what is no longer wanted can be found and removed.

The list lives in the cluster, in a ConfigMap next to nothing secret: kinds and names. Being on it is not enough to be
removed: the object must still carry our label, and we must still be one of its owners.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from talosmith.errors import UsageError
from talosmith.kube import errors
from talosmith.kube.client import FIELD_MANAGER, KubeClient
from talosmith.kube.objects import Object, Ref, labels, metadata, notes

SET_LABEL = "talosmith.dev/set"
KEEP_ANNOTATION = "talosmith.dev/prune"  # `disabled` keeps the object
_NAMESPACE = "kube-system"
_FIELD = "objects"
_SET_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?")
# Removing one of these removes what others have put into it.
_HOLDS_OTHERS = ("Namespace", "CustomResourceDefinition", "PersistentVolume", "PersistentVolumeClaim")


def check_name(name: str) -> None:
    if not _SET_NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a name for a set of manifests", hint="Small letters, digits and dashes.")


def marked(item: Object, name: str) -> dict[str, Any]:
    """The object with our label."""
    meta = dict(metadata(item))
    meta["labels"] = {**(meta.get("labels") or {}), SET_LABEL: name}
    return {**item, "metadata": meta}


async def remembered(client: KubeClient, name: str) -> list[Ref]:
    found = await client.find(_ref(name))
    if found is None:
        return []
    text = (found.get("data") or {}).get(_FIELD, "[]")
    try:
        return [Ref(**one) for one in json.loads(text)]
    except (ValueError, TypeError):
        raise errors.Invalid(
            client.server,
            "the list of what was applied cannot be read",
            about=str(_ref(name)),
            hint="It was changed by hand. Delete it: nothing will be pruned until it is written again.",
        ) from None


async def remember(client: KubeClient, name: str, refs: Iterable[Ref]) -> None:
    """Each object once, by the version of its API that was used last."""
    unique = {ref.identity: ref for ref in refs}
    listed = [
        {"api_version": ref.api_version, "kind": ref.kind, "name": ref.name, "namespace": ref.namespace}
        for ref in sorted(unique.values())
    ]
    ref = _ref(name)
    await client.apply(
        {
            "apiVersion": ref.api_version,
            "kind": ref.kind,
            "metadata": {"name": ref.name, "namespace": ref.namespace, "labels": {SET_LABEL: name}},
            "data": {_FIELD: json.dumps(listed, separators=(",", ":"))},
        },
        force=True,
    )


def why_not_ours(item: Object, name: str) -> str:
    """Why an object is none of this set any more; empty if it is."""
    if labels(item).get(SET_LABEL) != name:
        return "it is no longer marked as ours"
    if not any(
        one.get("manager") == FIELD_MANAGER and one.get("operation") == "Apply"
        for one in metadata(item).get("managedFields") or ()
    ):
        return "another manager has taken it over"
    return ""


def why_kept(item: Object) -> str:
    """Why an object of ours is not to be removed though it is no longer wanted; empty if it may be."""
    annotations = notes(item)
    if annotations.get(KEEP_ANNOTATION) == "disabled" or annotations.get("helm.sh/resource-policy") == "keep":
        return "it says that it is to be kept"
    if item.get("kind") in _HOLDS_OTHERS:
        return "it may hold what others have put there; delete it by hand if it does not"
    return ""


def _ref(name: str) -> Ref:
    return Ref("v1", "ConfigMap", f"talosmith-set-{name}", _NAMESPACE)
