"""The base of all actions: what most of them have in common, so that each says only what is special about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from talosmith.plan.step import Disruption
from talosmith.steps.context import Context


class _Harmless:
    """Until it says otherwise, an action disturbs nobody, changes nothing, and is never done already."""

    __slots__ = ()

    limit: ClassVar[float] = 300.0
    makes: ClassVar[tuple[str, ...]] = ()

    @property
    def disruption(self) -> Disruption:
        return "none"

    def calls(self) -> tuple[str, ...]:
        return self.makes

    async def done(self, context: Context) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class OnNode(_Harmless):
    """An action on one node. `key` is `<area>/<node>/<verb>`, or without the verb."""

    name: str

    area: ClassVar[str] = "node"
    verb: ClassVar[str] = ""

    @property
    def key(self) -> str:
        return "/".join(filter(None, (self.area, self.name, self.verb)))

    @property
    def subject(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OnCluster(_Harmless):
    """An action on the cluster as a whole."""

    name: ClassVar[str]

    @property
    def key(self) -> str:
        return self.name

    @property
    def subject(self) -> str:
        return ""
