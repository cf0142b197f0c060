"""Every kind of Talos event is one line that a person reads, and data with Talos' own names."""

from __future__ import annotations

import io

import pytest

from talosmith.observed.machine_events import NodeEvent, in_order
from talosmith.report.machine_events import as_data, as_line, message
from talosmith.report.style import Style
from talosmith.talos import events
from talosmith.talos.views import MachineStatus, Unmet

EARLY, LATE = "dbtp9s8000001l800ae0", "dbtp9sg000001l800ghg"


@pytest.mark.parametrize(
    ("what", "kind", "text"),
    [
        (MachineStatus("running", True, ()), "MachineStatusEvent", "running, ready"),
        (
            MachineStatus("booting", False, (Unmet("services", "etcd is not running"),)),
            "MachineStatusEvent",
            "booting, not ready: services: etcd is not running",
        ),
        (events.SequenceStep("boot", "start", ""), "SequenceEvent", "boot started"),
        (events.SequenceStep("reset", "stop", "no quorum"), "SequenceEvent", "reset failed: no quorum"),
        (events.PhaseStep("startEverything", "stop"), "PhaseEvent", "startEverything finished"),
        (events.TaskStep("stopAllServices", "start"), "TaskEvent", "stopAllServices started"),
        (
            events.ServiceStep("etcd", "running", "Health check failed", False),
            "ServiceStateEvent",
            "etcd running, unhealthy: Health check failed",
        ),
        (events.AddressesChanged("cp-1", ("10.0.0.1",)), "AddressEvent", "cp-1: 10.0.0.1"),
        (events.ConfigProblem("unknown key"), "ConfigErrorEvent", "machine config rejected: unknown key"),
        (events.Restarting(), "RestartEvent", "machine restarts"),
        (events.Unknown("NewEvent"), "NewEvent", "NewEvent"),
    ],
)
def test_kinds(what: events.Happening, kind: str, text: str) -> None:
    found = NodeEvent("cp-1", events.Event(EARLY, "", what))
    data = as_data(found)
    assert message(what) == text
    assert (data["type"], data["message"], data["time"]) == (kind, text, "2026-11-16T23:42:41Z")
    line = as_line(found, 6, Style(io.StringIO()))
    assert line.startswith("2026-11-16T23:42:41Z  cp-1    ") and line.endswith(text)


def test_events_of_several_nodes_are_in_time_order_and_those_of_one_node_in_their_own() -> None:
    def event(node: str, id_: str, task: str) -> NodeEvent:
        return NodeEvent(node, events.Event(id_, "", events.TaskStep(task, "start")))

    given = [event("a", LATE, "3"), event("b", EARLY, "1"), event("b", EARLY, "2"), event("b", LATE, "4")]
    assert [one.event.what.task for one in in_order(given)] == ["1", "2", "3", "4"]  # type: ignore[union-attr]
