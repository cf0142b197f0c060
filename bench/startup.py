"""What `talosmith --version` and `--help` cost, next to `talosctl --help`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Result, command
from tools.peers import find


def results() -> Iterator[Result]:
    talosmith = Path(sys.executable).with_name("talosmith")
    peer = command([find("talosctl"), "--help"], runs=10)
    for option in ("--version", "--help"):
        ours = command([talosmith, option], runs=10)
        figures = f"{ours.cpu * 1000:.0f} ms against {peer.cpu * 1000:.0f} ms of CPU"
        yield Result(f"talosmith {option} / talosctl --help", figures, ours.cpu / peer.cpu, 2.5)
