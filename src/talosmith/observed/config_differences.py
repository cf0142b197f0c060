"""How the machine configs that nodes have differ from those of the inventory: what `talosmith diff` shows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from talosmith.desired.target import Desired, DesiredNode
from talosmith.model.resources import SettingChange
from talosmith.model.secret import Secret
from talosmith.observed.world import NodeSeen, Observed, Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigDifference:
    """From the live config to the rendered one; secrets are masked. `why`: the live config is not known."""

    node: str
    state: Literal["same", "different", "unknown"]
    changes: tuple[SettingChange, ...] = ()
    why: str = ""


def config_differences(desired: Desired, observed: Observed, names: Iterable[str]) -> tuple[ConfigDifference, ...]:
    return tuple(_difference(desired.nodes[name], observed.nodes[name]) for name in names)


def _difference(wanted: DesiredNode, seen: NodeSeen) -> ConfigDifference:
    if not isinstance(seen.config, Secret):
        return ConfigDifference(node=wanted.name, state="unknown", why=_why(seen))
    if seen.config_digest == wanted.digest:
        return ConfigDifference(node=wanted.name, state="same")
    from talosmith.desired.config.changes import changed_fields
    from talosmith.desired.config.load import load

    live, rendered = (load(one.reveal(), wanted.name) for one in (seen.config, wanted.config))
    return ConfigDifference(node=wanted.name, state="different", changes=changed_fields(live, rendered))


def _why(seen: NodeSeen) -> str:
    if seen.machine is None:
        return seen.foreign_reason or "machine does not exist"
    if seen.stage == "maintenance":
        return "node is in maintenance mode and has no machine config"
    if isinstance(seen.config, Unknown):
        return seen.foreign_reason or seen.config.why
    return "machine is powered off" if seen.stage is None else "the node has no machine config"
