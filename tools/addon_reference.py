"""Writes the catalogue of add-ons into docs/addons.md: it is always current. `python -m tools.addon_reference`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from talosmith.addons import NAMES, addon

PAGE = Path(__file__).parents[1] / "docs" / "addons.md"
_MARKED = re.compile(r"(<!-- catalogue: [^\n]*-->\n).*?(<!-- /catalogue -->)", re.DOTALL)


def rows() -> Iterator[str]:
    yield "| add-on | what it is | namespace | chart | brings |"
    yield "|---|---|---|---|---|"
    for name in NAMES:
        known = addon(name)
        chart = "objects of talosmith's own" if known.stage != "cni" else "Talos' own"
        if known.chart:
            star = "" if known.rendered_by_tests else "*"
            called = known.chart.name or known.chart.source.rpartition("/")[2]
            chart = f"{called} {next(iter(known.chart.versions))}{star}"
        brings = ", ".join(f"`{one}`" for one in known.brings)
        yield f"| `{name}` | {known.title} | {known.namespace} | {chart} | {brings} |"


def render(text: str) -> str:
    """The page with the catalogue as it is."""
    table = "\n".join(rows())
    return _MARKED.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
