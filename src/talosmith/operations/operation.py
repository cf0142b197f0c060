"""The shape of every operation: a module with `OPTIONS`, a dataclass, and `build`, which `Session.plan` calls.

A new operation is one file here and one command in cli/: the session finds it by its name.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, ClassVar, Protocol, cast

from talosmith.desired.target import Desired
from talosmith.observed.world import Observed
from talosmith.plan.builder import Selection
from talosmith.plan.step import Plan
from talosmith.providers.base import Capabilities
from talosmith.steps.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asks for. Operations add fields of their own."""

    creates_machines: ClassVar[bool] = False  # then machines of a former cluster name matter
    installs_addons: ClassVar[bool] = False  # then charts are read and add-ons are compared
    selection: Selection = field(default_factory=Selection)

    @property
    def deletes_resources(self) -> bool:
        """All of them: then it matters what else is in the cluster's network."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerCluster:
    """The same secrets under another cluster name: `cluster_name` was changed."""

    name: str
    machines: tuple[str, ...] = ()
    exists: bool = False  # it has machines, which need not be known by name
    traces: tuple[str, ...] = ()  # of the name: client files of the folder, recorded runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What only the session knows besides desired and observed state."""

    capabilities: Capabilities = field(default_factory=Capabilities)
    missing_files: tuple[str, ...] = ()  # talosconfig, kubeconfig: missing, expired or for another endpoint
    former: tuple[FormerCluster, ...] = ()
    billed: tuple[str, ...] = ()  # what the provider bills of what is going to be created: `3 x t3.medium`
    own_files: tuple[str, ...] = ()  # those of the inventory folder that open this cluster


class Operation(Protocol):
    """A module of this package. `build` is pure."""

    OPTIONS: type[Options]

    def build(self, desired: Desired, observed: Observed, options: Any, facts: Facts, /) -> Plan[Context]: ...


def operation(name: str) -> Operation:
    """The operation of this name, such as `up`: imported here, after the cluster was asked, for a fast start."""
    return cast(Operation, import_module(f"talosmith.operations.{name}"))
