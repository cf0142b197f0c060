"""A plan as people read it before they say yes: by node, what and why, and all that it disturbs, in full words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from talosmith.model.resources import shown
from talosmith.plan.step import SEVERITY, Disruption, Plan
from talosmith.report.critical import expected_time, without_implied
from talosmith.report.style import Style
from talosmith.report.words import count, duration, listed, one_line

_MARKS: Mapping[str, str] = {"none": "•", "restart": "↻", "reboot": "↻", "drain": "⇣", "wipe": "✗"}
_MEANS: Mapping[str, str] = {
    "restart": "services restart; the machine stays up",
    "reboot": "the machine restarts, and is away meanwhile",
    "drain": "its pods end here and start again on other nodes",
    "wipe": "what it holds is lost for good",
}
_NOUNS: tuple[tuple[Disruption, str], ...] = (("restart", "restart"), ("drain", "drain"), ("wipe", "wipe"))

_NODE_CALLS = ("file", "kube", "machine", "resource", "talos")  # calls of other areas change the provider's host

_RESOURCE = "resource/"  # how the keys of their steps begin

_Steps = list[Mapping[str, Any]]


def as_text(plan: Plan[Any] | Mapping[str, Any], style: Style) -> str:
    """`plan` may also be what `Plan.as_data()` made of one, such as the content of a plan file."""
    data = plan.as_data() if isinstance(plan, Plan) else plan
    return "\n".join(_lines(data, style))


def total(plan: Plan[Any] | Mapping[str, Any]) -> str:
    """`12 steps on 5 nodes, no reboot, about 1 min 40 s`"""
    data = plan.as_data() if isinstance(plan, Plan) else plan
    steps: _Steps = list(data["steps"])
    if not steps:
        return "nothing to do"
    nodes = len({step["subject"] for step in steps if step["subject"]})
    parts = [count(len(steps), "step") + (f" on {count(nodes, 'node')}" if nodes else "")]
    reboots = sum(step["disruption"] == "reboot" for step in steps)
    parts.append(count(reboots, "reboot") if reboots else "no reboot")
    for disruption, noun in _NOUNS:
        number = sum(step["disruption"] == disruption for step in steps)
        if number:
            parts.append(count(number, noun))
    seconds, known = expected_time((step["key"], step["needs"], step.get("expected")) for step in steps)
    if seconds > 0:
        parts.append(f"about {duration(seconds)}" if known else f"{duration(seconds)} or more")
    return ", ".join(parts)


def _lines(data: Mapping[str, Any], style: Style) -> Iterator[str]:
    operation, cluster = one_line(data["operation"]), one_line(data["cluster"])
    steps: _Steps = list(data["steps"])
    if steps:
        yield style.bold(f"{operation} {cluster}")
        after = _order(steps)
        for names, group in _groups(steps, after):
            yield ""
            resources = all(step["key"].startswith(_RESOURCE) for step in group)
            yield style.bold(", ".join(names) or ("resources" if resources else "the cluster as a whole"))
            for step in group:
                yield from _step(step, after[step["key"]], style)
        yield ""
    for note in data.get("notes", ()):
        yield f"{style.cyan('note:')} {one_line(note)}"
    for what in data.get("confirm", ()):
        yield f"{style.yellow('to be confirmed:')} {one_line(what)}"
    for why in data.get("blocked", ()):
        yield f"{style.red('blocked:')} {one_line(why)}"
    if data.get("blocked"):
        yield style.red(f"{operation} {cluster} must not be run" + (f": {total(data)}" if steps else ""))
    elif steps:
        yield _loudest(steps, style)(total(data))
    else:
        yield f"{style.green('✓')} {_nothing(operation, cluster)}"


def _nothing(operation: str, cluster: str) -> str:
    if operation == "up":
        return f"nothing to do: {cluster} is as the inventory says"
    return f"nothing to do: {operation} finds nothing left to change on {cluster}"


def _order(steps: _Steps) -> dict[str, str]:
    """For each step that disturbs something, the other nodes that it waits for: what is done one after the other."""
    subjects = {step["key"]: one_line(step["subject"]) for step in steps}
    needs = without_implied({step["key"]: list(step["needs"]) for step in steps})
    return {
        step["key"]: ""
        if step["disruption"] == "none"
        else listed(sorted({subjects[need] for need in needs[step["key"]]} - {"", subjects[step["key"]]}))
        for step in steps
    }


def _groups(steps: _Steps, after: Mapping[str, str]) -> Iterator[tuple[list[str], _Steps]]:
    """Nodes in the order of the plan, the cluster's own steps where their turn is; nodes of the same steps as one."""
    by_subject: dict[str, _Steps] = {}
    for step in steps:
        subject = _RESOURCE if step["key"].startswith(_RESOURCE) else one_line(step["subject"])
        by_subject.setdefault(subject, []).append(step)
    alike: dict[tuple[object, ...], list[str]] = {}
    for subject, group in by_subject.items():
        content = tuple((*_content(step), after[step["key"]]) for step in group)
        alike.setdefault((subject in ("", _RESOURCE), content), []).append(subject)
    for subjects in alike.values():
        yield [name for name in subjects if name not in ("", _RESOURCE)], by_subject[subjects[0]]


def _content(step: Mapping[str, Any]) -> tuple[object, ...]:
    """All that is shown of a step."""
    return (*(step.get(part) for part in ("does", "reason", "disruption", "effect", "expected")), _host(step))


def _step(step: Mapping[str, Any], after: str, style: Style) -> Iterator[str]:
    disruption = str(step["disruption"])
    colour = _colour(disruption, style)
    seconds = step.get("expected")
    time = style.dim(f"  ({duration(seconds)})") if isinstance(seconds, int | float) else ""
    reason = style.dim(f" — {one_line(step['reason'])}") if step["reason"] else ""
    yield f"  {colour(_MARKS.get(disruption, '•'))} {one_line(step['does'])}{reason}{time}"
    means = _MEANS.get(disruption, "" if disruption == "none" else one_line(disruption))
    if means:
        yield f"      {colour(disruption + ':')} {means}" + (f"; not before {after} is done" if after else "")
    if step.get("effect"):
        yield f"      {colour('etcd and API:') if means else 'etcd and API:'} {one_line(step['effect'])}"
    for one in step.get("settings", ()):
        before, after = one_line(shown(one["before"])), one_line(shown(one["after"]))
        yield f"      {style.dim(one_line(one['name']) + ':')} " + (
            after if one["before"] is None else f"{before} → {after}"
        )
    for area, calls in _host(step):
        yield f"      {style.dim(f'on the {area} host, if needed:')} {', '.join(calls)}"


def _host(step: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What a step may change on the provider's host besides the machine: `libvirt` and `pool-define, …`."""
    found: dict[str, list[str]] = {}
    for call in step.get("calls", ()):
        area, _, verb = one_line(call).partition(":")
        if area not in _NODE_CALLS:
            found.setdefault(area, []).append(verb)
    return tuple((area, tuple(verbs)) for area, verbs in found.items())


def _colour(disruption: str, style: Style) -> Callable[[str], str]:
    if disruption == "wipe":
        return style.red
    return style.green if disruption == "none" else style.yellow


def _loudest(steps: Sequence[Mapping[str, Any]], style: Style) -> Callable[[str], str]:
    worst = max((str(step["disruption"]) for step in steps), key=lambda one: _SEVERITY.get(one, 0))
    return style.bold if worst == "none" else _colour(worst, style)


_SEVERITY: Mapping[str, int] = {str(name): severity for name, severity in SEVERITY.items()}
