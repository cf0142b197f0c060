"""Time in the lab: how long things take, and what is due next.

Nothing in the lab sleeps. Whatever takes time is put on the timeline under a key, and happens when it is due; a test
moves a clock of its own forward, the server waits for the real one. How long a thing takes follows from the pace and
the seed alone, so the same lab does the same things in the same order every time.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple

from talosmith.providers.lab.process import PaceName

Wait = Literal[
    "firmware", "kernel", "network", "time", "pull", "install", "stop", "poweroff", "kexec", "wipe", "service",
    "image", "etcd-start", "etcd-join", "etcd-promote", "election", "static-pods", "kubelet", "node-ready", "vip",
    "node-grace", "node-eviction", "pod-start", "pod-stop", "pod-work", "pod-restart", "rollout-deadline",
    "operator",
]  # fmt: skip

# In seconds, from least to most. `realistic` adds up to the timeline of a first cluster on a home server: two minutes
# from power-on to maintenance mode, two more to install, ninety seconds until the API server answers.
_REALISTIC: Mapping[Wait, tuple[float, float]] = {
    "firmware": (15, 30), "kernel": (20, 60), "network": (2, 8), "time": (1, 5), "pull": (20, 60),
    "install": (15, 40), "stop": (5, 15), "poweroff": (1, 3), "kexec": (3, 8), "wipe": (5, 20), "service": (0.5, 2),
    "image": (10, 30), "etcd-start": (2, 5), "etcd-join": (3, 6), "etcd-promote": (15, 45), "election": (1, 3),
    "static-pods": (60, 90), "kubelet": (5, 10), "node-ready": (10, 30), "vip": (5, 60), "node-grace": (50, 50),
    "node-eviction": (300, 300), "pod-start": (2, 6), "pod-stop": (1, 3), "pod-work": (5, 15),
    "pod-restart": (10, 10), "rollout-deadline": (600, 600), "operator": (1, 3),
}  # fmt: skip
_FAST: Mapping[Wait, tuple[float, float]] = {
    "firmware": (0.05, 0.15), "kernel": (0.1, 0.3), "network": (0.02, 0.05), "time": (0.01, 0.03), "pull": (0.1, 0.2),
    "install": (0.1, 0.2), "stop": (0.05, 0.1), "poweroff": (1, 1), "kexec": (0.05, 0.1), "wipe": (0.05, 0.1),
    "service": (0.01, 0.03), "image": (0.05, 0.1), "etcd-start": (0.05, 0.1), "etcd-join": (0.05, 0.1),
    "etcd-promote": (0.1, 0.3), "election": (0.1, 0.2), "static-pods": (0.2, 0.4), "kubelet": (0.05, 0.1),
    "node-ready": (0.1, 0.2), "vip": (0.1, 0.3), "node-grace": (1.5, 1.5), "node-eviction": (3, 3),
    "pod-start": (0.05, 0.15), "pod-stop": (0.05, 0.1), "pod-work": (0.2, 0.5), "pod-restart": (0.3, 0.3),
    "rollout-deadline": (30, 30), "operator": (0.05, 0.1),
}  # fmt: skip
# Without any time at all, a node that restarts would be taken for lost, and what fails would fail for ever at once.
# Who asks a node to go for good may listen to its events only after that; what it has missed it never hears.
_INSTANT: Mapping[Wait, tuple[float, float]] = {
    **dict.fromkeys(_FAST, (0.0, 0.0)),
    "poweroff": (1, 1), "node-grace": (0.5, 0.5), "node-eviction": (1, 1), "pod-restart": (0.2, 0.2),
    "rollout-deadline": (10, 10),
}  # fmt: skip
PACES: Mapping[PaceName, Mapping[Wait, tuple[float, float]]] = MappingProxyType(
    {"instant": _INSTANT, "fast": _FAST, "realistic": _REALISTIC}
)


def drawn(*parts: object) -> bytes:
    """Sixteen bytes that look like chance and follow from the parts alone."""
    return hashlib.blake2b("\0".join(str(part) for part in parts).encode(), digest_size=16).digest()


def fraction(*parts: object) -> float:
    """A number in [0, 1), drawn."""
    return int.from_bytes(drawn(*parts)[:8], "big") / 2**64


@dataclass(frozen=True, slots=True)
class Pace:
    """How long things take in one lab."""

    name: PaceName
    seed: int

    def duration(self, what: Wait, *of: object) -> float:
        low, high = PACES[self.name][what]
        return low + (high - low) * fraction(self.seed, what, *of)


class Key(NamedTuple):
    """What is going to happen, and to whom. A key is on the timeline once or not at all."""

    subject: str
    what: str


class Timeline:
    """What is due when. Things due at the same moment happen in the order they were put here."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Key]] = []
        self._armed: dict[Key, int] = {}
        self._serial = 0

    def __len__(self) -> int:
        return len(self._armed)

    def __contains__(self, key: Key) -> bool:
        return key in self._armed

    def ensure(self, key: Key, due: float) -> None:
        """Put it here unless it is here already."""
        if key not in self._armed:
            self._serial += 1
            self._armed[key] = self._serial
            heapq.heappush(self._heap, (due, self._serial, key))

    def cancel(self, key: Key) -> None:
        self._armed.pop(key, None)

    def cancel_all(self, subject: str) -> None:
        for key in [key for key in self._armed if key.subject == subject]:
            del self._armed[key]

    def next_due(self) -> float | None:
        while self._heap and self._armed.get(self._heap[0][2]) != self._heap[0][1]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop(self, now: float) -> Key | None:
        """The next thing that is due by now."""
        due = self.next_due()
        if due is None or due > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._armed[key]
        return key


class ManualClock:
    """Time that stands still until a test moves it."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


Now = Callable[[], float]
