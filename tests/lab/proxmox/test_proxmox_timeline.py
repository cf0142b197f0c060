"""The first minutes of a cluster at the pace of a usual host: what is made when, and what the timeline shows."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime

import pytest

from tests.lab.proxmox.outcomes_proxmox import converged
from tests.lab.proxmox.sites import ISO, Computer

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


def test_vms_exist_and_run_within_thirty_seconds(computers: Callable[..., Computer]) -> None:
    """`terraform apply` takes 10 to 30 seconds for these three."""
    computer = computers(pace="realistic")
    computer.boots_from(ISO)
    shown = computer.root / "timeline.html"
    ended = computer.up("-o", "json", "--timeline", str(shown))
    assert ended.code == 0, ended.said
    times: dict[str, list[float]] = {}
    for event in (one for one in ended.events() if one["kind"] == "Event"):
        at = datetime.fromisoformat(str(event["time"])).timestamp()
        times.setdefault(event["step"] or "", []).append(at)
    start = times[""][0]
    created = {step: max(at) - start for step, at in times.items() if re.fullmatch(r"machine/[^/]+", step)}
    assert sorted(created) == [f"machine/{name}" for name in sorted(computer.names)]
    assert max(created.values()) < 30, created
    text = shown.read_text()
    assert "critical path" in text.lower()
    assert all(name in text for name in computer.names)
    converged(computer)
