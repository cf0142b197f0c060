"""The warm parent of talosmith processes for this folder: it has also imported boto3 and the provider of AWS."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.lab.up import warm
from tests.simulators.aws_names import resolve
from tests.waiting import until

_NEEDED = (
    *(f"talosmith.cli.{name}" for name in ("doctor", "secrets", "status")),
    "talosmith.providers.aws",
    "boto3",
    "httpx2",
)


def start(folder: Path) -> tuple[subprocess.Popen[Any], str]:
    """As a process of the test session, and where it listens."""
    path = folder / "warm.sock"
    process = subprocess.Popen([sys.executable, "-m", __name__, str(path)], cwd=Path(__file__).parents[3])
    until(lambda: path.exists() or process.poll() is not None)
    assert process.poll() is None, "the warm parent did not start"
    return process, str(path)


def _nodes_are_of_the_lab() -> None:
    """What takes AWS minutes takes the simulated one milliseconds, and nobody need wait longer."""
    from talosmith.providers import aws

    plain = aws.settings_of
    aws.AwsProvider.simulated = True
    aws.settings_of = lambda *given: replace(plain(*given), between=0.05, settle=0.2)


if __name__ == "__main__":
    warm._NEEDED = (*warm._NEEDED, *_NEEDED)
    _nodes_are_of_the_lab()
    resolve(zones=True)
    warm.serve(sys.argv[1])
