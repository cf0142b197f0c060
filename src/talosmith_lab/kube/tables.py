"""Tables, as `kubectl get` prints them: the server decides on the columns and writes the cells.

Which columns a kind has stands in `tables_kinds`; kinds that are not named there have a name and a date. Kinds that a
definition added have the columns that it asks for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from talosmith_lab.kube.errors import bad_request
from talosmith_lab.kube.kinds import Kind, Obj
from talosmith_lab.kube.tables_columns import Columns, columns
from talosmith_lab.kube.tables_custom import custom_columns
from talosmith_lab.kube.tables_kinds import KINDS, row_conditions

_META = "meta.k8s.io/v1"


def _plain(item: Obj, now: float) -> list[Any]:
    return [item["metadata"].get("name", ""), item["metadata"].get("creationTimestamp")]


_PLAIN = columns("Name Created_At:date", _plain)


def table(kind: Kind, items: Iterable[Obj], *, crd: Obj | None, include: str, now: float) -> Obj:
    """`include` says what comes along with each row: `Metadata`, which is the default, `Object` or `None`."""
    if include not in ("", "Metadata", "Object", "None"):
        raise bad_request(
            f'Unable to convert to Table as requested: includeObject: Invalid value: "{include}": '
            "must be 'Metadata', 'Object', 'None', or empty"
        )
    chosen = _columns(kind, crd)
    return {
        "kind": "Table",
        "apiVersion": _META,
        "metadata": {},
        "columnDefinitions": [dict(column) for column in chosen.definitions],
        "rows": [_row(kind, item, chosen, include, now) for item in items],
    }


def _columns(kind: Kind, crd: Obj | None) -> Columns:
    if crd is not None:
        return custom_columns(crd, kind.version)
    return KINDS.get((kind.group, kind.plural), _PLAIN)


def _row(kind: Kind, item: Obj, chosen: Columns, include: str, now: float) -> Obj:
    row: Obj = {"cells": chosen.cells(item, now)}
    conditions = row_conditions(kind, item)
    if conditions:
        row["conditions"] = conditions
    if include == "None":
        row["object"] = None
    elif include == "Object":
        row["object"] = {"kind": kind.kind, "apiVersion": kind.api_version, **item}
    else:
        row["object"] = {"kind": "PartialObjectMetadata", "apiVersion": _META, "metadata": item["metadata"]}
    return row
