"""A thousand nodes in one process: all answer, it stays small, and it does nothing while nothing happens."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import pytest
from google.protobuf.empty_pb2 import Empty

from tests.lab.lab_clients import DEADLINE, Client, insecure
from tests.lab.lab_worlds import NEW

COUNT = 1000

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


async def test_a_thousand_nodes(network: str) -> None:
    wide = f"127.{network.split('.')[1]}.248.0/21"  # beside what tests of this process use
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.lab.lab_thousand", str(COUNT), wide],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    try:
        ready = json.loads(await asyncio.to_thread(process.stdout.readline))
        context, turns = insecure(), asyncio.Semaphore(64)

        async def ask(address: str) -> str:
            async with turns, Client(address, context) as node:
                return (await node.machine.Version(Empty(), timeout=DEADLINE)).messages[0].version.tag

        answers = await asyncio.gather(*(ask(address) for address in ready["addresses"]))
        assert answers == [NEW] * COUNT
        process.stdin.write("\n")
        process.stdin.flush()
        after = json.loads(await asyncio.to_thread(process.stdout.readline))
    finally:
        process.kill()
        process.wait()
    assert after["memory_mb"] < 2000
    assert after["idle"] < 0.02
