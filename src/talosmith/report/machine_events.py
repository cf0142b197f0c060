"""Talos' machine events as one line of text each, and as data with Talos' own names."""

from __future__ import annotations

from typing import Any

from talosmith.observed.machine_events import NodeEvent
from talosmith.report.data import plain
from talosmith.report.style import Style
from talosmith.report.text import one_line
from talosmith.talos import events as talos
from talosmith.talos.views import MachineStatus

_TYPES: dict[type, tuple[str, str]] = {  # Talos' name of the message, and the word in text
    MachineStatus: ("MachineStatusEvent", "stage"),
    talos.SequenceStep: ("SequenceEvent", "sequence"),
    talos.PhaseStep: ("PhaseEvent", "phase"),
    talos.TaskStep: ("TaskEvent", "task"),
    talos.ServiceStep: ("ServiceStateEvent", "service"),
    talos.AddressesChanged: ("AddressEvent", "address"),
    talos.ConfigProblem: ("ConfigErrorEvent", "config"),
    talos.Restarting: ("RestartEvent", "restart"),
}
_ACTIONS = {"start": "started", "stop": "finished", "noop": ""}
_WIDTH = max(len(word) for _, word in _TYPES.values())


def as_line(found: NodeEvent, width: int, style: Style) -> str:
    """Time by the node's clock, node, kind and what happened. Steps of a sequence are dimmed: there are many."""
    what = found.event.what
    word = _TYPES[type(what)][1] if type(what) in _TYPES else "other"
    text = f"{word.ljust(_WIDTH)}  {one_line(message(what))}".rstrip()
    if isinstance(what, talos.PhaseStep | talos.TaskStep):
        text = style.dim(text)
    elif _failed(what):
        text = style.red(text)
    return f"{style.dim(_time(found))}  {found.node.ljust(width)}  {text}"


def as_data(found: NodeEvent) -> dict[str, Any]:
    what = found.event.what
    kind = what.type if isinstance(what, talos.Unknown) else _TYPES[type(what)][0]
    return {
        "time": _time(found),
        "node": found.node,
        "type": kind,
        "message": message(what),
        "details": plain(what),
        "id": found.event.id,
        "actor": found.event.actor,
    }


def message(what: talos.Happening) -> str:
    """`etcd running, healthy: Health check successful`"""
    match what:
        case MachineStatus():
            unmet = "; ".join(f"{one.name}: {one.reason}" for one in what.unmet)
            return f"{what.stage}, {'ready' if what.ready else 'not ready'}" + (f": {unmet}" if unmet else "")
        case talos.SequenceStep():
            done = f"failed: {what.error}" if what.error else _ACTIONS.get(what.action, what.action)
            return f"{what.sequence} {done}".rstrip()
        case talos.PhaseStep():
            return f"{what.phase} {_ACTIONS.get(what.action, what.action)}".rstrip()
        case talos.TaskStep():
            return f"{what.task} {_ACTIONS.get(what.action, what.action)}".rstrip()
        case talos.ServiceStep():
            health = {True: ", healthy", False: ", unhealthy", None: ""}[what.healthy]
            return f"{what.service} {what.action}{health}" + (f": {what.message}" if what.message else "")
        case talos.AddressesChanged():
            return f"{what.hostname}: {', '.join(what.addresses) or 'no addresses'}"
        case talos.ConfigProblem():
            return f"machine config rejected: {what.error}"
        case talos.Restarting():
            return "machine restarts"
        case talos.Unknown():
            return what.type


def _failed(what: talos.Happening) -> bool:
    return (
        isinstance(what, talos.ConfigProblem)
        or (isinstance(what, talos.SequenceStep) and bool(what.error))
        or (isinstance(what, talos.ServiceStep) and (what.action == "failed" or what.healthy is False))
    )


def _time(found: NodeEvent) -> str:
    return found.event.at.strftime("%Y-%m-%dT%H:%M:%SZ")
