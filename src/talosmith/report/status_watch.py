"""`status --watch`: at a terminal one table that is kept up to date, elsewhere a new one after each change.

Nodes that differ from the table before are marked, and the latest changes are listed below with their time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, TextIO

from talosmith.observed.phase import shown
from talosmith.observed.status import ClusterStatus, NodeStatus
from talosmith.report.data import as_yaml, envelope
from talosmith.report.painter import Painter, Size, can_move
from talosmith.report.status import as_data, lines
from talosmith.report.style import Line, Style
from talosmith.report.text import rfc3339

_LISTED = 8  # changes below the table
_MARKED_FOR = 10.0  # seconds: long enough to be noticed


class StatusWatch:
    """Prints one state after the other; `as_json` and `as_yaml` one document for each that differs."""

    def __init__(
        self, stream: TextIO, *, as_json: bool = False, as_yaml: bool = False, size: Size | None = None
    ) -> None:
        self._stream = stream
        self._as_json, self._as_yaml = as_json, as_yaml
        self._moves = can_move(stream) and not as_json and not as_yaml
        self._painter = Painter(stream, size)
        self._before: ClusterStatus | None = None
        self._changes: list[tuple[float, str, str]] = []  # when, which node, and what changed
        self._changed_at: dict[str, float] = {}  # by node

    def show(self, status: ClusterStatus) -> None:
        new = list(_changes(self._before, status)) if self._before is not None else []
        self._changes = [*self._changes, *((status.at, name, text) for name, text in new)][-_LISTED:]
        self._changed_at.update((name, status.at) for name, _ in new)
        is_new = self._before is None or _compared(self._before) != _compared(status)
        self._before = status
        if self._moves:
            self._paint(status)
        elif is_new:
            self._print(status, {name for name, _ in new})

    def _paint(self, status: ClusterStatus) -> None:
        columns, rows = self._painter.size()
        recent = {name for name, at in self._changed_at.items() if status.at - at < _MARKED_FOR}
        table = lines(status, columns - 1, recent)
        footer: list[Line] = [[], *map(_change_line, self._changes)] if self._changes else []
        footer += [[], [("dim", f"observed {rfc3339(status.at)}, refreshes every 2 s; Ctrl-C ends it")]]
        room = max(rows - 1, 2)
        if len(table) + len(footer) > room:  # changes give way first: the table has the state
            footer = footer[-2:]
        if len(table) + len(footer) > room:
            kept = max(room - len(footer) - 1, 1)
            table = [*table[:kept], [("dim", f"… {len(table) - kept} more lines; enlarge the window")]]
        self._painter.paint([*table, *footer])

    def _print(self, status: ClusterStatus, changed: set[str]) -> None:
        if self._as_json or self._as_yaml:
            data = envelope("Status", as_data(status))
            text = json.dumps(data) if self._as_json else f"---\n{as_yaml(data)}"
        else:
            style = Style(self._stream)
            head: Line = [("dim", f"observed {rfc3339(status.at)}")]
            text = style.fit("\n".join(map(style.line, [head, *lines(status, changed=changed), []])))
        self._stream.write(text + "\n")
        self._stream.flush()


def _changes(before: ClusterStatus, after: ClusterStatus) -> Iterator[tuple[str, str]]:
    """Node and what changed; facts of the cluster have its name."""
    nodes = {node.name: node for node in before.nodes}
    for node in after.nodes:
        was = nodes.pop(node.name, None)
        if was is None:
            yield node.name, f"new, {shown(node.phase)}"
        elif text := ", ".join(_node_changes(was, node)):
            yield node.name, text
    yield from ((name, "removed") for name in nodes)
    for what, was_on, is_on in (
        ("VIP", before.vip_holder, after.vip_holder),
        ("etcd leader", before.etcd_leader, after.etcd_leader),
    ):
        if was_on != is_on:
            yield after.cluster, f"{what} {was_on or 'none'} → {is_on or 'none'}"


def _node_changes(before: NodeStatus, after: NodeStatus) -> Iterator[str]:
    if before.phase != after.phase:
        yield f"{shown(before.phase)} → {shown(after.phase)}"
    for name, was, now in (
        ("Talos", before.talos, after.talos),
        ("Kubernetes", before.kubernetes, after.kubernetes),
        ("machine config", before.config, after.config),
        ("address", before.address, after.address),
    ):
        if was != now and was and now not in ("", "none") and was != "none":
            yield f"{name} {was} → {now}"
    if before.phase == after.phase and before.problems != after.problems:
        yield "; ".join(after.problems) or "healthy"


def _change_line(change: tuple[float, str, str]) -> Line:
    at, name, text = change
    return [("dim", f"{rfc3339(at)[11:19]}  "), ("yellow", f"{name}: "), ("", text)]


def _compared(status: ClusterStatus) -> dict[str, Any]:
    return {**as_data(status), "observed_at": ""}
