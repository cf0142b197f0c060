"""A lab of a thousand machines in a process of its own, which tells what it needs."""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

from talosmith_lab.server.lab import LabOptions, LabServer

IDLE, WINDOWS = 2.0, 3  # seconds over which doing nothing is measured, and how often: who was just here still leaves


def memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def idling() -> float:
    start, used = time.monotonic(), time.process_time()
    await asyncio.sleep(IDLE)
    return (time.process_time() - used) / (time.monotonic() - start)


async def main(count: int, network: str) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory() as folder:
        async with LabServer(Path(folder), LabOptions(clock="instant", network=network)) as lab:
            for number in range(count):
                lab.control.create(f"m-{number}")
                if number % 50 == 0:
                    await asyncio.sleep(0)
            while not all(one.runs("apid") for one in lab.world.machines.values()):  # from then on they answer
                await asyncio.sleep(0.05)
            addresses = [machine.address for machine in lab.world.machines.values()]
            print(json.dumps({"addresses": addresses, "memory_mb": memory_mb()}), flush=True)  # noqa: T201
            await asyncio.to_thread(sys.stdin.readline)  # whoever asked has talked to all of them
            idle = min([await idling() for _ in range(WINDOWS)])
            print(json.dumps({"memory_mb": memory_mb(), "idle": idle}), flush=True)  # noqa: T201


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
