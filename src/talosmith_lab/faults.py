"""What can be made to go wrong, on purpose, and the same way every time.

Some faults happen once (a power loss), some last until they are removed (a partition), some strike calls by
chance. Chance follows from the lab's seed and the number of calls the fault has seen.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from talosmith.errors import UsageError
from talosmith.providers.lab.faults import KINDS, US, FaultKind
from talosmith_lab.clock import fraction


@dataclass(slots=True, kw_only=True)
class Fault:
    id: str
    kind: FaultKind
    machines: list[str] = field(default_factory=list)  # empty: all
    others: list[str] = field(default_factory=list)  # the far side of a partition; empty: us
    method: str = "*"  # such as Bootstrap, Etcd*, /machine.MachineService/Reboot; of a provider: machine.create
    percent: float = 100.0
    times: int | None = None  # how often it still strikes; None: without end
    seconds: float = 0.0
    seen: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"there is no fault {self.kind!r}", hint=f"The faults are: {', '.join(KINDS)}.")
        if not 0 < self.percent <= 100:
            raise UsageError("--percent is more than 0 and at most 100")
        if self.times is not None and self.times < 1:
            raise UsageError("--times is at least 1")

    def is_for(self, machine: str) -> bool:
        return not self.machines or machine in self.machines

    def matches(self, method: str) -> bool:
        return fnmatchcase(method, self.method) or fnmatchcase(method.rpartition("/")[2], self.method)

    def parts(self, one: str, other: str) -> bool:
        """Whether it keeps the two apart; either may be `US`."""
        far = self.others or [US]
        return any(near != US and self.is_for(near) and away in far for near, away in ((one, other), (other, one)))

    def describe(self) -> str:
        where = ", ".join(self.machines) or "all machines"
        parts = [f"{self.kind} on {where}"]
        if self.kind == "partition":
            parts.append(f"from {', '.join(self.others) or US}")
        if self.method != "*":
            parts.append(f"calls {self.method}")
        if self.percent < 100:
            parts.append(f"{self.percent:g} %")
        if self.times:
            parts.append(f"{self.times} more times")
        if self.seconds:
            parts.append(f"{self.seconds:g} s")
        return ", ".join(parts)


def strikes(fault: Fault, seed: int) -> bool:
    """Whether the fault strikes this time. Asking counts."""
    fault.seen += 1
    if fault.percent < 100 and fraction(seed, fault.id, fault.seen) * 100 >= fault.percent:
        return False
    if fault.times is not None:
        fault.times -= 1
    return True
