"""The way from one pair of versions to the newest one, step by step.

Talos is upgraded minor by minor, to the newest patch of each: its makers test nothing else. Its installer checks only
the Talos version, so Kubernetes is raised first wherever the next Talos no longer supports the one that runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from talosmith.model.known_bad import Component
from talosmith.model.versions import KUBERNETES_PATCHES, NEWEST_TALOS, TALOS_LINES, Version


@dataclass(frozen=True, slots=True)
class UpgradeStep:
    component: Component
    version: str


def upgrade_path(talos: Version, kubernetes: Version) -> tuple[UpgradeStep, ...]:
    """Empty if nothing newer is known, and for versions that talosmith does not know."""
    return tuple(_steps(talos, kubernetes)) if talos.line in TALOS_LINES and kubernetes.major == 1 else ()


def _steps(talos: Version, kubernetes: Version) -> Iterator[UpgradeStep]:
    minor = kubernetes.minor
    for number, line in sorted(TALOS_LINES.items()):
        if number >= talos.line and Version.parse(line.latest) > talos:
            yield from _kubernetes(minor, line.oldest_kubernetes)
            minor = max(minor, line.oldest_kubernetes)
            yield UpgradeStep("talos", line.latest)
    newest = TALOS_LINES[NEWEST_TALOS].newest_kubernetes
    if kubernetes.minor == newest and Version.parse(KUBERNETES_PATCHES[newest]) > kubernetes:
        yield UpgradeStep("kubernetes", KUBERNETES_PATCHES[newest])
    yield from _kubernetes(minor, newest)


def _kubernetes(running: int, wanted: int) -> Iterator[UpgradeStep]:
    for minor in range(max(running + 1, min(KUBERNETES_PATCHES)), wanted + 1):
        yield UpgradeStep("kubernetes", KUBERNETES_PATCHES[minor])
