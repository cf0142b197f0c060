"""Refusals that callers handle differently: already exists, and does not exist."""

from __future__ import annotations

from typing import ClassVar

from talosmith.errors import UsageError


class Refusal(UsageError):
    kind: ClassVar[str]  # how it is called on the way between the lab and its clients


class MachineExists(Refusal):
    """Another machine has this name."""

    kind = "machine-exists"


class NoSuchMachine(Refusal):
    """There is none of this name, or it is not the one that was meant."""

    kind = "no-such-machine"


REFUSALS: dict[str, type[Refusal]] = {refusal.kind: refusal for refusal in (MachineExists, NoSuchMachine)}
