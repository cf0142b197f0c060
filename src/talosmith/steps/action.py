"""The base of all actions: what most of them have in common, so that each says only what is special about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from talosmith.model.resources import SettingChange
from talosmith.plan.step import Disruption, Stage, StepKey
from talosmith.steps.context import Context


class _Harmless:
    """Until it says otherwise, an action disturbs nothing, changes nothing, and is never done already."""

    __slots__ = ()

    limit: ClassVar[float] = 300.0
    makes: ClassVar[tuple[str, ...]] = ()
    stage: ClassVar[Stage] = ""

    @property
    def disruption(self) -> Disruption:
        return "none"

    @property
    def settings(self) -> tuple[SettingChange, ...]:
        return ()

    def calls(self) -> tuple[str, ...]:
        return self.makes

    async def done(self, context: Context) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class OnNode(_Harmless):
    """An action on one node."""

    name: str

    area: ClassVar[str] = "node"
    verb: ClassVar[str] = ""

    @classmethod
    def key_of(cls, name: str) -> StepKey:
        """The key that this action has on that node, for edges to it."""
        return StepKey(cls.area, name, cls.verb)

    @property
    def key(self) -> StepKey:
        return self.key_of(self.name)

    @property
    def subject(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class OnCluster(_Harmless):
    """An action on the cluster as a whole."""

    area: ClassVar[str] = "cluster"
    verb: ClassVar[str] = ""

    @classmethod
    def key_of(cls) -> StepKey:
        return StepKey(cls.area, verb=cls.verb)

    @property
    def key(self) -> StepKey:
        return self.key_of()

    @property
    def subject(self) -> str:
        return ""
