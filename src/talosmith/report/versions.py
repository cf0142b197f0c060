"""Supported versions as text, and as data for `-o json` and `-o yaml`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from talosmith.foreign_text import escaped_line
from talosmith.model.known_bad import KNOWN_BAD, NAMES, KnownBad, known_bad
from talosmith.model.upgrade_path import UpgradeStep, upgrade_path
from talosmith.model.versions import (
    KUBERNETES_PATCHES,
    NEWEST_TALOS,
    RECOMMENDED,
    TALOS_LINES,
    Version,
    line_text,
)
from talosmith.report.style import Style, wrapped
from talosmith.report.table import table


@dataclass(frozen=True, slots=True)
class Pinned:
    """What an inventory pins."""

    cluster: str
    file: str
    talos: Version
    kubernetes: Version

    @property
    def supported(self) -> bool | None:
        """None: the pair is newer than what talosmith knows."""
        line = TALOS_LINES.get(min(self.talos.line, NEWEST_TALOS))
        if line is None or any(one.refused for one in self.known_bad):
            return False
        if self.talos.line > NEWEST_TALOS and self.kubernetes.line >= (1, line.oldest_kubernetes):
            return None
        return line.supports(self.kubernetes)

    @property
    def known_bad(self) -> tuple[KnownBad, ...]:
        return known_bad(self.talos, self.kubernetes)

    @property
    def newest_talos(self) -> str | None:
        """The newest patch known of the pinned minor."""
        line = TALOS_LINES.get(self.talos.line)
        return line.latest if line else None

    @property
    def newest_kubernetes(self) -> str | None:
        return KUBERNETES_PATCHES.get(self.kubernetes.minor) if self.kubernetes.major == 1 else None

    @property
    def path(self) -> tuple[UpgradeStep, ...]:
        return upgrade_path(self.talos, self.kubernetes)


def as_data(pinned: Pinned | None) -> dict[str, Any]:
    return {
        "recommended": {"talos": RECOMMENDED.latest, "kubernetes": RECOMMENDED.kubernetes},
        "talos": [
            {
                "minor": f"v{line_text(number)}",
                "newest": line.latest,
                "default_kubernetes": line.default_kubernetes,
                "oldest_kubernetes": f"v1.{line.oldest_kubernetes}",
                "newest_kubernetes": f"v1.{line.newest_kubernetes}",
                "oldest_host": f"v{line_text(line.oldest_host)}",
                "newest_host": f"v{line_text(line.newest_host)}",
            }
            for number, line in sorted(TALOS_LINES.items())
        ],
        "kubernetes": [
            {
                "minor": f"v1.{minor}",
                "newest": newest,
                "talos": [
                    f"v{line_text(number)}"
                    for number, line in sorted(TALOS_LINES.items())
                    if line.oldest_kubernetes <= minor <= line.newest_kubernetes
                ],
            }
            for minor, newest in sorted(KUBERNETES_PATCHES.items())
        ],
        "known_bad": [asdict(one) for one in KNOWN_BAD],
        "inventory": None if pinned is None else _pinned_data(pinned),
    }


def _pinned_data(pinned: Pinned) -> dict[str, Any]:
    return {
        "cluster": pinned.cluster,
        "file": pinned.file,
        "talos": str(pinned.talos),
        "kubernetes": str(pinned.kubernetes),
        "supported": pinned.supported,
        "newest_talos": pinned.newest_talos,
        "newest_kubernetes": pinned.newest_kubernetes,
        "upgrade_path": [asdict(step) for step in pinned.path],
        "known_bad": [asdict(one) for one in pinned.known_bad],
    }


def as_text(pinned: Pinned | None, style: Style, width: int | None = None) -> str:
    """`width`: columns of the terminal; None: lines stay whole."""
    lines = [*(_pinned_lines(pinned, style) if pinned else ()), *_matrix(pinned, style), *_known_bad_lines(style)]
    return "\n".join(part for line in lines for part in wrapped(line, width))


def _pinned_lines(pinned: Pinned, style: Style) -> Iterator[str]:
    word = {True: style.green("supported"), False: style.red("not supported"), None: style.yellow("unknown")}
    yield f"{style.bold(escaped_line(pinned.cluster))}: {word[pinned.supported]}"
    yield f"  Talos       {pinned.talos}{_newer(pinned.talos, pinned.newest_talos)}"
    yield f"  Kubernetes  {pinned.kubernetes}{_newer(pinned.kubernetes, pinned.newest_kubernetes)}"
    for one in pinned.known_bad:
        yield style.yellow(f"  {one.versions}: {one.what}; {one.fix}")
    if pinned.path:
        steps = " → ".join(f"{NAMES[step.component]} {step.version}" for step in pinned.path)
        yield f"  upgrades    {steps}"
    yield ""


def _newer(pinned: Version, newest: str | None) -> str:
    if newest is None:
        return ", of a minor version that talosmith does not know"
    return f", newest patch {newest}" if Version.parse(newest) > pinned else ""


def _matrix(pinned: Pinned | None, style: Style) -> Iterator[str]:
    rows = [
        (
            line_text(number),
            line.latest,
            f"1.{line.oldest_kubernetes} to 1.{line.newest_kubernetes}",
            line.default_kubernetes,
            f"{line_text(line.oldest_host)} to {line_text(line.newest_host)}",
            "pinned" if pinned and pinned.talos.line == number else "",
        )
        for number, line in sorted(TALOS_LINES.items(), reverse=True)
    ]
    yield from table(("TALOS", "NEWEST", "KUBERNETES", "DEFAULT", "INSTALLER RUNS ON", ""), rows, style)
    patches = (KUBERNETES_PATCHES[minor] for minor in sorted(KUBERNETES_PATCHES, reverse=True))
    yield ""
    yield f"newest Kubernetes patches: {', '.join(patches)}"
    yield f"`talosmith init` writes Talos {RECOMMENDED.latest} and Kubernetes {RECOMMENDED.kubernetes}"


def _known_bad_lines(style: Style) -> Iterator[str]:
    yield ""
    yield style.bold("known bad versions")
    for one in KNOWN_BAD:
        yield f"  {one.versions}: {one.what}"
        yield f"    fix: {one.fix}"
        yield f"    source: {one.source}"
