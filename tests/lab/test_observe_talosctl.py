"""Our health conditions beside the real `talosctl health`: on a healthy lab, and on broken ones."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from talosmith.desired.talosconfig import new_talosconfig
from talosmith.desired.target import Desired
from talosmith.observed.conditions import Check, Verdict
from talosmith.observed.health import look_once
from talosmith_lab import services
from tests.lab.observe_worlds import PATIENCE, LabWorld, lab_world

LINE = re.compile(r"waiting for (.+?): (.+)")
PENDING = "..."


@pytest.fixture
async def up(tmp_path: Path, network: str) -> AsyncIterator[LabWorld]:
    async with lab_world(tmp_path, network) as made:
        await made.come_up()
        yield made


async def talosctl_health(
    world: LabWorld, binary: Path, folder: Path, until: str = "", through: str = "cp-1"
) -> dict[str, str]:
    """The last that it said of each condition, in its order.

    It waits for the first that does not hold; if that is `until`, for no longer than until it has said so.
    """
    addresses = {name: str(node.node.ip) for name, node in world.desired.nodes.items()}
    config = new_talosconfig("lab", world.desired.bundle.os, endpoints=[addresses[through]])
    (folder / "talosconfig").write_text(config.to_text().reveal(), encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *(binary, "--talosconfig", folder / "talosconfig", "--nodes", addresses[through]),
        *("health", "--server=false", f"--wait-timeout={PATIENCE:.0f}s"),
        *("--control-plane-nodes", ",".join(addresses[node.name] for node in world.desired.controlplanes)),
        *("--worker-nodes", ",".join(addresses[node.name] for node in world.desired.workers)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    assert process.stdout
    found: dict[str, str] = {}
    try:
        async with asyncio.timeout(2 * PATIENCE):
            async for line in process.stdout:
                found.update(LINE.findall(line.decode()))
                if found.get(until, PENDING) != PENDING and not holds(found[until]):
                    break
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    return found


def holds(said: str) -> bool:
    return said == "OK" or said.startswith("SKIP")


def first_failing(looked: list[tuple[Check, Verdict]]) -> str:
    return next((check.name for check, verdict in looked if not verdict.ok), "")


def failing(told: dict[str, str]) -> str:
    last = list(told)[-1]
    assert all(holds(told[name]) for name in told if name != last), told
    return "" if holds(told[last]) else last


def power_off(*names: str) -> Callable[[LabWorld], None]:
    return lambda world: world.control.power_off(list(names)) and None


def stop(name: str, service: str) -> Callable[[LabWorld], None]:
    def act(world: LabWorld) -> None:
        services.stop(world.server.world, world.server.world.machines[name], service)
        world.server.engine.commit()

    return act


def forget(name: str) -> Callable[[LabWorld], None]:
    """The inventory no longer has a control plane that is still in etcd."""

    def act(world: LabWorld) -> None:
        cluster = world.desired.cluster
        left = tuple(node for node in cluster.nodes if node.name != name)
        world.desired = Desired(dataclasses.replace(cluster, nodes=left), world.desired.bundle)

    return act


BROKEN = {
    "a control plane is off": (power_off("cp-2"), "etcd to be healthy"),
    "etcd has no quorum": (power_off("cp-2", "cp-3"), "etcd to be healthy"),
    "a worker is off": (power_off("w-1"), "apid to be ready"),
    "a member is no control plane": (forget("cp-3"), "etcd members to be control plane nodes"),
    "a kubelet does not run": (stop("cp-2", "kubelet"), "kubelet to be healthy"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_both_find_the_same_condition_of_a_broken_cluster(
    up: LabWorld, peer: Callable[[str], Path], tmp_path: Path, case: str
) -> None:
    talosctl = peer("talosctl")
    act, expected = BROKEN[case]
    act(up)
    await up.rest()
    async with up.kube([str(node.node.ip) for node in up.desired.controlplanes]) as kube:
        told, looked = await asyncio.gather(
            talosctl_health(up, talosctl, tmp_path, until=expected), look_once(up.desired, up.talos, kube)
        )
    assert failing(told) == expected
    assert first_failing(looked) == expected


async def test_both_agree_about_a_cluster_that_is_well(
    up: LabWorld, peer: Callable[[str], Path], tmp_path: Path
) -> None:
    talosctl = peer("talosctl")
    async with up.kube([str(node.node.ip) for node in up.desired.controlplanes]) as kube:
        told, looked = await asyncio.gather(
            talosctl_health(up, talosctl, tmp_path), look_once(up.desired, up.talos, kube)
        )
    ours = {check.name: verdict.ok for check, verdict in looked}
    theirs = {name: holds(said) for name, said in told.items() if name in ours}
    assert {name: ours[name] for name in theirs} == theirs
    assert list(theirs) == list(ours)[: len(theirs)], "the same conditions in the same order"
    assert set(list(ours)[:7]) == {name for name in theirs if theirs[name]} & set(list(ours)[:7])
