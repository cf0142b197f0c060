"""A plan as Markdown, for the comment of a pull request: the same content as the text, changed values as a diff."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from talosmith.plan.step import Plan
from talosmith.report import plan_content as content
from talosmith.report.plan_content import Data, Steps
from talosmith.report.text import one_line

# Text of nodes and providers must not become markup, a link, HTML or the mention of a person.
_ACTIVE = re.compile(r"[\\*_\[\]<>|#@~!]")


def as_markdown(plan: Plan[Any] | Data) -> str:
    return "\n".join(_lines(content.data_of(plan)))


def _lines(data: Data) -> Iterator[str]:
    steps: Steps = list(data["steps"])
    yield f"## Plan: {_text(data['operation'])} {_text(data['cluster'])}"
    yield ""
    blocked, drift = list(data.get("blocked", ())), content.drift(data)
    done = "✓ " if not (steps or blocked or data.get("drift")) else ""
    yield f"**{done}{_text(content.total(data) if steps and not blocked else content.verdict(data))}**"
    for block in blocked:
        yield ""
        yield from _blocked(block)
    for title, group, turns in content.groups(steps):
        yield from ("", f"### {_text(title)}", "")
        for step in group:
            yield from _step(step, turns[step["key"]])
    more = [f"- drift: {_text(text)}" + (f": {_text(fix)}" if fix else "") for text, fix in drift]
    more += [f"- to be confirmed: {_text(what)}" for what in data.get("confirm", ())]
    more += [f"- note: {_text(note)}" for note in data.get("notes", ())]
    more += [f"- {one['severity']}: {_text(_place(one) + one['message'])}" for one in data.get("warnings", ())]
    if more:
        yield ""
        yield from more


def _place(problem: Data) -> str:
    parts = (problem["file"], problem["line"], problem["column"])
    return "".join(f"{part}:" for part in parts if part) + " " if problem["file"] else ""


def _blocked(block: Data) -> Iterator[str]:
    names = f"{', '.join(block['nodes'])}: " if block["nodes"] else ""
    yield f"- **blocked:** {_text(names + block['cause'])}"
    yield from _diff(block["settings"])
    if block["symptoms"]:
        yield f"  - therefore: {_text(', '.join(block['symptoms']))}"
    if block["fix"]:
        yield f"  - fix: {_text(block['fix'])}"


def _step(step: Data, turn: str) -> Iterator[str]:
    disruption = str(step["disruption"])
    loud = f"**{_text(disruption)}**: " if disruption != "none" else ""
    reason = f" — {_text(step['reason'])}" if step["reason"] else ""
    before = f" · {took}" if (took := content.took_before(step)) else ""
    yield f"- {loud}{_text(step['title'])}{reason}{before}"
    yield from _diff(step.get("settings", ()))
    yield from (f"  - {_text(line)}" for line in step.get("machines", ()))
    if means := content.MEANS.get(disruption, ""):
        yield f"  - {means}" + (f"; {_text(turn)}" if turn else "")
    if step.get("effect"):
        yield f"  - etcd and API: {_text(step['effect'])}"
    if pods := content.pods(step):
        yield f"  - pods: {_text(pods)}"
    for area, calls in content.host_calls(step):
        yield f"  - on the {_text(area)} host, if needed: {_text(', '.join(calls))}"


def _diff(settings: Sequence[Data]) -> Iterator[str]:
    if not settings:
        return
    yield from ("", "  ```diff")
    for one in settings:
        mark, text = content.setting(one)
        removed, added = content.items(one)
        if removed or added:
            yield from (_fenced(f"- {one_line(one['name'])}: {item}") for item in removed)
            yield from (_fenced(f"+ {one_line(one['name'])}: {item}") for item in added)
        elif mark == "~" and not (one.get("masked") and one["before"] == one["after"]):
            name, before, after = one_line(one["name"]), content.value(one["before"]), content.value(one["after"])
            yield _fenced(f"- {name}: {before}")
            yield _fenced(f"+ {name}: {after}")
        else:
            yield _fenced(f"{'!' if mark == '~' else mark} {text}")
    yield from ("  ```", "")


def _fenced(line: str) -> str:
    return "  " + line.replace("```", "'''")


def _text(text: object) -> str:
    return _ACTIVE.sub(lambda found: f"&#{ord(found[0])};", one_line(text))
