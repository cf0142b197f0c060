"""Patches with what the Talos of the nodes does not know: file, line, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.desired.config.known import Line, Unknown, unknown_to
from talosmith.desired.config.patch.apply import Overlay, Patch, StrategicPatch, line_at
from talosmith.desired.config.problems import ConfigError, dotted
from talosmith.desired.config.schema.documents import Identity, identity, label
from talosmith.errors import Problem


def check_known(patch: Patch, talos: Line) -> None:
    """Raise `ConfigError` with all that nodes of this Talos would refuse to load."""
    if isinstance(patch, StrategicPatch) and (problems := list(_problems(patch, talos))):
        raise ConfigError(problems)


_HEAD = {"apiVersion", "kind", "name"}


def twice(patch: Patch) -> Iterator[Problem]:
    """Documents that a patch holds twice: talosctl 1.14 merges the second into the first, older ones refuse both."""
    seen: dict[Identity, int] = {}
    for step in patch.steps if isinstance(patch, StrategicPatch) else ():
        if isinstance(step, Overlay) and step.document.keys() - _HEAD:  # a head alone is left of a deletion
            line, key = line_at(step.node, ()), identity(step.document)
            if key in seen:
                what = f"{label(key)} is there twice; the first is in line {seen[key]}"
                yield Problem("warning", what, fix="write it as one document", file=patch.source, line=line)
            seen.setdefault(key, line)


def _problems(patch: StrategicPatch, talos: Line) -> Iterator[Problem]:
    overlays = [step for step in patch.steps if isinstance(step, Overlay)]
    for found in unknown_to([one.document for one in overlays], talos):
        overlay = overlays[found.index]
        yield Problem(
            "error",
            f"{_named(found, overlay)} is of Talos {_text(found.since)}; "
            f"nodes run Talos {_text(talos)}, which refuses it",
            fix=_fix(found),
            file=patch.source,
            line=line_at(overlay.node, found.path),
        )


def _named(found: Unknown, overlay: Overlay) -> str:
    if not found.path:
        return f"the document {label(identity(overlay.document))}"
    place = dotted(found.path)
    return place if not overlay.document.get("kind") else f"{label(identity(overlay.document))}: {place}"


def _fix(found: Unknown) -> str:
    newer = f"set talos_version to v{_text(found.since)} or later"
    return f"write {found.instead} instead, or {newer}" if found.instead else f"remove it, or {newer}"


def _text(line: Line) -> str:
    return "{}.{}".format(*line)
