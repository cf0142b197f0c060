"""Why a plan must not be run: the cause named once, with all nodes it concerns, both values and what helps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from talosmith.model.resources import SettingChange

NODES = "{nodes}"  # in a fix: `-n NODE` for every node of the item


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocked:
    cause: str
    nodes: tuple[str, ...] = ()
    settings: tuple[SettingChange, ...] = ()  # live and wanted values
    fix: str = ""
    symptoms: tuple[str, ...] = ()  # what else follows from the same cause, such as the fields that differ

    def __str__(self) -> str:
        names = f"{', '.join(self.nodes)}: " if self.nodes else ""
        values = f" ({', '.join(map(str, self.settings))})" if self.settings else ""
        return f"{names}{self.cause}{values}" + (f"; fix: {self.fix}" if self.fix else "")

    def as_data(self) -> dict[str, Any]:
        return {
            "cause": self.cause,
            "nodes": list(self.nodes),
            "settings": [asdict(one) for one in self.settings],
            "fix": self.fix,
            "symptoms": list(self.symptoms),
        }


def folded(each: Iterable[Blocked]) -> tuple[Blocked, ...]:
    """The same cause on several nodes as one item, whose fix names all of them."""
    found: dict[tuple[object, ...], Blocked] = {}
    for one in each:
        key = (one.cause, tuple(map(str, one.settings)), one.fix)
        known = found.get(key)
        found[key] = (
            one
            if known is None
            else replace(
                known,
                nodes=tuple(dict.fromkeys([*known.nodes, *one.nodes])),
                symptoms=tuple(dict.fromkeys([*known.symptoms, *one.symptoms])),
            )
        )
    return tuple(
        replace(one, fix=one.fix.replace(NODES, " ".join(f"-n {name}" for name in one.nodes)))
        for one in found.values()
    )
