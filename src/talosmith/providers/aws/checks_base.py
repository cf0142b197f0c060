"""What the checks of preflight share: what is to be created by which identity, and how findings are made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from talosmith.errors import TalosmithError, Temporary
from talosmith.model.machines import MachineSpec
from talosmith.providers.aws.account import Identity
from talosmith.providers.aws.client import AwsClient
from talosmith.providers.aws.failures import POLICY, Denied
from talosmith.providers.aws.images import Images
from talosmith.providers.aws.settings import AwsSettings
from talosmith.providers.base import Finding

Found = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Planned:
    """What is to be created, and by which identity."""

    client: AwsClient
    settings: AwsSettings
    images: Images
    specs: Sequence[MachineSpec]
    identity: Identity

    def zone(self, spec: MachineSpec) -> str:
        return spec.node.zone or self.settings.section.azs[0]

    def nodes_of(self, instance_type: str) -> list[MachineSpec]:
        return [spec for spec in self.specs if self.settings.instance_type(spec) == instance_type]

    @property
    def types(self) -> list[str]:
        return sorted({self.settings.instance_type(spec) for spec in self.specs})


def ok(check: str, evidence: str) -> Finding:
    return Finding(level="ok", check=check, evidence=evidence)


def error(check: str, cause: str, evidence: str, fix: str) -> Finding:
    return Finding(level="error", check=check, cause=cause, evidence=evidence, fix=fix)


def warning(check: str, cause: str, evidence: str, fix: str) -> Finding:
    return Finding(level="warning", check=check, cause=cause, evidence=evidence, fix=fix)


def note(check: str, cause: str, evidence: str, fix: str) -> Finding:
    return Finding(level="note", check=check, cause=cause, evidence=evidence, fix=fix)


def failed(check: str, problem: TalosmithError, place: str) -> Finding:
    """Of a check that came to no result: a refusal leaves it open, all else is an error."""
    if isinstance(problem, Denied):
        action = f"{problem.action} is denied" if problem.action else "a call is denied"
        return note(check, f"not checked: {action}", str(problem), POLICY)
    return Finding(
        level="error", check=check, cause=str(problem), evidence=place, fix=problem.hint,
        transient=isinstance(problem, Temporary),
    )  # fmt: skip


def names(specs: Iterable[MachineSpec]) -> str:
    """`cp-1, cp-2, cp-3 and 7 more`"""
    found = [spec.name for spec in specs]
    return ", ".join(found) if len(found) <= 4 else f"{', '.join(found[:3])} and {len(found) - 3} more"
