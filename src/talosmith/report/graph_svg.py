"""Graphs as SVG, laid out by simple rules, so that the same graph is always the same picture.

A plan: a step stands right of all that it needs, and each node has a lane. A topology: the API on top, control planes
under it, workers under those, with a frame around each network.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from talosmith.report.graph import Box, Graph
from talosmith.report.svg import box, document, fitted, number, safe, text_at

_STYLE = """
.paper{fill:var(--paper)} text{font-size:12px;fill:var(--ink)} .title{font-size:17px;font-weight:600}
.name{font-size:13px;font-weight:600} .soft{fill:var(--soft)} .band{fill:var(--band)}
.frame{fill:none;stroke:var(--line);stroke-dasharray:5 4}
.edge{fill:none;stroke:var(--grey-edge);stroke-width:1.3} .tip{fill:var(--grey-edge)}
.endpoint,.restart,.reboot,.drain{fill:var(--amber);stroke:var(--amber-edge)}
.controlplane{fill:var(--blue);stroke:var(--blue-edge)} .worker,.none{fill:var(--green);stroke:var(--green-edge)}
.wipe{fill:var(--red);stroke:var(--red-edge)} .network{fill:var(--grey);stroke:var(--grey-edge)}
"""
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path d="M0 0L8 4L0 8z" class="tip"/></marker></defs>'
)
_MARGIN, _GAP = 24.0, 18.0
_MOST_ACROSS = 6  # boxes side by side

Place = tuple[float, float, float, float]  # x, y, width, height


def plan_svg(graph: Graph) -> str:
    width, row, gap = 204.0, 50.0, 44.0
    layers = layers_of(graph)
    lanes: dict[str, list[Box]] = {}
    for one in sorted(graph.boxes, key=lambda one: one.lane != ""):  # the cluster's own lane is the first
        lanes.setdefault(one.lane, []).append(one)
    left = _MARGIN + min(max((len(name or "cluster") for name in lanes), default=0), 26) * 7.6 + 16
    across = max(layers.values(), default=0) + 1
    whole = left + across * (width + gap) - gap + _MARGIN
    places: dict[str, Place] = {}
    bands: list[str] = []
    y = _MARGIN + 34
    for number_of, (lane, boxes) in enumerate(lanes.items()):
        used: dict[int, int] = {}
        for one in boxes:
            layer = layers[one.id]
            level = used.get(layer, 0)
            used[layer] = level + 1
            places[one.id] = (left + layer * (width + gap), y + 8 + level * row, width, row - 12)
        tall = max(used.values()) * row + 4
        if number_of % 2 == 0:
            bands.append(box(_MARGIN / 2, y, whole - _MARGIN, tall, "band", radius=4))
        bands.append(text_at(_MARGIN, y + 8 + (row - 12) / 2 + 4, fitted(lane or "cluster", left - 30, 13), "name"))
        y += tall
    edges = [_sideways(places[begin], places[end]) for begin, end in graph.edges if begin in places and end in places]
    drawn = [_boxed(one, places[one.id]) for one in graph.boxes]
    head = text_at(_MARGIN, _MARGIN + 12, graph.title, "title")
    body = "\n".join([_TIP, head, *bands, *edges, *drawn])
    return document(max(whole, 420), y + _MARGIN, graph.title, _STYLE, body)


def topology_svg(graph: Graph) -> str:
    nodes = [one for one in graph.boxes if one.kind in ("controlplane", "worker")]
    networks = list(dict.fromkeys(one.lane for one in nodes))
    longest = max((len(line) for one in nodes for line in one.lines), default=0)
    lines = max((len(one.lines) for one in nodes), default=1)
    sizes = (min(max(longest * 6.6 + 22, 150.0), 260.0), lines * 17.0 + 20)
    api = next((one for one in graph.boxes if one.kind == "endpoint"), None)
    frames_top = _MARGIN + 34 + (62 + 44 if api else 0)
    most = max(_MOST_ACROSS // max(len(networks), 1), 1)
    upper = {name: [one for one in nodes if one.lane == name and one.kind == "controlplane"] for name in networks}
    lower = {name: [one for one in nodes if one.lane == name and one.kind == "worker"] for name in networks}
    columns = {name: min(max(len(upper[name]), len(lower[name])), most) for name in networks}
    deep = max((-(-len(upper[name]) // columns[name]) for name in networks), default=0)
    lower_top = frames_top + _GAP + deep * (sizes[1] + _GAP) + (22 if deep else 0)
    places: dict[str, Place] = {}
    frames: list[str] = []
    x, bottom = _MARGIN, lower_top
    widths = {name: columns[name] * (sizes[0] + _GAP) + _GAP for name in networks}
    for name in networks:
        _rows(upper[name], places, (x, frames_top + _GAP), sizes, columns[name], widths[name])
        end = _rows(lower[name], places, (x, lower_top), sizes, columns[name], widths[name])
        bottom = max(bottom, end)
        x += widths[name] + _GAP
    bottom += 16  # for the names of the networks
    whole = max(x - _GAP + _MARGIN, 460.0)
    x = _MARGIN
    for name in networks:
        frames.append(box(x, frames_top, widths[name], bottom - frames_top, "frame", radius=10))
        frames.append(text_at(x + _GAP, bottom - 12, fitted(name, widths[name] - 24), "soft"))
        x += widths[name] + _GAP
    if api is not None:
        middle = (x - _GAP + _MARGIN) / 2 if networks else whole / 2
        places[api.id] = (max(middle - 150, _MARGIN), _MARGIN + 34, 300, 62)
    notes = [text_at(_MARGIN, bottom + 28 + 19 * line, note, "soft") for line, note in enumerate(graph.notes)]
    head = text_at(_MARGIN, _MARGIN + 12, graph.title, "title")
    edges = list(_to_controlplanes(places, [one for group in upper.values() for one in group], api))
    drawn = [_boxed(one, places[one.id]) for one in graph.boxes if one.id in places]
    body = "\n".join([_TIP, head, *frames, *edges, *drawn, *notes])
    return document(whole, bottom + 28 + 19 * len(notes) + 8, graph.title, _STYLE, body)


def layers_of(graph: Graph) -> dict[str, int]:
    """Depth of each box: the length of the longest chain of boxes before it. Boxes come after what they need."""
    needs: dict[str, list[str]] = {}
    for begin, end in graph.edges:
        needs.setdefault(end, []).append(begin)
    layers: dict[str, int] = {}
    for one in graph.boxes:
        layers[one.id] = max((layers[need] + 1 for need in needs.get(one.id, ()) if need in layers), default=0)
    return layers


def _rows(
    boxes: Sequence[Box],
    places: dict[str, Place],
    corner: tuple[float, float],
    sizes: tuple[float, float],
    columns: int,
    whole: float,
) -> float:
    """Boxes in rows from `corner` down, each in the middle of `whole`; returns where the last one ends."""
    (left, y), (width, tall) = corner, sizes
    for first in range(0, len(boxes), columns):
        row = boxes[first : first + columns]
        x = left + (whole - len(row) * (width + _GAP) + _GAP) / 2
        for one in row:
            places[one.id] = (x, y, width, tall)
            x += width + _GAP
        y += tall + _GAP
    return y


def _to_controlplanes(places: Mapping[str, Place], upper: Sequence[Box], api: Box | None) -> Iterator[str]:
    """From the API to the first row of control planes; workers reach it, too, without lines."""
    if api is None or not upper:
        return
    x, y, width, height = places[api.id]
    first = min(places[one.id][1] for one in upper)
    for one in upper:
        left, top, wide, _ = places[one.id]
        if top == first:
            yield _bent((x + width / 2, y + height), (left + wide / 2, top))


def _bent(begin: tuple[float, float], end: tuple[float, float]) -> str:
    (x, y), (to_x, to_y) = begin, end
    line = f"M{number(x)} {number(y)}V{number((y + to_y) / 2 - 9)}H{number(to_x)}V{number(to_y)}"
    return f'<path class="edge" marker-end="url(#tip)" d="{line}"/>'


def _sideways(begin: Place, end: Place) -> str:
    x, y = begin[0] + begin[2], begin[1] + begin[3] / 2
    to_x, to_y = end[0], end[1] + end[3] / 2
    bend = max((to_x - x) / 2, 20)
    curve = f"C{number(x + bend)} {number(y)} {number(to_x - bend)} {number(to_y)} {number(to_x)} {number(to_y)}"
    return f'<path class="edge" marker-end="url(#tip)" d="M{number(x)} {number(y)}{curve}"/>'


def _boxed(one: Box, place: Place) -> str:
    x, y, width, height = place
    title = "&#10;".join(safe(line) for line in (*one.lines, one.id))
    parts = [box(x, y, width, height, one.kind, title=title)]
    step = 17.0
    first = y + height / 2 - (len(one.lines) - 1) * step / 2 + 4
    if len(one.lines) * step > height:
        step = height / (len(one.lines) + 0.4)
        first = y + step
    for place_of, line in enumerate(one.lines):
        css = "name" if place_of == 0 and len(one.lines) > 1 else ""
        size = 13 if css else 12
        parts.append(text_at(x + 10, first + place_of * step, fitted(line, width - 16, size), css))
    return "".join(parts)
