"""The base of all actions: what most of them have in common, so that each says only what is special about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from talosmith.plan.step import Disruption
from talosmith.steps.context import Context


@dataclass(frozen=True, slots=True)
class OnNode:
    """An action on one node. `key` is `<area>/<node>/<verb>`, or without the verb."""

    name: str

    area: ClassVar[str] = "node"
    verb: ClassVar[str] = ""
    limit: ClassVar[float] = 300.0
    makes: ClassVar[tuple[str, ...]] = ()

    @property
    def key(self) -> str:
        return "/".join(filter(None, (self.area, self.name, self.verb)))

    @property
    def subject(self) -> str:
        return self.name

    @property
    def disruption(self) -> Disruption:
        return "none"

    def calls(self) -> tuple[str, ...]:
        return self.makes

    async def done(self, context: Context) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class OnCluster:
    """An action on the cluster as a whole."""

    name: ClassVar[str]
    limit: ClassVar[float] = 300.0
    makes: ClassVar[tuple[str, ...]] = ()

    @property
    def key(self) -> str:
        return self.name

    @property
    def subject(self) -> str:
        return ""

    @property
    def disruption(self) -> Disruption:
        return "none"

    def calls(self) -> tuple[str, ...]:
        return self.makes

    async def done(self, context: Context) -> bool:
        return False
