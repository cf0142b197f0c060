"""`status` as text and as data: a header with the facts of the cluster, and a line for each node.

The table fits the width: columns that the header has, or that can stand below a node, are left out if they must be.
Reasons stand below their node, whole, over several lines if they are long.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from talosmith.foreign_text import escaped_line
from talosmith.model.cluster import ENDPOINT_TO_COME
from talosmith.observed.addon_status import AddonStatus
from talosmith.observed.phase import Phase, shown
from talosmith.observed.status import ClusterStatus, ConfigState, NodeStatus, without_name
from talosmith.report.style import Line, Look, Style
from talosmith.report.text import count, listed, rfc3339

WIDTH = 80
_COLUMNS = ("NODE", "ROLE", "ADDRESS", "PHASE", "TALOS", "K8S", "CONFIG")
_NARROWER = (  # what is left out, the first that fits; versions are in the header, and differing ones below the node
    (), ("TALOS", "K8S"), ("TALOS", "K8S", "ROLE"), ("TALOS", "K8S", "ADDRESS"), ("TALOS", "K8S", "ADDRESS", "ROLE"),
    ("TALOS", "K8S", "ADDRESS", "ROLE", "CONFIG"),
)  # fmt: skip
_GAP = "  "
_CHANGED = "* "
_BELOW = "      "  # in front of what stands below a node
_CONFIG: dict[ConfigState, str] = {
    "in-sync": "in sync",
    "differs": "differs",
    "pending-reboot": "needs reboot",
    "unknown": "unknown",
    "none": "-",
}
_LOOKS: dict[Phase, Look] = {
    "ready": "green",
    "not-ready": "red",
    "unreachable": "red",
    "foreign": "red",
    "off": "red",
    "unknown": "red",
    "no-machine": "yellow",
    "maintenance": "yellow",
}
_SHOWN_ELSEWHERE = ("foreign", "unknown", "not-configured", "machine", "config", "pending-reboot")


def as_data(status: ClusterStatus) -> dict[str, Any]:
    return {
        "cluster": status.cluster,
        "observed_at": rfc3339(status.at),
        "endpoint": status.endpoint,
        "vip": {"address": status.vip, "holder": status.vip_holder} if status.vip else None,
        "etcd": {
            "bootstrapped": status.bootstrapped,
            "leader": status.etcd_leader,
            "members": status.etcd_members,
            "healthy_members": status.etcd_healthy,
        },
        "talos": {"wanted": status.wanted_talos, "running": list(_running(status, "talos"))},
        "kubernetes": {"wanted": status.wanted_kubernetes, "running": list(_running(status, "kubernetes"))},
        "in_sync": status.in_sync,
        "healthy": status.healthy,
        "problems": list(status.problems),
        "nodes": [_node_data(node) for node in status.nodes],
        "addons": [asdict(one) for one in status.addons],
    }


def _node_data(node: NodeStatus) -> dict[str, Any]:
    return {
        "name": node.name,
        "role": node.role,
        "address": node.address,
        "phase": node.phase,
        "talos": node.talos,
        "kubernetes": node.kubernetes,
        "etcd": node.etcd,
        "config": node.config,
        "cordoned_by": node.cordoned_by,
        "in_sync": not node.drift,
        "healthy": not node.problems,
        "drift": [{"kind": one.kind, "live": one.live, "wanted": one.wanted} for one in node.drift],
        "problems": list(node.problems),
    }


def as_text(status: ClusterStatus, style: Style, width: int = WIDTH) -> str:
    return "\n".join(style.line(line) for line in lines(status, width))


def lines(status: ClusterStatus, width: int = WIDTH, changed: Collection[str] | None = None) -> list[Line]:
    """`changed`: nodes that are marked; None where nothing is compared, and there are no marks."""
    return [*_header(status, width), [], *_table(status.nodes, width, changed)]


def _header(status: ClusterStatus, width: int) -> Iterator[Line]:
    unwell = sum(bool(node.problems) for node in status.nodes)
    health: tuple[Look, str] = ("green", "healthy")
    if status.has_problems:
        health = ("red", f"unhealthy ({count(unwell, 'node')})" if unwell else "unhealthy")
    elif not status.healthy:
        health = ("yellow", "not bootstrapped")
    yield [
        ("bold", escaped_line(status.cluster)),
        ("", ": "),
        ("green", "in sync") if status.in_sync else ("yellow", f"out of sync ({_adrift(status)})"),
        ("", ", "),
        health,
    ]
    for name, value in _facts(status):
        first, *rest = textwrap.wrap(escaped_line(value), width - 14) or [""]
        yield [("dim", f"  {name:<10}  "), ("", first)]
        for one in rest:
            yield [("", " " * 14 + one)]
    for problem in status.problems:
        yield from _wrapped(problem, "red", "  ", width)


def _facts(status: ClusterStatus) -> Iterator[tuple[str, str]]:
    unknown = ENDPOINT_TO_COME in status.endpoint
    yield "endpoint", "not known: the load balancer does not exist" if unknown else status.endpoint
    if status.vip:
        holder = f"on {status.vip_holder}" if status.vip_holder else "on no control plane"
        yield "VIP", f"{status.vip} {holder}"
    yield "etcd", _etcd(status)
    yield "Talos", _versions(status.wanted_talos, _running(status, "talos"))
    yield "Kubernetes", _versions(status.wanted_kubernetes, _running(status, "kubernetes"))
    if status.addons:
        yield "add-ons", _addons(status.addons)


def _adrift(status: ClusterStatus) -> str:
    nodes = sum(bool(node.drift) for node in status.nodes)
    addons = sum(not one.in_sync for one in status.addons)
    parts = [count(number, noun) for number, noun in ((nodes, "node"), (addons, "add-on")) if number]
    return ", ".join(parts)


def _addons(addons: tuple[AddonStatus, ...]) -> str:
    """`6 in sync; cert-manager differs`"""
    well = [one for one in addons if one.state in ("in-sync", "built-in")]
    words = {one.name: one.detail if one.state == "managed" else one.state.replace("-", " ") for one in addons}
    others = [f"{one.name} {words[one.name]}" for one in addons if one not in well]
    return "; ".join([*([f"{len(well)} in sync"] if well else []), *others])


def _etcd(status: ClusterStatus) -> str:
    if not status.etcd_members:
        return {True: "no member answers", False: "not bootstrapped", None: "unknown"}[status.bootstrapped]
    well = status.etcd_healthy == status.etcd_members
    members = count(status.etcd_members, "member") + (", healthy" if well else f", {status.etcd_healthy} healthy")
    return f"{members}, leader {status.etcd_leader}" if status.etcd_leader else f"{members}, no leader"


def _running(status: ClusterStatus, what: str) -> dict[str, list[str]]:
    """Versions that run, each with its nodes."""
    found: dict[str, list[str]] = {}
    for node in status.nodes:
        if version := getattr(node, what):
            found.setdefault(version, []).append(node.name)
    return found


def _versions(wanted: str, running: Mapping[str, list[str]]) -> str:
    if not running:
        return f"{wanted}, running on no node"
    if set(running) == {wanted}:
        return wanted
    return f"{wanted}; running: " + ", ".join(
        f"{version} on {listed(names, 4)}" for version, names in sorted(running.items())
    )


def _table(nodes: tuple[NodeStatus, ...], width: int, changed: Collection[str] | None) -> Iterator[Line]:
    rows = [dict(zip(_COLUMNS, map(escaped_line, _cells(node)), strict=True)) for node in nodes]
    room = width - (len(_CHANGED) if changed is not None else 0)
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in _COLUMNS}

    def needed(left_out: tuple[str, ...]) -> int:
        return sum(widths[name] + len(_GAP) for name in _COLUMNS if name not in left_out) - len(_GAP)

    left_out = next((one for one in _NARROWER if needed(one) <= room), _NARROWER[-1])
    columns = [name for name in _COLUMNS if name not in left_out]
    head = _GAP.join(name.ljust(widths[name]) for name in columns).rstrip()
    yield [("dim", (" " * len(_CHANGED) if changed is not None else "") + head)]
    for node, row in zip(nodes, rows, strict=True):
        mark: Line = []
        if changed is not None:
            mark = [("yellow", _CHANGED) if node.name in changed else ("", " " * len(_CHANGED))]
        cells: Line = []
        for name in columns:
            last = name == columns[-1]
            cells.append((_look(node, name), row[name] if last else row[name].ljust(widths[name]) + _GAP))
        yield [*mark, *cells]
        for look, text in _below(node, left_out):
            yield from _wrapped(text, look, _BELOW, width)


def _cells(node: NodeStatus) -> tuple[str, ...]:
    versions = (node.talos or "-", node.kubernetes or "-")
    return (node.name, node.role or "-", node.address or "-", shown(node.phase), *versions, _CONFIG[node.config])


def _look(node: NodeStatus, column: str) -> Look:
    kinds = {one.kind for one in node.drift}
    if column == "PHASE":
        return _LOOKS.get(node.phase, "cyan")
    adrift = {"TALOS": "talos-version", "K8S": "kubernetes-version", "ADDRESS": "address"}.get(column) in kinds
    return "yellow" if adrift or (column == "CONFIG" and node.config not in ("in-sync", "none")) else ""


def _below(node: NodeStatus, left_out: tuple[str, ...]) -> Iterator[tuple[Look, str]]:
    if "ADDRESS" in left_out and node.address:
        yield "dim", node.address
    for problem in node.problems:
        yield "red", problem
    if node.cordoned_by == "other":
        yield "yellow", "cordoned, not by talosmith"
    if "CONFIG" in left_out and node.config not in ("in-sync", "none"):
        yield "yellow", f"machine config: {_CONFIG[node.config]}"
    for one in node.drift:
        if one.kind == "unknown" and (text := without_name(one.live, node.name)) not in node.problems:
            yield "yellow", text
        elif one.kind not in _SHOWN_ELSEWHERE:
            yield "yellow", str(one)


def _wrapped(text: str, look: Look, indent: str, width: int) -> Iterator[Line]:
    room = max(width - len(indent), 20)
    for part in textwrap.wrap(escaped_line(text), room):
        yield [("", indent), (look, part)]
