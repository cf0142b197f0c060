"""How a change is asked for: by whom, under which name, and whether it is only tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    manager: str = "unknown"
    user: str = ""
    groups: tuple[str, ...] = ()
    dry_run: bool = False
    warnings: list[str] = field(default_factory=list)  # what the client is told beside the answer

    @property
    def who(self) -> dict[str, Any]:
        return {"username": self.user, "groups": list(self.groups)}


SYSTEM = How(manager="kube-apiserver", user="system:apiserver", groups=("system:masters",))
