"""Graphs of the cluster and of plans: as data, and from that as Mermaid text or SVG.

`topology` shows a cluster as the inventory has it, `plan_graph` the steps of a plan and what each of them needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from talosmith.model.cluster import Cluster, Node
from talosmith.report.cluster import size
from talosmith.report.critical import without_implied
from talosmith.report.follow import planned
from talosmith.report.text import count, one_line

Kind = Literal["endpoint", "controlplane", "worker", "network", "none", "restart", "reboot", "drain", "wipe"]
_BY_DISRUPTION: Mapping[str, Kind] = {
    "none": "none",
    "restart": "restart",
    "reboot": "reboot",
    "drain": "drain",
    "wipe": "wipe",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    id: str
    lines: tuple[str, ...]  # the first is its name
    kind: Kind
    lane: str = ""  # what it belongs to: a node, a network


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """Boxes in reading order, and edges: which box needs or reaches which."""

    title: str
    boxes: tuple[Box, ...]
    edges: tuple[tuple[str, str], ...]  # ids, from and to
    notes: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "boxes": [asdict(box) for box in self.boxes],
            "edges": [{"from": begin, "to": end} for begin, end in self.edges],
            "notes": list(self.notes),
        }


def topology(cluster: Cluster) -> Graph:
    network = cluster.network
    host = cluster.endpoint.host
    shared = network.vip is not None and str(network.vip) == host
    api = ["Kubernetes API", "load balancer's own name" if cluster.endpoint.to_come else cluster.endpoint.url]
    if network.vip is not None:
        api.append("the control planes share this address" if shared else f"virtual address {network.vip}")
    boxes = [Box(id="api", lines=tuple(api), kind="endpoint")]
    where = str(network.node_cidr or "nodes")
    boxes += [
        Box(id=node.name, lines=_node_lines(node), kind=node.role, lane=str(node.subnet or where))
        for node in (*cluster.controlplanes, *cluster.workers)
    ]
    facts = [
        f"nodes {where}, addresses {_ADDRESSES[network.addressing]}"
        + (f", gateway {network.gateway}" if network.gateway else ""),
        f"pods {network.pod_cidr}, services {network.svc_cidr}, DNS domain {cluster.kubernetes.dns_domain}",
        f"Talos {cluster.talos_version}, Kubernetes {cluster.kubernetes_version}, provider {cluster.provider.name}",
    ]
    edges = [("api", node.name) for node in cluster.controlplanes] + [(node.name, "api") for node in cluster.workers]
    counts = f"{count(len(cluster.controlplanes), 'control plane')}, {count(len(cluster.workers), 'worker')}"
    return Graph(title=f"{cluster.name}: {counts}", boxes=tuple(boxes), edges=tuple(edges), notes=tuple(facts))


_ADDRESSES = {"static": "static", "dhcp": "by DHCP reservation", "provider": "given by the provider"}


def _node_lines(node: Node) -> tuple[str, ...]:
    disks = " + ".join(size(mib) for mib in (node.disk_mib, *node.extra_disks_mib) if mib)
    sizes = ", ".join(
        part
        for part in (
            f"{node.cpu} CPU" if node.cpu else "",
            f"{size(node.ram_mib)} RAM" if node.ram_mib else "",
            f"{disks} disk" if disks else "",
        )
        if part
    )
    place = ", ".join(part for part in (node.instance_type or "", node.zone or "") if part)
    return tuple(line for line in (node.name, str(node.ip), sizes, place) if line)


def plan_graph(plan: Mapping[str, Any]) -> Graph:
    """From what `Plan.as_data()` made of a plan, or a plan file. Needs that others imply are left out."""
    steps = planned(plan.get("steps"))
    boxes = []
    for key, step in steps.items():
        disruption = str(step.get("disruption", "none"))
        lines = (
            one_line(step.get("title") or key),
            *([disruption] if disruption != "none" else []),
        )
        kind = _BY_DISRUPTION.get(disruption, "none")
        lane = "resources" if key.startswith("resource/") else one_line(step.get("subject") or "")
        boxes.append(Box(id=key, lines=lines, kind=kind, lane=lane))
    needs = {key: [one_line(need) for need in step.get("needs") or ()] for key, step in steps.items()}
    title = f"{one_line(plan.get('operation', ''))} {one_line(plan.get('cluster', ''))}".strip()
    edges = tuple((need, key) for key, kept in without_implied(needs).items() for need in kept)
    return Graph(title=f"{title}: {count(len(boxes), 'step')}", boxes=tuple(boxes), edges=edges)


def as_mermaid(graph: Graph) -> str:
    """A flowchart as Markdown renderers show it. Characters that could end a quoted name are entities."""
    ids = {box.id: f"n{place}" for place, box in enumerate(graph.boxes)}
    lanes: dict[str, list[Box]] = {}
    for box in graph.boxes:
        lanes.setdefault(box.lane, []).append(box)
    top = any(box.kind == "endpoint" for box in graph.boxes)
    lines = ["---", f"title: {_yaml(graph.title)}", "---", f"flowchart {'TB' if top else 'LR'}"]
    for place, (lane, boxes) in enumerate(lanes.items()):
        drawn = [
            f'{ids[box.id]}["{"<br>".join(_entities(line) for line in box.lines)}"]:::{box.kind}' for box in boxes
        ]
        if lane:
            lines += [f'  subgraph g{place}["{_entities(lane)}"]', *(f"    {one}" for one in drawn), "  end"]
        else:
            lines += [f"  {one}" for one in drawn]
    lines += [f"  {ids[begin]} --> {ids[end]}" for begin, end in graph.edges if begin in ids and end in ids]
    used = {box.kind for box in graph.boxes}
    lines += [f"  classDef {kind} {look}" for kind, look in _MERMAID.items() if kind in used]
    return "\n".join([*lines, *(f"  %% {_entities(note)}" for note in graph.notes)]) + "\n"


_MERMAID = {
    "endpoint": "fill:#fdf3e3,stroke:#d99a3c,color:#1f2733",
    "controlplane": "fill:#e8f1fc,stroke:#5b8fd0,color:#1f2733",
    "worker": "fill:#e9f6ee,stroke:#55a878,color:#1f2733",
    "none": "fill:#e9f6ee,stroke:#55a878,color:#1f2733",
    "restart": "fill:#fdf3e3,stroke:#d99a3c,color:#1f2733",
    "reboot": "fill:#fdf3e3,stroke:#d99a3c,color:#1f2733",
    "drain": "fill:#fdf3e3,stroke:#d99a3c,color:#1f2733",
    "wipe": "fill:#fdecec,stroke:#d65a5a,color:#1f2733",
}


def _entities(text: str) -> str:
    """Letters, digits and harmless signs as they are, all else by number."""
    return "".join(char if char.isalnum() or char in " .,:/_-+()" else f"#{ord(char)};" for char in one_line(text))


def _yaml(text: str) -> str:
    return '"' + one_line(text).replace("\\", "\\\\").replace('"', '\\"') + '"'
