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
    default_kubernetes: str  # in a config that the newest patch generates
    oldest_kubernetes: int
    newest_kubernetes: int
    oldest_host: tuple[int, int]  # its installer runs on Talos of this line …
    newest_host: tuple[int, int]  # … up to this one
    tested_kubernetes: str = ""  # where talosmith is tested with a newer patch than the default

    @property
    def kubernetes(self) -> str:
        """The version to run on it if nothing else is asked for."""
        return self.tested_kubernetes or self.default_kubernetes

    def supports(self, kubernetes: Version) -> bool:
        return kubernetes.major == 1 and self.oldest_kubernetes <= kubernetes.minor <= self.newest_kubernetes


TALOS_LINES: dict[tuple[int, int], TalosLine] = {
    (1, 8): TalosLine("v1.8.4", "v1.31.4", 26, 31, (1, 5), (1, 9)),
    (1, 9): TalosLine("v1.9.6", "v1.32.4", 27, 32, (1, 8), (1, 10)),
    (1, 10): TalosLine("v1.10.9", "v1.33.6", 28, 33, (1, 8), (1, 11)),
    (1, 11): TalosLine("v1.11.6", "v1.34.1", 29, 34, (1, 9), (1, 12)),
    (1, 12): TalosLine("v1.12.11", "v1.35.4", 30, 35, (1, 10), (1, 13)),
    (1, 13): TalosLine("v1.13.9", "v1.36.3", 31, 36, (1, 11), (1, 14)),
    (1, 14): TalosLine("v1.14.1", "v1.37.0", 32, 37, (1, 12), (1, 15), tested_kubernetes="v1.37.1"),
}
OLDEST_TALOS, NEWEST_TALOS = min(TALOS_LINES), max(TALOS_LINES)

# The newest patch known of each Kubernetes minor that one of these lines supports.
KUBERNETES_PATCHES: dict[int, str] = {
    26: "v1.26.15",
    27: "v1.27.16",
    28: "v1.28.15",
    29: "v1.29.15",
    30: "v1.30.14",
    31: "v1.31.14",
    32: "v1.32.13",
    33: "v1.33.13",
    34: "v1.34.12",
    35: "v1.35.8",
    36: "v1.36.5",
    37: "v1.37.2",
}
NEWEST_KUBERNETES = (1, max(KUBERNETES_PATCHES))

# What `init` writes.
RECOMMENDED = TALOS_LINES[NEWEST_TALOS]


def line_text(line: tuple[int, int]) -> str:
    """`1.14`"""
    return "{}.{}".format(*line)
