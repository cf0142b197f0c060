"""Resources of a node by kind: who makes them, and how they are looked up."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from talosmith_lab.machine import Machine
from talosmith_lab.resources.kinds import DEFINITIONS, NAMESPACES, Kind, kinds_of
from talosmith_lab.world import World


@dataclass(frozen=True, slots=True)
class Resource:
    kind: Kind
    id: str
    spec: Any
    version: int
    created: float
    updated: float


Made = Iterable[tuple[str, Any]]  # ids and specs
Maker = Callable[[World, Machine], Made]
_MAKERS: dict[str, Maker] = {}
_FROM_CONFIG: set[str] = set()


def makes(type_: str, *, from_config: bool = False) -> Callable[[Maker], Maker]:
    """Declares who makes the resources of a kind; `from_config` if they change with the config alone."""

    def declare(maker: Maker) -> Maker:
        _MAKERS[type_] = maker
        if from_config:
            _FROM_CONFIG.add(type_)
        return maker

    return declare


def list_resources(world: World, machine: Machine, type_: str) -> list[Resource]:
    """In the order of their ids; raises `KeyError` for a type that does not exist."""
    known = kinds_of(machine.run.version if machine.run else machine.version)
    kind = known[type_]
    if type_ == DEFINITIONS:
        made: Made = ((one.type.lower(), one.definition()) for one in known.values())
    elif type_ == NAMESPACES:
        made = ((name, {"description": ""}) for name in {one.namespace for one in known.values()})
    else:
        made = _MAKERS[type_](world, machine) if type_ in _MAKERS else ()
    version = machine.config_revision if type_ in _FROM_CONFIG else machine.revision
    since = machine.run.since if machine.run else world.now()
    return sorted(
        (Resource(kind, id_, spec, max(version, 1), since, world.now()) for id_, spec in made), key=lambda one: one.id
    )


def get_resource(world: World, machine: Machine, type_: str, id_: str) -> Resource | None:
    return next((one for one in list_resources(world, machine, type_) if one.id == id_), None)
