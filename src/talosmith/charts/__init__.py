"""Where charts come from: pinned, resolved once into charts.lock, pulled into a cache, verified by their digest.

    contents, problems = resolve(pins, Lock.read(folder), mirrors=cluster.services.charts.mirrors)
    rendered = render_chart(contents["cilium"], Release("cilium", "kube-system"), values, cluster=capabilities())
    Lock.read(folder).with_(contents).write(folder)

What is in the lock and in the cache needs no network. A bundle (`bundle.py`) brings both to an air-gapped site.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talosmith.lazy import lookup

if TYPE_CHECKING:
    from talosmith.charts.bundle import read_bundle, write_bundle
    from talosmith.charts.content import ChartContent, ChartProblem
    from talosmith.charts.images import images_of
    from talosmith.charts.lock import Lock
    from talosmith.charts.rendering import render_chart
    from talosmith.charts.resolving import resolve

__all__ = [
    "ChartContent",
    "ChartProblem",
    "Lock",
    "images_of",
    "read_bundle",
    "render_chart",
    "resolve",
    "write_bundle",
]

__getattr__ = lookup(
    __name__,
    {
        "bundle": "read_bundle write_bundle",
        "content": "ChartContent ChartProblem",
        "images": "images_of",
        "lock": "Lock",
        "rendering": "render_chart",
        "resolving": "resolve",
    },
)
