"""A process that takes a cluster's lock and then does what it is told, line by line: check, release, end."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from talosmith.engine.lock import ClusterLock
from talosmith.errors import TalosmithError


def say(text: str) -> None:
    print(text.replace("\n", " "), flush=True)  # noqa: T201


def main(folder: Path, wait: float, force: str) -> int:
    lock = ClusterLock(folder, "test holder")

    async def acquire() -> None:
        await lock.acquire(wait=wait, force=force, waiting=lambda holder: say(f"waiting for {holder}"))

    try:
        asyncio.run(acquire())
    except TalosmithError as problem:
        say(f"{type(problem).__name__} {problem} | {problem.hint}")
        return int(problem.exit_code)
    assert lock.mine is not None
    say(f"held {lock.mine.id} {lock.mine.serial} {lock.took_from.pid if lock.took_from else '-'}")
    for line in sys.stdin:
        if line.strip() == "release":
            lock.release()
            say("released")
        elif line.strip() == "check":
            try:
                lock.check()
                say("ours")
            except TalosmithError as problem:
                say(f"{type(problem).__name__} {problem}")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""))
