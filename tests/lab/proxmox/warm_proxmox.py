"""The warm parent of talosmith processes for this folder: it has also imported the provider of Proxmox VE."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.lab.up import warm
from tests.waiting import until

_NEEDED = (
    *(f"talosmith.cli.{name}" for name in ("doctor", "secrets", "status")),
    "talosmith.providers.proxmox",
    "httpx2",
    "pycdlib",
)


def start(folder: Path) -> tuple[subprocess.Popen[Any], str]:
    """As a process of the test session, and where it listens."""
    path = folder / "warm.sock"
    process = subprocess.Popen([sys.executable, "-m", __name__, str(path)], cwd=Path(__file__).parents[3])
    until(lambda: path.exists() or process.poll() is not None)
    assert process.poll() is None, "the warm parent did not start"
    return process, str(path)


def _nodes_are_of_the_lab() -> None:
    """What takes real nodes seconds takes these milliseconds, and nobody need wait longer."""
    from talosmith.providers.proxmox import ProxmoxProvider

    ProxmoxProvider.simulated = True


if __name__ == "__main__":
    warm._NEEDED = (*warm._NEEDED, *_NEEDED)
    _nodes_are_of_the_lab()
    warm.serve(sys.argv[1])
