"""Where a finding about a node's config comes from: the patch that wrote the field last, with its file and line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from talosmith.desired.config.check.findings import Finding, Place
from talosmith.desired.config.nodes import MappingNode, line_of
from talosmith.desired.config.patch.apply import Overlay, Patch, StrategicPatch
from talosmith.desired.config.schema.documents import identity, label
from talosmith.errors import Problem

_WITH_FIX = re.compile(r"(.*) \(fix: (.*)\)", re.DOTALL)
_PARTS = re.compile(r'[^.\[\]"]+')


def problem_of(finding: Finding, node: str, patches: Sequence[Patch]) -> Problem:
    """The finding with its place; it names the node only where no patch is to blame, as nodes share patches."""
    file, line = _written(Place(finding.identity, finding.path), patches)
    matched = _WITH_FIX.fullmatch(str(finding))
    what, fix = matched.groups() if matched else (str(finding), "")
    if finding.other is not None:
        what += f"; {_other(finding.other, patches)}"
    return Problem(finding.severity, what if file else f"{node}: {what}", fix=fix, file=file, line=line)


def _other(place: Place, patches: Sequence[Patch]) -> str:
    file, line = _written(place, patches)
    named = ": ".join(part for part in (label(place.document) if place.document[0] else "", place.path) if part)
    return (
        f"{named} is in {file}{f':{line}' if line else ''}" if file else f"{named} is in every config for this Talos"
    )


def _written(place: Place, patches: Sequence[Patch]) -> tuple[str, int]:
    """File and line; nothing if no patch wrote it."""
    keys = _PARTS.findall(place.path.partition("[")[0])
    for patch in reversed(patches):
        for step in patch.steps if isinstance(patch, StrategicPatch) else ():
            if isinstance(step, Overlay) and identity(step.document) == place.document:
                line = _line(step, keys)
                if line is not None:
                    return patch.source, line
    return "", 0


def _line(step: Overlay, keys: Sequence[str]) -> int | None:
    """None: the patch does not write the field; 0: its text is not known, as of those in the inventory itself."""
    node, line = step.node, line_of(step.node)
    for key in keys:
        found = (
            [(name, value) for name, value in node.value if name.value == key]
            if isinstance(node, MappingNode)
            else []
        )
        if not found:
            return None
        line, node = line_of(found[0][0]), found[0][1]
    return line
