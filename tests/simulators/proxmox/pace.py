"""How long things take: as recorded (without KVM, on a busy machine), as on a usual host, or hardly any time.

All durations are given in seconds of the recording; a pace multiplies durations by a scale. `instant` keeps
proportions: a lock time-out is still longer than a task.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

PaceName = Literal["instant", "recorded", "realistic"]

MIB = 1024 * 1024
_RECORDED = {
    "qmcreate": 1.0,
    "qmstart": 1.5,
    "qmstop": 0.6,
    "guest shutdown": 1.0,
    "reboot gap": 0.6,
    "qmdestroy": 0.4,
    "qmtemplate": 0.4,
    "linked clone": 0.4,
    "full clone": 0.3,
    "resize": 0.3,
    "imgcopy": 0.5,
    "imgdel": 0.3,
    "download": 1.0,
    "qmconfig": 0.1,
    "agent": 3.0,
    "denied": 3.0,
}
_REALISTIC = _RECORDED | {"qmstart": 1.0, "guest shutdown": 4.0, "imgcopy": 0.3}


@dataclass
class Pace:
    name: PaceName
    scale: float
    answer_scale: float  # of answers that are delayed: refused tokens, locks, the guest agent
    bandwidth: float  # bytes a second when the contents of a disk are copied
    durations: dict[str, float] = field(default_factory=lambda: dict(_RECORDED))

    def of(self, what: str) -> float:
        return self.durations.get(what, 0.3)


def pace_of(name: PaceName, real_delays: bool = False) -> Pace:
    if name == "instant":
        return Pace(name, 0.002, 1.0 if real_delays else 0.002, 25 * MIB)
    if name == "recorded":
        return Pace(name, 1.0, 1.0, 25 * MIB)
    return Pace(name, 1.0, 1.0, 300 * MIB, dict(_REALISTIC))
