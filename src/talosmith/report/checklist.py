"""The checklist at the end of a run, and the commands to run next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from talosmith.plan.step import Stage
from talosmith.report.follow import RunSeen, StepSeen
from talosmith.report.style import Style
from talosmith.report.text import count, duration, listed, one_line


class Item(NamedTuple):
    """A point of the list. `ok` is None where the result is not known: steps are left, or were not run."""

    name: str
    ok: bool | None
    detail: str = ""


_STAGES: dict[Stage, tuple[str, str]] = {  # what holds once all steps are done, and if one has failed; in their order
    "resources": ("resources exist", "resources are missing"),
    "machines": ("machines are running", "machines are not running"),
    "configs": ("machine configs are applied", "machine configs are not applied"),
    "etcd": ("etcd is bootstrapped", "etcd is not bootstrapped"),
    "api": ("Kubernetes API is ready", "Kubernetes API is not ready"),
    "nodes": ("nodes have joined", "nodes have not joined"),
    "addons": ("add-ons are ready", "add-ons are not ready"),
    "seeds": ("NoCloud seeds are deleted", "NoCloud seeds are not deleted"),
    "health": ("cluster is healthy", ""),  # the failed step's own words say what is not
    "files": ("talosconfig and kubeconfig are written", "talosconfig and kubeconfig are not written"),
    "removal": ("removed", "not removed"),
    "": ("other steps are done", "other steps failed"),
}


def of_run(run: RunSeen) -> list[Item]:
    """The stages of a bring-up in their order, as far as the run had steps of them."""
    return [
        _stage(names, steps)
        for stage, names in _STAGES.items()
        if (steps := [step for step in run.steps.values() if step.stage == stage])
    ]


def as_text(items: Iterable[Item | tuple[str, bool | None, str]], style: Style) -> str:
    """Details in a column; of what has failed, directly behind the fact, for there the detail is what matters."""
    shown = [Item(*item) for item in items]
    width = max((len(one_line(item.name)) for item in shown if item.ok is not False), default=0)
    return "\n".join(_line(item, width, style) for item in shown)


def next_commands(commands: Sequence[str], style: Style) -> str:
    """Commands to paste, one under the other; without remarks, which would not fit beside them."""
    lines = [f"  {style.cyan(one_line(command))}" for command in commands]
    return "\n".join([style.bold("next:"), *lines]) if lines else ""


def _line(item: Item, width: int, style: Style) -> str:
    name, detail = one_line(item.name), one_line(item.detail)
    if item.ok is False:
        return f"{style.red('✗')} {': '.join(part for part in (name, detail) if part)}"
    mark = style.green("✓") if item.ok else style.yellow("?")
    return f"{mark} {name.ljust(width)}  {style.dim(detail) if item.ok else detail}".rstrip()


def _stage(names: tuple[str, str], steps: list[StepSeen]) -> Item:
    name, contrary = names
    failed = [step for step in steps if step.state == "failed"]
    done = [step for step in steps if step.state == "done"]
    if failed:
        first = failed[0]
        others = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        about = f"{first.subject}: " if first.subject else ""
        text = f"{about}{first.text or 'failed'}{others}"
        return Item(contrary, False, text) if contrary else Item(text, False)
    if len(done) < len(steps):
        left = [step for step in steps if step.state != "done"]
        which = listed(list(dict.fromkeys(step.subject or step.title for step in left)))
        last = next((step.text for step in left if step.began is not None and step.text), "")
        return Item(name, None, f"left: {which}" + (f"; {last}" if last else ""))
    if all(step.stage == "addons" for step in steps):
        addons = list(dict.fromkeys(step.key.split("/")[1] for step in steps))
        return Item(name, True, f"{count(len(addons), 'add-on')}: {listed(addons)}")
    nodes = list(dict.fromkeys(step.subject for step in steps if step.subject))
    return Item(name, True, f"{count(len(nodes), 'node')}: {listed(nodes)}" if nodes else _last_word(steps))


def _last_word(steps: list[StepSeen]) -> str:
    took = sum(step.ended - step.began for step in steps if step.ended and step.began)
    return f"took {duration(took)}"
