"""`${cluster.…}` and `${node.…}` in patches: values of the inventory, and nothing executable."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel

from talosmith.model.cluster import Cluster, Node

_PLACE = re.compile(r"\$\$\{|\$\{([^}]*)\}")
_NODE = re.compile(r"\$\{\s*node\b")


class UnknownVariable(ValueError):
    """A placeholder that names nothing; the text says what there is."""


def filler(cluster: Cluster, node: Node | None) -> Callable[[str], str]:
    """Fills the placeholders of a text; `$${` stays as `${`."""

    def fill(text: str) -> str:
        return _PLACE.sub(lambda found: _value(found[1], cluster, node) if found[1] is not None else "${", text)

    return fill


def speaks_of_nodes(text: str) -> bool:
    return bool(_NODE.search(text))


def _value(name: str, cluster: Cluster, node: Node | None) -> str:
    start, *steps = name.strip().split(".")
    value: Any = {"cluster": cluster, "node": node}.get(start)
    if value is None:
        raise UnknownVariable(f"`${{{name}}}` names neither the cluster nor the node")
    for step in steps:
        names = _names(value)
        if step not in names:
            close = get_close_matches(step, names, n=1)
            known = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(sorted(names))}"
            raise UnknownVariable(f"`${{{name}}}`: there is no `{step}`; {known}")
        value = value[step] if isinstance(value, dict) else getattr(value, step)
    if value is None or isinstance(value, dict | list | tuple | BaseModel) or _has_parts(value):
        raise UnknownVariable(f"`${{{name}}}` is not a single value")
    return str(value).lower() if isinstance(value, bool) else str(value)


def _has_parts(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and type(value).__str__ is object.__str__


def _names(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [str(key) for key in value]
    if isinstance(value, BaseModel):
        return list(type(value).model_fields)
    if dataclasses.is_dataclass(value):
        properties = [name for name, what in vars(type(value)).items() if isinstance(what, property)]
        return [*(field.name for field in dataclasses.fields(value)), *properties]
    return []
