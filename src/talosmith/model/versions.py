"""Talos and Kubernetes versions, and which go together. A new release is one more line of data."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, total_ordering

_FORM = re.compile(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:-([0-9A-Za-z.-]{1,40}))?\Z")


@total_ordering
@dataclass(frozen=True, slots=True)
class Version:
    """`v1.13.9`, or `v1.14.0-rc.1`; prints with the `v`."""

    major: int
    minor: int
    patch: int
    pre: str = ""

    @classmethod
    @lru_cache(maxsize=256)
    def parse(cls, text: str) -> Version:
        found = _FORM.match(text)
        if not found:
            raise ValueError(f"{text!r} is not a version")
        return cls(int(found[1]), int(found[2]), int(found[3]), found[4] or "")

    @property
    def line(self) -> tuple[int, int]:
        """Major and minor: what compatibility is about."""
        return self.major, self.minor

    def __str__(self) -> str:
        return f"v{self.major}.{self.minor}.{self.patch}" + (f"-{self.pre}" if self.pre else "")

    def __lt__(self, other: Version) -> bool:
        # A pre-release comes before its release.
        mine, theirs = (self.major, self.minor, self.patch), (other.major, other.minor, other.patch)
        return (mine, self.pre == "", self.pre) < (theirs, other.pre == "", other.pre)


@dataclass(frozen=True, slots=True)
class TalosLine:
    """What one minor release of Talos runs: its newest patch known here, and the Kubernetes minors it supports."""

    latest: str
    kubernetes: str
    oldest_kubernetes: int
    newest_kubernetes: int


TALOS_LINES: dict[tuple[int, int], TalosLine] = {
    (1, 8): TalosLine("v1.8.4", "v1.31.4", 26, 31),
    (1, 9): TalosLine("v1.9.6", "v1.32.4", 27, 32),
    (1, 10): TalosLine("v1.10.9", "v1.33.6", 28, 33),
    (1, 11): TalosLine("v1.11.6", "v1.34.1", 29, 34),
    (1, 12): TalosLine("v1.12.11", "v1.35.4", 30, 35),
    (1, 13): TalosLine("v1.13.9", "v1.36.3", 31, 36),
    (1, 14): TalosLine("v1.14.0", "v1.37.0", 32, 37),
}

# What `init` writes: the newest line whose documents are generated natively.
RECOMMENDED = TALOS_LINES[1, 13]
