"""What holds for every step that changes something: the lock comes first, and only declared calls are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from talosmith.desired.kubeconfig import new_kubeconfig
from talosmith.desired.talosconfig import new_talosconfig
from talosmith.errors import Permanent
from talosmith.steps import change_config, etcd, files, first_config, kubernetes, machines, nodes, removal
from talosmith.steps.action import OnCluster, OnNode
from tests.unit.steps.conftest import NewWorld
from tests.unit.steps.fake_kube import pod
from tests.unit.steps.fake_world import World

pytestmark = pytest.mark.usefixtures("clock")


def nothing(world: World) -> None:
    """Three control planes and a worker that run."""


def waiting(world: World) -> None:
    world.boxes["cp-1"].stage = "maintenance"


def no_machine(world: World) -> None:
    del world.provider.machines["cp-1"]


def no_etcd(world: World) -> None:
    world.members.clear()
    for box in world.boxes.values():
        box.data = False


def staged(world: World) -> None:
    world.boxes["cp-1"].running = world.desired.nodes["cp-2"].config.reveal()


def other_size(world: World) -> None:
    world.provider.machines["cp-1"] = replace(world.provider.machines["cp-1"], ram_mib=1)


def own_files(world: World) -> None:
    bundle = world.desired.bundle
    text = new_kubeconfig("demo", bundle.k8s, "https://demo:6443").reveal()
    (world.folder / "kubeconfig").write_text(text)
    (world.folder / "talosconfig").write_text(new_talosconfig("demo", bundle.os).to_text().reveal())


def files_of(world: World) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in world.folder.iterdir()}


CASES: list[tuple[Any, Callable[[World], None]]] = [
    (machines.CreateMachine("cp-1"), no_machine),
    (machines.PowerOn("cp-1"), nothing),
    (machines.ForgetSeed("cp-1"), nothing),
    (machines.ResizeMachine("cp-1", "memory", controlplane=True), other_size),
    (machines.DestroyMachine("cp-1"), nothing),
    (first_config.FirstConfig("cp-1"), waiting),
    (change_config.ChangeConfig("cp-1", controlplane=True), staged),
    (change_config.ChangeConfig("cp-1", network=True, controlplane=True), staged),
    (change_config.ChangeConfig("cp-1", reboot=True, controlplane=True), staged),
    (nodes.Reboot("cp-1", controlplane=True), staged),
    (etcd.BootstrapEtcd("cp-1"), no_etcd),
    (etcd.LeaveEtcd("cp-3"), nothing),
    (etcd.RemoveMember("cp-3", 3), nothing),
    (kubernetes.Drain("w-1"), nothing),
    (kubernetes.Uncordon("w-1"), nothing),
    (kubernetes.DeleteNode("w-1"), nothing),
    (removal.ResetNode("w-1"), nothing),
    (files.WriteTalosconfig(), nothing),
    (files.WriteKubeconfig(), nothing),
    (files.DeleteClientFile("kubeconfig"), own_files),
    (files.DeleteClientFile("talosconfig"), own_files),
]
STEPS = {
    module.__name__ for module in (change_config, etcd, files, first_config, kubernetes, machines, nodes, removal)
}
every_step = pytest.mark.parametrize(("step", "arrange"), CASES, ids=lambda one: getattr(one, "key", ""))


@pytest.fixture
def world(new_world: NewWorld) -> World:
    world = new_world(3, 1)
    world.runs()
    world.pods = [pod("web", "w-1")]
    return world


@every_step
async def test_without_the_lock_nothing_is_changed(world: World, step: Any, arrange: Callable[[World], None]) -> None:
    arrange(world)
    before = files_of(world)
    world.locked_out = True
    with pytest.raises(Permanent, match="the lock is held by another run"):
        await step.run(world.context(), world.report)
    assert world.log == [] and files_of(world) == before


@every_step
async def test_only_calls_are_made_that_the_plan_shows(
    world: World, step: Any, arrange: Callable[[World], None]
) -> None:
    arrange(world)
    before = files_of(world)
    await step.run(world.context(), world.report)
    changed = before.items() ^ files_of(world).items()
    made = {call.split()[1] for call in world.log} | {f"file:{name}" for name, _ in changed}
    assert made and made <= set(step.calls())


async def test_no_step_that_changes_something_is_missing_here() -> None:
    found = {kind for base in (OnNode, OnCluster) for kind in base.__subclasses__() if kind.__module__ in STEPS}
    changing = {kind.__name__ for kind in found if kind.makes or "calls" in vars(kind)}
    assert changing == {type(step).__name__ for step, _ in CASES}
