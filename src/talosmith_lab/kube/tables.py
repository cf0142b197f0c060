"""Tables, as `kubectl get` prints them: columns for the kinds that people look at, a name and an age for others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from talosmith_lab.kube import tables_cells as cells
from talosmith_lab.kube.errors import bad_request
from talosmith_lab.kube.kinds import Kind, Obj

Cells = Callable[[Obj, float], list[Any]]

_META = "meta.k8s.io/v1"
# A plus is for wide output only.
_COLUMNS: Mapping[str, tuple[str, Cells]] = {
    "pods": ("Name Ready Status Restarts Age +IP +Node", cells.pod),
    "nodes": (
        "Name Status Roles Age Version +Internal-IP +External-IP +OS-Image +Kernel-Version +Container-Runtime",
        cells.node,
    ),
    "namespaces": ("Name Status Age", cells.namespace),
    "services": ("Name Type Cluster-IP External-IP Port(s) Age", cells.service),
    "events": ("Last_Seen Type Reason Object Message", cells.event),
    "deployments.apps": ("Name Ready Up-to-date Available Age", cells.deployment),
    "replicasets.apps": ("Name Desired Current Ready Age", cells.replica_set),
    "daemonsets.apps": ("Name Desired Current Ready Up-to-date Available Age", cells.daemon_set),
    "statefulsets.apps": ("Name Ready Age", cells.stateful_set),
    "jobs.batch": ("Name Status Completions Age", cells.job),
    "poddisruptionbudgets.policy": (
        "Name Min_Available Max_Unavailable Allowed_Disruptions Age",
        cells.disruption_budget,
    ),
    "certificatesigningrequests.certificates.k8s.io": (
        "Name Age SignerName Requestor Condition",
        cells.signing_request,
    ),
}
_PLAIN: tuple[str, Cells] = ("Name Age", cells.plain)


def table(kind: Kind, items: Iterable[Obj], *, include: str, now: float) -> Obj:
    """`include` says what comes along with each row: `Metadata`, which is the default, `Object` or `None`."""
    if include not in ("", "Metadata", "Object", "None"):
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    names, made = _PLAIN if kind.custom else _COLUMNS.get(kind.resource, _PLAIN)
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": {},
        "columnDefinitions": [_column(word) for word in names.split()],
        "rows": [{"cells": made(item, now), "object": _object(kind, item, include)} for item in items],
    }


def _column(word: str) -> Obj:
    name = word.removeprefix("+").replace("_", " ")
    shape = "name" if name == "Name" else ""
    return {"name": name, "type": "string", "format": shape, "description": "", "priority": int(word[0] == "+")}


def _object(kind: Kind, item: Obj, include: str) -> Obj | None:
    if include == "None":
        return None
    if include == "Object":
        return {"kind": kind.kind, "apiVersion": kind.api_version, **item}
    return {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": item["metadata"]}
