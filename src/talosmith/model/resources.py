"""What a cluster stands on besides machines: networks, pools, images; subnets, balancers, records, roles.

A provider says which it wants (`ResourceSpec`) and which exist (`Resource`). The plan names them by kind and name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

Setting: TypeAlias = "bool | int | float | str | list[Setting] | dict[str, Setting] | None"  # what JSON can say
Settings: TypeAlias = Mapping[str, Setting]


class ResourceKey(NamedTuple):
    """`network`, `nodes`. Neither part has a slash: both are parts of step keys."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSpec:
    """A resource as the inventory wants it. Its settings are compared and shown: nothing in them is secret."""

    kind: str
    name: str
    settings: Settings
    needs: tuple[ResourceKey, ...] = ()  # exist before it, and are deleted after it
    members: tuple[str, ...] = ()  # nodes whose machines it refers to, such as the members of a target group
    shared: bool = False  # other clusters may use it, and it is kept while they do
    on_demand: bool = False  # created only for a machine that is to be created: nothing else needs it

    @property
    def key(self) -> ResourceKey:
        return ResourceKey(self.kind, self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource that exists. One without this cluster's tags is used as it is: never changed, never deleted."""

    id: str  # the provider's own name for it
    kind: str
    name: str
    settings: Settings = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)  # addresses, names, ARNs that other resources need
    tags: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[ResourceKey, ...] = ()
    members: tuple[str, ...] = ()
    shared: bool = False
    used_by: tuple[str, ...] = ()  # what else uses it and stays when the cluster goes

    @property
    def key(self) -> ResourceKey:
        return ResourceKey(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class SettingChange:
    """None stands for a setting that does not exist. `masked`: a part of the values is not shown; they differ."""

    name: str
    before: Setting
    after: Setting
    masked: bool = False

    def __str__(self) -> str:
        changed = " (changed)" if self.masked and self.before == self.after else ""
        return f"{self.name}: {shown(self.before)} → {shown(self.after)}{changed}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Between what exists and what is wanted. `replace`: it cannot be changed in place; `remedy` is what to do."""

    change: Literal["none", "update", "replace"] = "none"
    settings: tuple[SettingChange, ...] = ()
    remedy: str = ""


def changed_settings(found: Resource, wanted: ResourceSpec) -> tuple[SettingChange, ...]:
    """The settings that are wanted and are otherwise. What the provider sets besides is not compared."""
    pairs = ((name, found.settings.get(name), after) for name, after in wanted.settings.items())
    return tuple(SettingChange(name, before, after) for name, before, after in pairs if before != after)


def shown(value: Setting) -> str:
    """As people write it: `yes`, `10.0.0.1/24`, `a, b`."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(shown, value)) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name} {shown(one)}" for name, one in value.items()) or "none"
    return str(value)
