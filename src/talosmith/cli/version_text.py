"""Versions that `talosmith version` and `talosmith --version` print; the latter without importing typer."""

from __future__ import annotations

import sys
from typing import Any

from talosmith import __version__
from talosmith.model.versions import TALOS_LINES


def version_data() -> dict[str, Any]:
    oldest = min(line.oldest_kubernetes for line in TALOS_LINES.values())
    newest = max(line.newest_kubernetes for line in TALOS_LINES.values())
    return {
        "talosmith": __version__,
        "python": ".".join(map(str, sys.version_info[:3])),
        "talos": [f"v{major}.{minor}" for major, minor in sorted(TALOS_LINES)],
        "kubernetes": [f"v1.{minor}" for minor in range(oldest, newest + 1)],
    }


def version_text() -> str:
    found = version_data()
    talos, kubernetes = found["talos"], found["kubernetes"]
    return "\n".join(
        [
            f"talosmith   {found['talosmith']}",
            f"Python      {found['python']}",
            f"Talos       {talos[0]} to {talos[-1]}",
            f"Kubernetes  {kubernetes[0]} to {kubernetes[-1]}",
        ]
    )
