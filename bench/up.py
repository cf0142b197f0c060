"""Bring-up in the lab against its critical path, and plans over many nodes.

The critical path is what the simulated machines themselves need: the same world, in time of its own, with somebody
who reacts at once. What `up` takes longer than that is ours.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Result

# A hundred machines on the fast clock keep the simulation busier than talosmith: times are real there (7 minutes).
PATHS = (("fast", 3, 2), ("realistic", 3, 100))  # clock, control planes, workers
CURVE = (0, 4, 19, 49)  # workers
LIMIT = 1.15  # times the critical path
RECORDED = 10_000


_PATH = """
import sys
from pathlib import Path
from talosmith import load
from talosmith.desired.bundle import Bundle
from talosmith.desired.machine import MachineConfigs
from talosmith_lab import configure, hardware, joining, lifecycle, settle
from talosmith_lab.clock import ManualClock
from talosmith_lab.world import World

cluster = load(Path({folder!r}))
configs = MachineConfigs(cluster, Bundle.generate(contract=(1, 13)))
clock = ManualClock()
world = World(pace={pace!r}, now=clock, subnet=str(cluster.network.node_cidr))
began, waiting, booted = clock.now, set(), False
for node in cluster.nodes:
    lifecycle.power_on(world, hardware.create(world, node.name, address=str(node.ip)))
    waiting.add(node.name)

def ready():
    return booted and all(one.run and one.run.stage == "running" and one.run.ready for one in world.machines.values())

first = cluster.controlplanes[0].name
while not ready():
    settle.pass_time(world)
    for name in sorted(waiting):
        machine = world.machines[name]
        if machine.run and machine.run.stage == "maintenance":
            configure.apply(world, machine, configs.render(cluster.node(name)).text, "AUTO")
            waiting.discard(name)
    if not booted and not waiting:
        try:
            joining.bootstrap(world, world.machines[first])
            booted = True
        except Exception:
            pass
    settle.pass_time(world)
    due = world.timeline.next_due()
    if due is None:
        break
    clock.now = max(clock.now, due)
print(clock.now - began)
"""

_PLAN = """
import resource, sys, time
from pathlib import Path
from talosmith import load
from talosmith.desired.bundle import Bundle
from talosmith.desired.target import Desired
from talosmith.model.machines import Machine
from talosmith.observed.world import EtcdMemberSeen, EtcdSeen, KubeNodeSeen, NodeSeen, Observed
from talosmith.operations.operation import Facts
from talosmith.operations.up import UpOptions, build

desired = Desired(load(Path({folder!r})), Bundle.generate(contract=(1, 13)))
member = EtcdMemberSeen(id=1, name="cp-1", learner=False)
etcd = EtcdSeen(state="Running", healthy=True, member_id=1, leader=1, members=(member,))
nodes = {{}}
for name, node in desired.nodes.items():
    nodes[name] = NodeSeen(
        name=name, machine=Machine(id=name, name=name, role=node.node.role, power="on"), stage="running", ready=True,
        talos_version=str(desired.cluster.talos_version), config=node.config, config_digest=node.digest,
        etcd=etcd if node.is_controlplane else None, kube=KubeNodeSeen(name=name, ready=True, version="v1.37.1"),
    )
observed = Observed(at=0.0, nodes=nodes, kubernetes={{name: seen.kube for name, seen in nodes.items()}})
began = time.process_time()
plan = build(desired, observed, UpOptions(), Facts())
assert plan.empty, plan
print(time.process_time() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def results() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for pace, controlplanes, workers in PATHS:
            took = _bring_up(folder / f"{pace}-{workers}", pace, controlplanes, workers)
            what = f"up of {controlplanes} + {workers} nodes, clock {pace}: times its critical path"
            figures = f"{took.seconds:.2f} s, critical path {took.path:.2f} s"
            yield Result(what, figures, took.seconds / took.path, LIMIT)
        for workers in CURVE:
            took = _bring_up(folder / str(workers), "fast", 1, workers)
            figures = f"to start included; {took.seconds:.2f} s, critical path {took.path:.2f} s"
            yield Result(
                f"up of 1 + {workers} nodes: CPU s, without the lab's", figures, took.cpu, 1 + 0.04 * workers
            )
        yield from _plan(folder / "plan")


@dataclass(frozen=True, slots=True)
class Took:
    seconds: float  # from the first machine that is made to a healthy cluster
    path: float  # what the machines themselves need
    cpu: float  # of `talosmith up`, without the lab's


def _bring_up(folder: Path, pace: str, controlplanes: int, workers: int) -> Took:
    name = _inventory(folder, pace, controlplanes, workers)
    path = float(_run([sys.executable, "-c", _PATH.format(folder=str(folder), pace=pace)], {}))
    places = {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}
    command = [sys.executable, "-m", "talosmith"]
    _run([*command, "secrets", "init", "-i", str(folder)], places)  # how long an RSA key takes is chance
    before = _cpu_of_children()
    told = _run([*command, "up", "-i", str(folder), "--yes", "-o", "json"], places)
    cpu = _cpu_of_children() - before
    _run([*command, "destroy", "-i", str(folder), "--confirm", name], places)
    at = {(kind, step): float(when) for kind, when, step in _EVENTS.findall(told)}
    machines = min(when for (kind, step), when in at.items() if kind == "step-done" and step.startswith("machine/"))
    return Took(at["step-done", "cluster/health"] - machines, path, cpu)


def _cpu_of_children() -> float:
    """Of those that have ended: the lab goes on in the background."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _run(command: list[str], environment: dict[str, str]) -> str:
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[:4]} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout


_EVENTS = re.compile(r'^{"kind": "([a-z-]+)", "at": ([0-9.]+), "step": "([^"]*)"', re.MULTILINE)


def _plan(folder: Path) -> Iterator[Result]:
    _inventory(folder, "fast", 1, RECORDED - 1, cidr="127.128.0.0/9")
    seconds, mib = map(float, _run([sys.executable, "-c", _PLAN.format(folder=str(folder))], {}).split())
    yield Result(f"plan over {RECORDED:,} recorded nodes, nothing to do: CPU", "seconds", seconds, 2.0)
    yield Result("… and memory, with inventory and rendered configs", "MiB", mib, 250)


def _inventory(folder: Path, pace: str, controlplanes: int, workers: int, cidr: str = "") -> str:
    """Write an inventory; the cluster's name."""
    folder.mkdir(parents=True)
    name = f"bench-{os.getpid()}-{time.monotonic_ns() % 10**6}"
    network = f"\nnetwork: {{node_cidr: {cidr}, pod_cidr: 10.128.0.0/9}}" if cidr else ""
    (folder / "cluster.yaml").write_text(
        f"cluster_name: {name}\ntalos_version: v1.14.1\n"
        f"kubernetes_version: v1.37.1\nlab: {{clock: {pace}}}{network}\n"
        f"controlplane: {controlplanes}\nworkers: {workers}\n"
    )
    return name
