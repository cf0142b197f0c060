"""A lab of 1,000 nodes in one process, and one sweep of our client over all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.measure import Result, python

NODES = 1_000
NETWORK = "127.96.0.0/16"

_INVENTORY = f"""\
cluster_name: bench
talos_version: v1.14.1
kubernetes_version: v1.37.1
lab: {{clock: instant}}
network: {{node_cidr: {NETWORK}, pod_cidr: 10.128.0.0/9}}
controlplane: 1
workers: {NODES - 1}
"""

_SERVER = """
import asyncio, json, sys
from pathlib import Path
from talosmith import load
from talosmith.desired.bundle import Bundle
from talosmith.desired.machine import MachineConfigs
from talosmith_lab.server.lab import LabOptions, LabServer
import yaml

async def main(folder):
    cluster = load(folder / "inventory")
    bundle = Bundle.from_mapping(yaml.safe_load((folder / "secrets.yaml").read_text()))
    configs = MachineConfigs(cluster, bundle)
    async with LabServer(folder, LabOptions(clock="instant", network=NETWORK)) as lab:
        for node in cluster.nodes:
            lab.control.create(node.name, address=str(node.ip), config=configs.render(node).text)
        # The control plane waits to be bootstrapped; the workers are what is measured.
        while sum(machine["stage"] == "running" for machine in lab.control.list_machines()) < len(cluster.workers):
            await asyncio.sleep(0.5)
        print("ready", flush=True)
        await lab.serve()

NETWORK = sys.argv[2]
asyncio.run(main(Path(sys.argv[1])))
"""

_SWEEP = """
import asyncio, gc, sys, yaml
gc.set_threshold(50_000)  # as the command line has it
from pathlib import Path
from talosmith import load
from talosmith.desired.bundle import Bundle
from talosmith.talos import TalosClient, sweep

async def main(folder):
    cluster = load(folder / "inventory")
    bundle = Bundle.from_mapping(yaml.safe_load((folder / "secrets.yaml").read_text()))

    async def status(node):
        return await node.version(), await node.machine_status(), await node.services()

    async with TalosClient.from_bundle(bundle) as client:
        swept = await sweep([client.node(str(node.ip), node.name) for node in cluster.nodes], status)
    assert len(swept.results) == len(cluster.nodes), list(swept.errors.items())[:3]

asyncio.run(main(Path({folder!r})))
"""


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "inventory").mkdir()
        (folder / "inventory" / "cluster.yaml").write_text(_INVENTORY)
        write_secrets(folder / "secrets.yaml")
        server = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(folder), NETWORK], stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n", "the lab did not come up"
            before, started = cpu_of(server.pid), time.monotonic()
            time.sleep(10)
            idle = (cpu_of(server.pid) - before) / (time.monotonic() - started)
            cost = python(_SWEEP.replace("{folder!r}", repr(str(folder))), runs=3)
            mib = memory_of(server.pid)
        finally:
            server.terminate()
            server.wait()
    yield Result(f"a lab of {NODES:,} nodes: MiB", "after a sweep over all of them", mib, 2048)
    yield Result(f"a lab of {NODES:,} nodes, idle: CPU in %", "over 10 s", idle * 100, 5)
    yield Result(f"a status sweep over {NODES:,} nodes: CPU s", "three calls a node, connecting too", cost.cpu, 3.5)
    yield Result(f"a status sweep over {NODES:,} nodes: MiB", "", cost.mib, 400)


def write_secrets(path: Path) -> None:
    import yaml

    from talosmith.desired.bundle import Bundle

    path.write_text(yaml.safe_dump(json.loads(json.dumps(Bundle.generate().to_mapping()))))


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024
