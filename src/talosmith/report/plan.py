"""A plan as people read it before they confirm it: by node, what and why, every changed value, every disruption."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from talosmith.plan.step import SEVERITY, Plan
from talosmith.report import plan_content as content
from talosmith.report.plan_content import Data, Steps, total
from talosmith.report.style import Style, wrapped
from talosmith.report.text import one_line

__all__ = ["as_text", "settings_lines", "total"]

_MARKS: Mapping[str, str] = {"none": "•", "restart": "↻", "reboot": "↻", "drain": "⇣", "wipe": "✗"}
_DETAIL = " " * 6


def as_text(plan: Plan[Any] | Data, style: Style, width: int | None = None) -> str:
    """`width`: columns at which long lines are continued, indented; without it each line is whole, for `grep`."""
    lines = _lines(content.data_of(plan), style)
    return "\n".join(line for one in lines for line in wrapped(one, width))


def settings_lines(settings: Sequence[Data], style: Style, indent: str = _DETAIL) -> Iterator[str]:
    """Changed settings: + green, - red, ~ yellow."""
    colours = {"+": style.green, "-": style.red, "~": style.yellow}
    for one in settings:
        mark, text = content.setting(one)
        yield f"{indent}{colours[mark](mark)} {text}"


def _lines(data: Data, style: Style) -> Iterator[str]:
    steps: Steps = list(data["steps"])
    if steps:
        yield style.bold(f"Plan: {one_line(data['operation'])} {one_line(data['cluster'])}")
        for title, group, turns in content.groups(steps):
            yield ""
            yield style.bold(title)
            for step in group:
                yield from _step(step, turns[step["key"]], style)
        yield ""
    for note in data.get("notes", ()):
        yield f"{style.cyan('note:')} {one_line(note)}"
    for text, fix in content.drift(data):
        yield f"{style.yellow('drift:')} {text}" + (f": {fix}" if fix else "")
    for what in data.get("confirm", ()):
        yield f"{style.yellow('to be confirmed:')} {one_line(what)}"
    for block in data.get("blocked", ()):
        yield from _blocked(block, style)
    if data.get("blocked"):
        yield style.red(content.verdict(data))
    elif steps:
        yield _loudest(steps, style)(total(data))
    elif data.get("drift"):
        yield style.yellow(content.verdict(data))
    else:
        yield f"{style.green('✓')} {content.verdict(data)}"


def _blocked(block: Data, style: Style) -> Iterator[str]:
    names = f"{one_line(', '.join(block['nodes']))}: " if block["nodes"] else ""
    yield f"{style.red('blocked:')} {names}{one_line(block['cause'])}"
    yield from settings_lines(block["settings"], style)
    if block["symptoms"]:
        yield f"{_DETAIL}{style.dim('therefore:')} {one_line(', '.join(block['symptoms']))}"
    if block["fix"]:
        yield f"{_DETAIL}{style.dim('fix:')} {one_line(block['fix'])}"


def _step(step: Data, turn: str, style: Style) -> Iterator[str]:
    disruption = str(step["disruption"])
    colour = _colour(disruption, style)
    time = style.dim(f"  {before}") if (before := content.took_before(step)) else ""
    reason = style.dim(f" — {one_line(step['reason'])}") if step["reason"] else ""
    yield f"  {colour(_MARKS.get(disruption, '•'))} {one_line(step['title'])}{reason}{time}"
    yield from settings_lines(step.get("settings", ()), style)
    for line in step.get("machines", ()):
        yield f"{_DETAIL}{style.green('+')} {line}"
    means = content.MEANS.get(disruption, "" if disruption == "none" else one_line(disruption))
    if means:
        yield f"{_DETAIL}{colour(disruption + ':')} {means}" + (f"; {turn}" if turn else "")
    if step.get("effect"):
        yield f"{_DETAIL}{colour('etcd and API:') if means else 'etcd and API:'} {one_line(step['effect'])}"
    if pods := content.pods(step):
        yield f"{_DETAIL}{colour('pods:')} {pods}"
    for area, calls in content.host_calls(step):
        yield f"{_DETAIL}{style.dim(f'on the {area} host, if needed:')} {', '.join(calls)}"


def _colour(disruption: str, style: Style) -> Callable[[str], str]:
    if disruption == "wipe":
        return style.red
    return style.green if disruption == "none" else style.yellow


def _loudest(steps: Sequence[Data], style: Style) -> Callable[[str], str]:
    worst = max((str(step["disruption"]) for step in steps), key=lambda one: _SEVERITY.get(one, 0))
    return style.bold if worst == "none" else _colour(worst, style)


_SEVERITY: Mapping[str, int] = {str(name): severity for name, severity in SEVERITY.items()}
