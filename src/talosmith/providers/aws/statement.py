"""A statement of an IAM policy: actions, each with the resources that AWS judges a call of it on, and conditions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from talosmith.providers.aws.actions import SHORT

Conditions = Mapping[str, Mapping[str, str | list[str]]]


@dataclass(frozen=True, slots=True)
class Statement:
    sid: str
    on: Mapping[str, tuple[str, ...]]  # actions, each with the resources that a call of it is judged on
    conditions: Conditions = field(default_factory=dict)
    resources: tuple[str, ...] = ()  # those of `on` if left out: one for all where they are many

    @property
    def names(self) -> list[str]:
        return sorted(self.on)

    def document(self, *, short: bool = False) -> dict[str, Any]:
        names = _shortened(self.names) if short else self.names
        found = self.resources or tuple(sorted({one for many in self.on.values() for one in many}))
        conditions = {"Condition": {key: dict(value) for key, value in self.conditions.items()}}
        return {
            "Sid": self.sid, "Effect": "Allow", "Action": single(names), "Resource": single([*found]),
            **(conditions if self.conditions else {}),
        }  # fmt: skip


def _shortened(names: Iterable[str]) -> list[str]:
    """With one pattern for those that have the most of their names in common."""
    patterns = {name: next((one for one in SHORT if fnmatchcase(name, one)), name) for name in names}
    often = Counter(patterns.values())
    return sorted({pattern if often[pattern] > 1 else name for name, pattern in patterns.items()})


def single(items: Iterable[str]) -> str | list[str]:
    """A list of one is written as the one."""
    found = [*items]
    return found[0] if len(found) == 1 else found
