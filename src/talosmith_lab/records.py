"""What happens on a machine, as it is told later: lines of logs, and Talos' events."""

from __future__ import annotations

import base64
import struct
from dataclasses import dataclass, field
from typing import Any

KERNEL = "kernel"
EVENTS = "events"


@dataclass(frozen=True, slots=True)
class Record:
    machine: str
    boot: int
    source: str  # a service, the kernel, or events
    at: float
    text: str = ""
    id: str = ""  # the rest is of events
    actor: str = ""
    kind: str = ""  # name of the message
    payload: dict[str, Any] = field(default_factory=dict)


def event_id(at: float, machine: str, counter: int) -> str:
    """In the form of Talos' ids: they sort by time."""
    raw = struct.pack(">IQ", int(at) & 0xFFFFFFFF, sum(machine.encode()) << 24 | counter & 0xFFFFFF)
    return base64.b32hexencode(raw).decode().lower().rstrip("=")
