"""The shape of every operation: a module with a dataclass of options and `build`, which `Session.plan` calls.

A new operation is one file here and one command in cli/: the session does not know which operations exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from talosmith.desired.target import Desired
from talosmith.observed.world import Observed
from talosmith.plan.builder import Selection
from talosmith.plan.step import Plan
from talosmith.providers.base import Capabilities
from talosmith.steps.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the user asks for. Operations add fields of their own."""

    selection: Selection = field(default_factory=Selection)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What only the session knows besides desired and observed state."""

    capabilities: Capabilities = field(default_factory=Capabilities)
    missing_files: tuple[str, ...] = ()  # talosconfig, kubeconfig: missing, expired or for another endpoint


Chosen = TypeVar("Chosen", bound=Options, contravariant=True)


class Operation(Protocol[Chosen]):
    """A module of this package. `build` is pure."""

    def build(self, desired: Desired, observed: Observed, options: Chosen, facts: Facts, /) -> Plan[Context]: ...
