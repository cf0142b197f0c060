"""A process of its own that runs a plan with journal, lock and signals, as the command line does.

Arguments: the folder, then how its steps are. It prints a line for each event, and ends with the outcome's exit code.
`PAUSE_AT` makes it wait for ever after so many events were written down, `KILL_AT` makes it die there by SIGKILL.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from engine_actions import Fake, plan_of

from talosmith.engine.journal import Journal
from talosmith.engine.lock import ClusterLock
from talosmith.engine.runner import run
from talosmith.engine.stopping import Stopping
from talosmith.errors import TalosmithError
from talosmith.events import Event, Events
from talosmith.plan.step import Plan, Report
from talosmith.tasks import shielded


def say(text: str) -> None:
    print(text, flush=True)  # noqa: T201


async def change(report: Report) -> None:
    """In the middle of a change until somebody says `go`: by a file, because the terminal is busy with Ctrl-C."""
    go = Path(sys.argv[1]) / "go"
    report("changing")
    while not go.exists():
        await asyncio.sleep(0.01)


async def stubborn(report: Report) -> None:
    report("cannot be cancelled")
    await shielded(asyncio.Event().wait())


async def wait(report: Report) -> None:
    report("waiting")
    await asyncio.Event().wait()


def plan(kind: str) -> Plan:
    if kind == "change":
        actions = [Fake("a", body=change), Fake("wait", body=wait, makes=()), Fake("b")]
        return plan_of(actions, {"b": ["a"]})
    if kind == "stubborn":
        return plan_of([Fake("a", body=stubborn)])
    return plan_of([Fake("a"), Fake("b"), Fake("c")], {"b": ["a"], "c": ["b"]})


async def main(folder: Path, kind: str) -> int:
    kill_at = int(os.environ.get("KILL_AT", "0"))
    written = 0

    def count(event: Event) -> None:
        nonlocal written
        written += 1
        say(f"{event.kind} {event.step}".strip())
        if written == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        async with ClusterLock(folder, "test run").held() as lock, Stopping.on_signals() as stopping:
            with Journal(folder, write=True) as journal:
                events = Events(journal.listener, count)
                outcome = await run(plan(kind), None, events, stopping=stopping, check_lock=lock.check)
    except TalosmithError as problem:
        say(f"error {problem} | {problem.hint}")
        return int(problem.exit_code)
    if outcome.problem is not None:
        say(f"problem {outcome.problem}")
    return int(outcome.exit_code)


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]), sys.argv[2])))
