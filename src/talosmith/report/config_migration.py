"""What `config migrate` shows: each file as a diff, what is not moved, the proof that both forms mean the same."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from talosmith.desired.config.migrate.inventory import FileChange, InventoryMigration
from talosmith.desired.config.migrate.proof import NodeProof, why_by_talos
from talosmith.report.style import Style
from talosmith.report.text import one_line

# A patch may hold secrets, and a diff is pasted into tickets.
_KEYED = re.compile(
    r"""^(\s*(?:- )?["']?[\w.-]*(?:token|secret|passw\w*|passphrase|key|auth)["']?\s*:\s*)(?![|>])(\S.*)$""",
    re.IGNORECASE,
)
_CODED = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
_KINDS = {(True, False): "create", (False, False): "update", (False, True): "delete"}


def data(
    found: InventoryMigration,
    proofs: Sequence[NodeProof],
    *,
    to: str,
    written: bool,
    talosctl: str,
    steps: Sequence[str],
) -> dict[str, Any]:
    return {
        "to": to,
        "written": written,
        "files": [
            {"path": change.path, "change": _kind(change), "diff": list(diff_lines(change))}
            for change in found.changes
        ],
        "moved": [
            {
                "patch": one.source,
                "line": moved.line or None,
                "from": moved.old,
                "to": moved.new or None,
                "reason": moved.reason,
            }
            for one in found.migrations
            for moved in one.moved
        ],
        "kept": [
            {
                "patch": source,
                "line": kept.line or None,
                "field": kept.old,
                "reason": kept.reason,
                "fix": kept.fix or None,
                "blocking": kept.blocking,
            }
            for source, kept in found.kept
        ],
        "proof": [
            {
                "node": one.node,
                "equal": one.equal,
                "error": one.error or None,
                "differences": [asdict(change) for change in one.differences],
                "by_talos": [{**asdict(change), "reason": why_by_talos(change)} for change in one.by_talos],
            }
            for one in proofs
        ],
        "talosctl": talosctl or None,
        "next": list(steps),
    }


def text(
    found: InventoryMigration,
    proofs: Sequence[NodeProof],
    style: Style,
    *,
    explain: bool,
    talosctl: str,
    written: bool,
) -> str:
    lines = [line for change in found.changes for line in _coloured(diff_lines(change), style)]
    if explain:
        lines += _explained(found, style)
    lines += _kept(found, style)
    lines += _proven(proofs, style, talosctl)
    if not found.changes:
        lines += (
            ["", "no patch has a field of v1alpha1 to move"]
            if lines
            else ["no patch has a field of v1alpha1 to move"]
        )
    elif written:
        lines += [f"{style.green('✓')} {_names(found, 'written')}"]
    return "\n".join(lines)


def _names(found: InventoryMigration, verb: str) -> str:
    names = ", ".join(change.path for change in found.changes)
    return f"{len(found.changes)} file{'' if len(found.changes) == 1 else 's'} {verb}: {names}"


def diff_lines(change: FileChange) -> Iterator[str]:
    """A unified diff in which values that look like secrets are masked."""
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    names = (
        "/dev/null" if change.before is None else change.path,
        "/dev/null" if change.after is None else change.path,
    )
    for line in difflib.unified_diff(before, after, *names, lineterm=""):
        mark, rest = line[:1], line[1:]
        yield line if line.startswith(("---", "+++", "@@")) else mark + masked(rest)


def masked(line: str) -> str:
    return _CODED.sub("***", _KEYED.sub(r"\1***", line))


def _kind(change: FileChange) -> str:
    return _KINDS[change.before is None, change.after is None]


def _coloured(lines: Iterator[str], style: Style) -> Iterator[str]:
    for line in lines:
        if line.startswith(("---", "+++")):
            yield style.bold(line)
        elif line.startswith("+"):
            yield style.green(line)
        elif line.startswith("-"):
            yield style.red(line)
        else:
            yield style.cyan(line) if line.startswith("@@") else line


def _explained(found: InventoryMigration, style: Style) -> Iterator[str]:
    for one in found.migrations:
        if one.moved:
            yield ""
            yield style.bold(one.source)
        for moved in one.moved:
            yield f"  {moved.old} → {moved.new or 'nothing'}"
            yield style.dim(f"      {one_line(moved.reason)}")


def _kept(found: InventoryMigration, style: Style) -> Iterator[str]:
    if not found.kept:
        return
    yield ""
    yield style.bold("not moved")
    for source, kept in found.kept:
        place = source if ":" in source or not kept.line else f"{source}:{kept.line}"
        mark = style.red("✗") if kept.blocking else style.yellow("•")
        yield f"  {mark} {place}: {kept.old}: {one_line(kept.reason)}"
        if kept.fix:
            yield f"      fix: {one_line(kept.fix)}"


def _proven(proofs: Sequence[NodeProof], style: Style, talosctl: str) -> Iterator[str]:
    if not proofs:
        return
    yield ""
    equal = [one.node for one in proofs if one.equal]
    if equal:
        by = "talosmith" + (f" and talosctl {talosctl}" if talosctl else "")
        yield f"{style.green('✓')} both forms mean the same, by {by}: {', '.join(equal)}"
    for one in proofs:
        if one.error:
            yield f"{style.red('✗')} {one.node}: {one_line(one.error)}"
        elif one.differences:
            yield f"{style.red('✗')} {one.node}: the two forms differ"
            yield from (f"    {one_line(str(change))}" for change in one.differences)
    own: dict[str, list[str]] = {}
    for one in proofs:
        for change in one.by_talos:
            names = own.setdefault(why_by_talos(change), [])
            if change.name not in names:
                names.append(change.name)
    if own:
        yield "changes of Talos 1.14 itself, with or without these patches:"
        yield from (f"  • {why} {style.dim(f'({names[0]})')}" for why, names in own.items())
