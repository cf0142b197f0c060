"""Renders a chart that was resolved: known by its digest, so that a warm call neither unpacks nor parses it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from talosmith.charts.content import ChartContent
from talosmith.helm.capabilities import Capabilities
from talosmith.helm.release import Release, Rendered
from talosmith.helm.rendering import render_known, together
from talosmith.helm.store import Store, default_folder


def render_chart(
    content: ChartContent,
    release: Release,
    values: Mapping[str, Any] | Iterable[Mapping[str, Any]] = (),
    *,
    cluster: Capabilities,
    store: Store | None = None,
    private: bool = False,
) -> Rendered:
    """The objects of a release; several values are laid over each other, the last wins.

    What our renderer cannot do is done by a `helm` on PATH. Results with Secrets are kept in memory only, and those
    of `private` values, which hold secrets, too. Raises `ChartError`.
    """
    return render_known(
        content.digest,
        content.files,
        release,
        together(values, ()),
        cluster=cluster,
        store=store or Store(default_folder()),
        fall_back=True,
        private=private,
    )
