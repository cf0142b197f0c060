"""A run's timeline as one self-contained HTML file: a chart with a lane per node, and a table of steps.

It loads nothing and has no scripts; details of a step are the tooltip of its bar.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from talosmith.errors import Permanent
from talosmith.events import Event
from talosmith.files import replace_file
from talosmith.report.svg import FONT, PALETTE, box, fitted, number, safe, text_at
from talosmith.report.text import duration, moment, stopwatch
from talosmith.report.timeline import Bar, Timeline, headline, timeline

_WIDTH, _TOP, _ROW, _BAR, _GAP = 1200, 34, 24, 18, 8
_CHART_END = 24  # free space right of the chart
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400)
_STYLE = """
body{margin:0 auto;padding:24px;max-width:1240px;background:var(--paper);color:var(--ink)}
body{font-size:14px;line-height:1.45}
h1{font-size:20px;margin:0 0 2px} h2{font-size:15px;margin:26px 0 6px} p{margin:0 0 14px;color:var(--soft)}
svg{width:100%;height:auto;display:block} svg text{font-size:12px;fill:var(--ink)} svg .tick{fill:var(--soft)}
svg .name{font-weight:600} .band{fill:var(--band)} .grid{stroke:var(--line)}
.work{fill:var(--work)} .wait{fill:var(--wait)} .hot{fill:var(--hot)} .hotwait{fill:var(--hot-wait)}
.bad,.retry{fill:var(--bad)} .idle{fill:var(--idle)}
.ready{stroke:var(--idle);stroke-dasharray:2 3} .path{fill:none;stroke:var(--hot);stroke-width:2}
.bar:hover rect{filter:brightness(1.12)} .legend{display:flex;gap:18px;flex-wrap:wrap;color:var(--soft);margin:8px 0}
.legend i{display:inline-block;width:14px;height:10px;border-radius:2px;margin-right:6px}
table{border-collapse:collapse;width:100%} th{text-align:left;color:var(--soft);font-weight:500}
th,td{padding:3px 14px 3px 0;border-bottom:1px solid var(--line);vertical-align:top} td.n{white-space:nowrap}
td:first-child,th:first-child{padding-left:8px} tr.hotrow td:first-child{box-shadow:inset 3px 0 var(--hot)}
.failed{color:var(--bad);font-weight:600} .done{color:var(--good)}
@media print{body{max-width:none}}
"""
_LEGEND = (
    ("--hot", "critical path"),
    ("--work", "working"),
    ("--wait", "waiting"),
    ("--bad", "failed"),
    ("--idle", "unchanged, or skipped"),
)


def as_html(found: Timeline) -> str:
    what = f"{found.operation} {found.cluster}".strip()
    legend = "".join(f'<span><i style="background:var({colour})"></i>{name}</span>' for colour, name in _LEGEND)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>{safe(what)}: timeline</title>
<style>{PALETTE}
body{{{FONT}}}{_STYLE}</style>
</head>
<body>
<h1>{safe(headline(found))}</h1>
<p>started {moment(found.began)}; point at a bar to see what the step waited for</p>
{chart(found)}
<div class="legend">{legend}</div>
{_waits(found)}
<h2>Steps</h2>
<table>
<tr><th>node</th><th>step</th><th>started</th><th>took</th><th>outcome</th><th>last message</th></tr>
{"".join(_table_row(bar) for bar in found.bars)}</table>
</body>
</html>
"""


def write_timeline(path: Path, events: Iterable[Event]) -> None:
    try:
        replace_file(path, as_html(timeline(events)).encode())
    except OSError as problem:
        raise Permanent(
            f"cannot write the timeline {path}: {problem.strerror or problem}",
            hint="name another file with --timeline FILE",
        ) from problem


def chart(found: Timeline) -> str:
    lanes = {subject or "cluster": packed(bars) for subject, bars in found.lanes.items()}
    left = min(max((len(name) for name in lanes), default=0), 28) * 7.2 + 18
    scale = (_WIDTH - left - _CHART_END) / found.seconds if found.seconds > 0 else 0.0
    height = _TOP + sum(len(rows) * _ROW + _GAP for rows in lanes.values())
    parts: list[str] = []
    labels: list[str] = []
    places: dict[str, tuple[float, float, float]] = {}  # by key: begin, end, and the middle of the bar
    y = float(_TOP)
    for place, (name, rows) in enumerate(lanes.items()):
        tall = len(rows) * _ROW + _GAP
        if place % 2 == 0:
            parts.append(box(0, y, _WIDTH, tall, "band", radius=0))
        labels.append(text_at(8, y + _GAP / 2 + 16, fitted(name, left - 10, 13), "name"))
        for row in rows:
            middle = y + _GAP / 2 + _ROW / 2
            for bar in row:
                places[bar.key] = (left + bar.begin * scale, left + bar.end * scale, middle)
            labels.extend(_drawn(bar, left, scale, middle) for bar in row)
            y += _ROW
        y += _GAP
    parts.extend(_grid(found.seconds, left, scale, height))
    path = "".join(_links([places[key] for key in found.path if key in places]))
    size = f'viewBox="0 0 {_WIDTH} {number(height)}"'
    return f'<svg {size} role="img" aria-label="timeline">\n' + "\n".join([*parts, path, *labels]) + "\n</svg>"


def packed(bars: Sequence[Bar]) -> list[list[Bar]]:
    """Bars in as few rows as they fit into without covering each other."""
    rows: list[list[Bar]] = []
    for bar in sorted(bars, key=lambda one: (one.begin, one.end)):
        for row in rows:
            if row[-1].end <= bar.begin + 1e-9:
                row.append(bar)
                break
        else:
            rows.append([bar])
    return rows


def _drawn(bar: Bar, left: float, scale: float, middle: float) -> str:
    x, width = left + bar.begin * scale, max(bar.seconds * scale, 2.0)
    y = middle - _BAR / 2
    work, wait = ("hot", "hotwait") if bar.critical else ("work", "wait")
    if bar.fate == "failed":
        work = wait = "bad"
    elif not bar.changed or bar.fate == "skipped":
        work = wait = "idle"
    title = _title(bar)
    parts = [f'<g class="bar"><title>{title}</title>']
    if (bar.begin - bar.ready) * scale > 3:
        line = f'x1="{number(left + bar.ready * scale)}" x2="{number(x)}" y1="{number(middle)}" y2="{number(middle)}"'
        parts.append(f'<line {line} class="ready"/>')
    parts.append(box(x, y, width, _BAR, work, radius=3))
    for one in bar.waits:
        begin, long = left + one.begin * scale, one.seconds * scale
        if long >= 1:
            title = f"{safe(bar.title)}&#10;{duration(one.seconds)}: {safe(one.text)}"
            parts.append(box(begin, y, min(long, x + width - begin), _BAR, wait, radius=3, title=title))
        if one.retry:
            parts.append(box(begin, y, 2, _BAR, "retry", radius=0))
    label = fitted(bar.title, width - 8)
    if label:
        parts.append(text_at(x + 5, middle + 4, label))
    return "".join(parts) + "</g>"


def _fate(bar: Bar) -> str:
    return bar.fate if bar.changed else "unchanged"


def _title(bar: Bar) -> str:
    lines = [
        f"{bar.subject or 'cluster'}: {bar.title}",
        f"{bar.key}: {_fate(bar)}, {duration(bar.seconds)} from {_clock(bar.begin)}",
        *(["on the critical path"] if bar.critical else []),
        *(f"{_clock(one.begin)} {one.text} ({duration(one.seconds)})" for one in bar.waits[-12:]),
        *([bar.text] if bar.fate == "failed" else []),
    ]
    return "&#10;".join(safe(line) for line in lines)


def _links(places: Sequence[tuple[float, float, float]]) -> Iterator[str]:
    """From the end of each bar of the critical path to where the next begins."""
    for (_, end, y), (begin, _, below) in pairwise(places):
        if y != below:
            x = number(max(begin, end) if begin - end < 4 else (begin + end) / 2)
            yield f'<path class="path" d="M{number(end)} {number(y)}H{x}V{number(below)}H{number(begin)}"/>'


def _grid(seconds: float, left: float, scale: float, height: float) -> Iterator[str]:
    step = next((one for one in _TICKS if seconds / one <= 10), _TICKS[-1])
    for place in range(int(seconds / step + 1e-9) + 1):
        x = number(left + place * step * scale)
        yield f'<line x1="{x}" x2="{x}" y1="{_TOP - 8}" y2="{number(height)}" class="grid"/>'
        label = f"{place * step:.1f} s" if step < 1 else stopwatch(place * step)
        yield f'<text x="{x}" y="{_TOP - 14}" class="tick" text-anchor="middle">{label}</text>'


def _clock(seconds: float) -> str:
    return stopwatch(seconds) if seconds >= 60 else duration(seconds)


def _waits(found: Timeline) -> str:
    waits = found.longest_waits()
    if not waits:
        return ""
    rows = "".join(
        f'<tr><td class="n">{duration(wait.seconds)}</td><td class="n">{safe(bar.subject or "cluster")}</td>'
        f"<td>{safe(bar.title)}</td><td>{safe(wait.text)}</td></tr>\n"
        for bar, wait in waits
    )
    return f"<h2>Longest waits</h2>\n<table>\n{rows}</table>"


def _table_row(bar: Bar) -> str:
    css = ' class="hotrow"' if bar.critical else ""
    return (
        f'<tr{css}><td class="n">{safe(bar.subject or "cluster")}</td><td>{safe(bar.title)}</td>'
        f'<td class="n">{_clock(bar.begin)}</td><td class="n">{duration(bar.seconds)}</td>'
        f'<td class="n {bar.fate}">{_fate(bar)}</td><td>{safe(bar.text)}</td></tr>\n'
    )
