"""What a migration answers: the new text, which field went where and why, and what has no equal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from talosmith.model.cluster import Role

BOTH: frozenset[Role] = frozenset(("controlplane", "worker"))


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a patch is applied, and what of the fresh config its translation depends on."""

    roles: frozenset[Role] = BOTH
    tainted: bool = True  # fresh configs of control planes have the taint NoSchedule
    install_match: str = ""  # the install disk of all these nodes, as an expression; empty: they differ or have none

    @property
    def name(self) -> str:
        return "all nodes" if self.roles == BOTH else f"{next(iter(self.roles))}s"


@dataclass(frozen=True, slots=True)
class Moved:
    """A field that has another place now; without a place it says nothing any more."""

    old: str  # machine.kubelet.extraArgs
    new: str  # KubeletConfig.extraArgs
    reason: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """A field that stays in the old form. `blocking`: Talos 1.14 refuses it beside the documents."""

    old: str
    reason: str
    fix: str = ""
    blocking: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class Migration:
    """`text` takes the patch's place; `controlplane` goes to control planes only, which alone take its documents."""

    source: str
    text: str = field(repr=False)
    controlplane: str = field(default="", repr=False)
    moved: tuple[Moved, ...] = ()
    kept: tuple[Kept, ...] = ()

    @property
    def blocking(self) -> tuple[Kept, ...]:
        return tuple(one for one in self.kept if one.blocking)


def dotted(path: Iterable[str]) -> str:
    return ".".join(path)
