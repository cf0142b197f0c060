"""Ctrl-C, once, twice and three times; in a terminal, with a real process."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_actions import Fake, Heard, plan_of

from talosmith.engine.journal import Journal
from talosmith.engine.lock import ClusterLock
from talosmith.engine.runner import Outcome, run
from talosmith.engine.stopping import Stopping
from talosmith.errors import ExitCode, Temporary
from talosmith.plan.step import Report

PROCESS = Path(__file__).with_name("engine_process.py")
CTRL_C = b"\x03"


async def stopped_run(actions: list[Fake], times: int, heard: Heard, needs: dict[str, list[str]]) -> Outcome:
    """Asks to stop as soon as everything without needs has begun."""
    stopping = Stopping()
    roots = {action.key for action in actions if action.key not in needs}

    def listen(event: object) -> None:
        if {one.step for one in heard.all if one.kind in ("step-progress", "step-retrying")} == roots:
            for _ in range(times):
                stopping.ask()
            roots.add("nothing more")

    heard.events.listeners.append(listen)
    async with asyncio.timeout(120):
        return await run(plan_of(actions, needs), None, heard.events, stopping=stopping)


async def test_asked_once_changes_are_finished_waits_end_and_nothing_begins() -> None:
    async def change(report: Report) -> None:
        report("changing")
        await asyncio.sleep(0.05)

    async def wait(report: Report) -> None:
        report("waiting")
        await asyncio.Event().wait()

    async def busy(report: Report) -> None:
        raise Temporary("busy", retry_after=3600)

    heard = Heard()
    actions = [
        Fake("change", body=change),
        Fake("wait", body=wait, makes=()),
        Fake("busy", body=busy, limit=7200),
        Fake("next"),
    ]
    outcome = await stopped_run(actions, 1, heard, {"next": ["change"]})
    assert (outcome.done, outcome.left) == (("change",), ("wait", "busy", "next"))
    assert (outcome.stopped, outcome.interrupted, outcome.exit_code) == (True, False, ExitCode.RESUMABLE)
    assert heard.of("wait") == ["step-started", "step-progress", "step-skipped"]
    assert heard.of("busy") == ["step-started", "step-retrying", "step-skipped"]
    assert heard.of("next") == []
    assert "safe point" in heard.texts("warning")[0]
    lists = {"done": ["change"], "failed": [], "left": list(outcome.left)}
    assert heard.all[-1].data == {"outcome": "stopped", "exit_code": 3, **lists}


async def test_asked_twice_everything_is_cancelled() -> None:
    cleaned: list[str] = []

    async def change(report: Report) -> None:
        report("changing")
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("change")

    heard = Heard()
    outcome = await stopped_run([Fake("change", body=change), Fake("next")], 2, heard, {"next": ["change"]})
    assert (outcome.done, outcome.left, outcome.interrupted) == ((), ("change", "next"), True)
    assert outcome.exit_code == ExitCode.INTERRUPTED
    assert cleaned == ["change"]


async def test_asked_when_all_is_done_anyway_it_is_done() -> None:
    async def last(report: Report) -> None:
        report("nearly")

    outcome = await stopped_run([Fake("last", body=last)], 1, Heard(), {})
    assert (outcome.stopped, outcome.exit_code) == (False, ExitCode.DONE)


async def test_signals_are_given_back_and_ignored_ones_stay_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        mine = signal.getsignal(signal.SIGINT)
        async with Stopping.on_signals() as stopping:
            assert signal.getsignal(signal.SIGINT) is not mine
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
            os.kill(os.getpid(), signal.SIGTERM)
            async with asyncio.timeout(120):
                await stopping.until_wanted()
            assert not stopping.urgent
        assert signal.getsignal(signal.SIGINT) is mine
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread_there_are_no_signals_and_no_error() -> None:
    seen: list[bool] = []

    async def look() -> None:
        async with Stopping.on_signals() as stopping:
            stopping.ask()
            seen.append(stopping.wanted)

    thread = threading.Thread(target=lambda: asyncio.run(look()))
    thread.start()
    thread.join(120)
    assert seen == [True]


# With a terminal


class Terminal:
    """A process in the foreground of a terminal of its own."""

    def __init__(self, folder: Path, kind: str) -> None:
        ours, theirs = pty.openpty()
        self.ours = ours
        self.shown = ""

        def foreground() -> None:
            os.setsid()
            os.close(os.open(os.ttyname(theirs), os.O_RDWR))  # the first terminal a session opens is its own

        self.process = subprocess.Popen(
            [sys.executable, str(PROCESS), str(folder), kind],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            preexec_fn=foreground,
        )
        os.close(theirs)

    def until(self, text: str) -> None:
        while text not in self.shown:
            try:
                new = os.read(self.ours, 4096)
            except OSError:  # it has ended
                new = b""
            assert new, f"{text!r} never came: {self.shown}"
            self.shown += new.decode()

    def press(self, key: bytes) -> None:
        os.write(self.ours, key)

    def ended(self) -> int:
        return self.process.wait(120)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.ours)


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    made: list[Terminal] = []
    yield made
    for one in made:
        one.close()


def opened(terminals: list[Terminal], folder: Path, kind: str) -> Terminal:
    terminals.append(Terminal(folder, kind))
    return terminals[-1]


def kinds(folder: Path) -> list[str]:
    with Journal(folder) as journal:
        assert journal.lost == 0
        return [f"{event.kind} {event.step}".strip() for event in journal.events_of(1)]


def test_ctrl_c_once_finishes_the_change_and_writes_it_down(tmp_path: Path, terminals: list[Terminal]) -> None:
    terminal = opened(terminals, tmp_path, "change")
    terminal.until("step-progress a")
    terminal.until("step-progress wait")
    terminal.press(CTRL_C)
    terminal.until("warning")
    terminal.until("step-skipped wait")
    (tmp_path / "go").touch()
    assert terminal.ended() == ExitCode.RESUMABLE
    assert kinds(tmp_path)[-3:] == ["step-skipped wait", "step-done a", "run-finished"]
    assert ClusterLock(tmp_path, "").holder() is None


def test_ctrl_c_twice_stops_at_once(tmp_path: Path, terminals: list[Terminal]) -> None:
    terminal = opened(terminals, tmp_path, "change")
    terminal.until("step-progress a")
    terminal.press(CTRL_C)
    terminal.until("warning")
    terminal.press(CTRL_C)
    assert terminal.ended() == ExitCode.INTERRUPTED
    assert kinds(tmp_path)[-2:] == ["step-skipped a", "run-finished"]
    assert ClusterLock(tmp_path, "").holder() is None


def test_ctrl_c_three_times_ends_what_cannot_be_ended_and_breaks_nothing(
    tmp_path: Path, terminals: list[Terminal]
) -> None:
    terminal = opened(terminals, tmp_path, "stubborn")
    terminal.until("step-progress a")
    terminal.press(CTRL_C)
    terminal.until("warning")
    end = time.monotonic() + 120
    while (
        terminal.process.poll() is None and time.monotonic() < end
    ):  # at least twice more; some may come too close together to be told apart
        terminal.press(CTRL_C)
        time.sleep(0.05)
    assert terminal.ended() == -signal.SIGINT
    assert kinds(tmp_path) == ["run-started", "step-started a", "step-progress a", "warning"]
    again = opened(terminals, tmp_path, "plain")  # takes the lock of the dead over, and works
    assert again.ended() == ExitCode.DONE
    with Journal(tmp_path) as journal:
        assert [run.outcome for run in journal.runs()] == ["", "done"]
