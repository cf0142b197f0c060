"""One writer at a time: a second one is sent away, and who was paused while another took over writes no more."""

from __future__ import annotations

import getpass
import os
import re
import signal
import socket

import pytest

from tests.lab.up.outcomes import converged
from tests.lab.up.places import DESTROY, UP, Here, Running

pytestmark = pytest.mark.slow

HELD = 4
CHANGES = re.compile(r"machine\.(create|delete|power|resize)|Apply|Bootstrap|Reboot|Reset|Etcd(Leave|Remove|Forfeit)")


def paused_at(here: Here, kind: str, step: str, *command: str) -> Running:
    """A run that waits at this event until it is let go."""
    where = {"reached": str(here.root / "reached"), "go": str(here.root / "go")}
    running = here.start(*command, before=("tests.lab.up.hooks:wait_at", {"kind": kind, "step": step, **where}))
    running.until((here.root / "reached").exists)
    return running


def let_go(here: Here) -> None:
    (here.root / "go").write_text("")


def lock_id(text: str) -> str:
    found = re.search(r"\(lock ([0-9a-f]+)\)", text)
    assert found, text
    return found[1]


def changes(here: Here) -> dict[str, dict[str, int]]:
    return {key: counts for key, counts in here.calls().items() if CHANGES.search(key.partition(" ")[2])}


@pytest.mark.parametrize("second", [UP, DESTROY], ids=["up", "destroy"])
def test_a_second_writer_is_told_who_is_at_work_and_leaves(here: Here, second: tuple[str, ...]) -> None:
    here.write(1, 1)
    with paused_at(here, "step-started", "etcd/bootstrap", *UP) as first:
        before = changes(here)
        refused = here.run(*second)
        assert refused.code == HELD
        assert f"{getpass.getuser()}@{socket.gethostname()}, pid {first.pid}, since 20" in refused.err
        assert "UTC: up" in refused.err and "--wait" in refused.err
        assert changes(here) == before
        let_go(here)
        ended = first.wait()
        assert ended.code == 0, ended.said
    converged(here, ["cp-1", "w-1"])


def test_a_second_writer_may_wait_for_its_turn(here: Here) -> None:
    here.write(1, 1)
    with paused_at(here, "step-started", "etcd/bootstrap", *UP) as first, here.start(*UP, "--wait", "600") as second:
        second.until(lambda: "waiting for" in second.err)
        let_go(here)
        assert first.wait().code == 0
        ended = second.wait()
    assert ended.code == 0 and "in sync" in ended.out
    converged(here, ["cp-1", "w-1"])


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("run-started", ""),
        ("step-started", "machine/cp-1"),
        ("step-done", "node/cp-1/config"),
        ("step-started", "etcd/bootstrap"),
        ("step-started", "cluster/controlplane"),
    ],
)
def test_who_was_stopped_while_another_took_over_writes_no_more(here: Here, kind: str, step: str) -> None:
    here.write(1, 1)
    with paused_at(here, kind, step, *UP) as first:
        first.pause()
        let_go(here)
        refused = here.up()
        assert refused.code == HELD and f"kill -CONT {first.pid}" in refused.err
        wrong = here.up("--force-unlock", "00000000")
        assert wrong.code == 64 and lock_id(refused.err) in wrong.err
        forced = here.up("--force-unlock", lock_id(refused.err))
        assert forced.code == 0, forced.said
        assert "broke the lock of" in forced.err and "was killed" not in forced.err
        before = changes(here)
        first.signal(signal.SIGCONT)
        ended = first.wait()
    assert ended.code == HELD, ended.said
    assert "was taken over by" in ended.said
    assert changes(here) == before, "it has changed something after the other took over"
    converged(here, ["cp-1", "w-1"])


def test_a_destroyer_that_was_stopped_destroys_no_more(here: Here) -> None:
    here.write(1, 1)
    assert here.up().code == 0
    with paused_at(here, "run-started", "", *DESTROY) as first:
        first.pause()
        let_go(here)
        refused = here.destroy()
        assert here.up("--force-unlock", lock_id(refused.err)).code == 0
        first.signal(signal.SIGCONT)
        assert first.wait().code == HELD
    converged(here, ["cp-1", "w-1"])


@pytest.mark.parametrize("command", [UP, DESTROY], ids=["up", "destroy"])
def test_the_lock_of_a_killed_run_is_taken_over_with_a_word(here: Here, command: tuple[str, ...]) -> None:
    here.write(1, 1)
    with paused_at(here, "step-started", "etcd/bootstrap", *UP) as first:
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait().code == -9
    ended = here.run(*command)
    assert ended.code == 0, ended.said
    assert re.search(rf"took over the lock of .*, pid {first.pid}, since .*: its process was killed", ended.err)
