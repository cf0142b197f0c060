"""Runs as a second terminal sees them: in progress, killed, and those of another cluster of the same name."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from typing import Any

import pytest

from tests.lab.up.places import UP, Here

pytestmark = pytest.mark.slow


def runs(here: Here, *argv: str) -> list[dict[str, Any]]:
    ended = here.run("runs", "-o", "json", *argv)
    assert ended.code == 0, ended.said
    found: list[dict[str, Any]] = json.loads(ended.out)["runs"]
    return found


def test_a_run_in_progress_is_followed_and_a_killed_one_is_killed(here: Here) -> None:
    """The lab takes as long as real machines, so that the run is still in progress when the second terminal looks."""
    here.write(1, 1, clock="realistic")
    with here.start(*UP) as running:
        running.until(lambda: "create machine" in running.err and "✓" in running.err)
        (seen,) = runs(here)
        assert (seen["outcome"], seen["cluster"], seen["folder"]) == ("running", "mine", str(here.folder))
        with here.start("run", "show", "--last", "--follow") as follower:
            follower.until(lambda: "✓" in follower.err)
            running.signal(signal.SIGKILL)
            ended = follower.wait()
        assert ended.code == 3, ended.said
        assert ended.err.startswith(f"run {seen['run']}: up mine, running since ")
        assert "✓ cp-1: create machine" in ended.err
        running.wait()
    assert [one["outcome"] for one in runs(here)] == ["killed"]
    assert f"run {seen['run']}: up mine, killed, started" in here.run("run", "show", seen["run"]).out


def test_a_follower_ends_with_the_run(here: Here) -> None:
    here.write(1, 0)
    with here.start(*UP) as running:
        running.until(lambda: "up mine: 8 steps, started" in running.err)
        with here.start("run", "show", "--follow") as follower:
            ended = follower.wait()
        assert (ended.code, running.wait().code) == (0, 0), ended.said
    assert "✓ up mine" in ended.out
    assert [one["outcome"] for one in runs(here)] == ["done"]


def test_runs_of_two_clusters_of_one_name_in_two_folders_do_not_mix(places: Callable[[], Here]) -> None:
    here, there = places(), places()
    for place in (here, there):
        place.write(1, 0)
    (there.folder / "secrets.sops.yaml").unlink()
    one_state = {"XDG_STATE_HOME": str(here.state)}
    assert here.up().code == 0
    ended = there.up("--new-secrets", env=one_state)
    assert ended.code == 0, ended.said
    mine = [one["run"] for one in json.loads(here.run("runs", "-o", "json").out)["runs"]]
    theirs = [one["run"] for one in json.loads(there.run("runs", "-o", "json", env=one_state).out)["runs"]]
    assert len(mine) == len(theirs) == 1
    assert mine != theirs
    everything = json.loads(here.run("runs", "--all", "-o", "json").out)["runs"]
    assert [(one["run"], one["folder"]) for one in everything] == [
        (mine[0], str(here.folder)),
        (theirs[0], str(there.folder)),
    ]
