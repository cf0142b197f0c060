"""The list one goes through at the end, point by point, and the commands to type next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from talosmith.plan.step import Stage
from talosmith.report.follow import RunSeen, StepSeen
from talosmith.report.style import Style
from talosmith.report.words import count, duration, listed, one_line


class Item(NamedTuple):
    """A point of the list. `ok` is None where it could not be found out, or nobody looked."""

    name: str
    ok: bool | None
    detail: str = ""


_STAGES: dict[Stage, str] = {  # in the order in which they are passed
    "resources": "resources exist",
    "machines": "machines are running",
    "configs": "machine configs are applied",
    "etcd": "etcd is bootstrapped",
    "api": "Kubernetes API is ready",
    "nodes": "nodes are Ready",
    "seeds": "NoCloud seeds are deleted",
    "health": "cluster is healthy",
    "files": "talosconfig and kubeconfig are written",
    "removal": "removed",
    "": "other steps are done",
}


def of_run(run: RunSeen) -> list[Item]:
    """The stages of a bring-up in their order, as far as the run had to do with them."""
    return [
        _stage(name, steps)
        for stage, name in _STAGES.items()
        if (steps := [step for step in run.steps.values() if step.stage == stage])
    ]


def as_text(items: Iterable[Item | tuple[str, bool | None, str]], style: Style) -> str:
    shown = [Item(*item) for item in items]
    width = max((len(one_line(item.name)) for item in shown), default=0)
    return "\n".join(_line(item, width, style) for item in shown)


def next_commands(commands: Sequence[tuple[str, str]], style: Style) -> str:
    """(command, what it does), one under the other."""
    if not commands:
        return ""
    width = max(len(one_line(command)) for command, _ in commands)
    lines = [
        f"  {style.cyan(one_line(command).ljust(width))}  {style.dim('# ' + one_line(what)) if what else ''}".rstrip()
        for command, what in commands
    ]
    return "\n".join([style.bold("next:"), *lines])


def _line(item: Item, width: int, style: Style) -> str:
    mark = {True: style.green("✓"), False: style.red("✗"), None: style.yellow("?")}[item.ok]
    detail = one_line(item.detail)
    return f"{mark} {one_line(item.name).ljust(width)}  {style.dim(detail) if item.ok else detail}".rstrip()


def _stage(name: str, steps: list[StepSeen]) -> Item:
    failed = [step for step in steps if step.state == "failed"]
    done = [step for step in steps if step.state == "done"]
    if failed:
        first = failed[0]
        others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        about = f"{first.subject}: " if first.subject else ""
        return Item(name, False, f"{about}{first.text or 'failed'}{others}")
    if len(done) < len(steps):
        left = [step for step in steps if step.state != "done"]
        names = listed(list(dict.fromkeys(step.subject or step.title for step in left)))
        last = next((step.text for step in left if step.began is not None and step.text), "")
        return Item(name, None, f"left: {names}" + (f"; {last}" if last else ""))
    nodes = list(dict.fromkeys(step.subject for step in steps if step.subject))
    return Item(name, True, f"{count(len(nodes), 'node')}: {listed(nodes)}" if nodes else _last_word(steps))


def _last_word(steps: list[StepSeen]) -> str:
    return ", ".join(
        f"{step.title} ({duration(step.ended - step.began)})" if step.ended and step.began else step.title
        for step in steps
    )
