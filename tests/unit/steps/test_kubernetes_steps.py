"""Kubernetes: its API is waited for, nodes are drained, uncordoned and deleted; Talos is reset; files are written."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest

from talosmith.errors import Permanent
from talosmith.kube import Credentials as KubeCredentials
from talosmith.steps.files import WriteKubeconfig, WriteTalosconfig
from talosmith.steps.kubernetes import ControlPlaneUp, DeleteNode, Drain, Uncordon
from talosmith.steps.removal import ResetNode
from talosmith.talos import Credentials, NotTrusted, TooSlow
from talosmith.waiting import StoppedWaiting
from tests.unit.steps.conftest import NewWorld
from tests.unit.steps.fake_kube import pod
from tests.unit.steps.fake_world import World

pytestmark = pytest.mark.usefixtures("clock")


@pytest.fixture
def world(new_world: NewWorld) -> World:
    world = new_world(3, 1)
    world.runs()
    world.pods = [pod("web", "w-1"), pod("other", "cp-1")]
    return world


async def test_the_api_is_waited_for_with_the_reason_why_it_is_not_ready(world: World) -> None:
    context, step, box = world.context(), ControlPlaneUp(), world.boxes["cp-1"]
    box.api = "etcd"
    assert not await step.done(context)

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        world.report(text, hint)
        box.api = ""

    await step.run(context, report)
    assert world.told == ["waiting for the Kubernetes API: not ready (/readyz fails: etcd)"] and await step.done(
        context
    )


async def test_a_node_is_cordoned_as_ours_and_drained(world: World) -> None:
    await Drain("w-1").run(world.context(), world.report)
    assert world.log == ["w-1 kube:cordon", "w-1 kube:evict web"]
    assert [one["metadata"]["name"] for one in world.pods] == ["other"]
    assert not await Uncordon("w-1").done(world.context()), "the cordon is marked as talosmith's"
    await Drain("w-1").run(world.context(), world.report)
    assert world.log == ["w-1 kube:cordon", "w-1 kube:evict web"], "a second run finds all of it done"


async def test_nothing_is_cordoned_while_a_pod_may_not_leave(world: World) -> None:
    world.protected = {"web"}

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        world.report(text, hint)
        world.stopping = True

    with pytest.raises(StoppedWaiting):
        await Drain("w-1").run(world.context(), report)
    assert (
        world.log == [] and "waiting for pods that must not be evicted: default/web: would violate" in world.told[0]
    )


async def test_a_control_plane_that_must_stay_is_not_emptied(world: World) -> None:
    world.boxes["cp-2"].sick = True

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        world.report(text, hint)
        world.stopping = text.startswith("not allowed yet")

    with pytest.raises(StoppedWaiting):
        await Drain("cp-1", controlplane=True).run(world.context(), report)
    assert world.log == []


async def test_only_a_cordon_of_ours_is_ended(world: World) -> None:
    context, step = world.context(), Uncordon("w-1")
    world.nodes["w-1"]["spec"] = {"unschedulable": True}
    assert await step.done(context), "an administrator's"
    await Drain("cp-3").run(context, world.report)
    await Uncordon("cp-3").run(context, world.report)
    assert world.log == ["cp-3 kube:cordon", "cp-3 kube:uncordon"] and await Uncordon("cp-3").done(context)


async def test_a_node_object_is_deleted_and_a_lost_answer_does_no_harm(world: World) -> None:
    world.loses_answer("w-1 kube:delete", TooSlow("w-1", "no answer"))
    context, step = world.context(), DeleteNode("w-1")
    with pytest.raises(TooSlow):
        await step.run(context, world.report)
    await step.run(context, world.report)
    assert await step.done(context) and await Drain("w-1").done(context)


async def test_a_node_is_reset_to_maintenance_mode(world: World) -> None:
    context, step = world.context(), ResetNode("w-1")
    assert not await step.done(context)
    await step.run(context, world.report)
    assert world.log == ["w-1 talos:Reset STATE+EPHEMERAL"] and await step.done(context)


async def test_a_reset_wipes_system_volumes_on_partitions_of_their_own(world: World) -> None:
    """On Talos 1.14 etcd's data may be elsewhere than on EPHEMERAL, and would outlive a reset of that."""
    world.boxes["w-1"].volumes = {"ETCD": "/dev/vda5", "KUBELET": "/dev/vdb1", "u-data": "/dev/vdb2"}
    await ResetNode("w-1").run(world.context(), world.report)
    assert world.log == ["w-1 talos:Reset STATE+EPHEMERAL+ETCD+KUBELET"]


async def test_somebody_elses_node_is_not_reset(world: World) -> None:
    world.boxes["w-1"].stage = "stranger"
    with pytest.raises(NotTrusted):
        await ResetNode("w-1").run(world.context(), world.report)
    assert world.log == []


# Files


async def test_talosconfig_is_written_for_its_owner_alone(world: World, tmp_path: Path) -> None:
    context, step, path = world.context(), WriteTalosconfig(), tmp_path / "talosconfig"
    assert not await step.done(context)
    await step.run(context, world.report)
    assert await step.done(context) and path.stat().st_mode & 0o777 == 0o600


async def test_kubeconfig_comes_from_the_first_control_plane_that_answers(world: World, tmp_path: Path) -> None:
    world.boxes["cp-1"].stage = "off"
    await WriteKubeconfig().run(world.context(), world.report)
    assert (tmp_path / "kubeconfig").read_text() == "from cp-2"


@pytest.mark.parametrize("step", [WriteTalosconfig(), WriteKubeconfig()])
async def test_a_file_of_another_cluster_is_not_written_over(
    world: World, tmp_path: Path, step: WriteTalosconfig | WriteKubeconfig
) -> None:
    path = tmp_path / step.verb
    other = base64.b64encode(b"another cluster's").decode()
    path.write_text(f"context: a\ncontexts: {{a: {{ca: {other}}}}}\n")
    before = path.read_text()
    assert not await step.done(world.context())
    with pytest.raises(Permanent, match="belongs to another cluster"):
        await step.run(world.context(), world.report)
    assert path.read_text() == before


@pytest.mark.parametrize("step", [WriteTalosconfig(), WriteKubeconfig()])
async def test_git_ignores_the_files_that_open_the_cluster(
    world: World, tmp_path: Path, step: WriteTalosconfig | WriteKubeconfig
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    await step.run(world.context(), world.report)
    assert (tmp_path / step.verb).exists()
    assert (tmp_path / ".gitignore").read_text() == f"/{step.verb}\n"


# Credentials


async def test_later_steps_use_the_exchanged_credentials(world: World) -> None:
    context = world.context()
    held, at = context.kube(), context.kube_at("cp-2")
    talos, kube = (made.from_bundle(world.desired.bundle) for made in (Credentials, KubeCredentials))
    await context.exchange(talos, kube)  # type: ignore[arg-type]
    assert context.talos.credentials is talos  # type: ignore[attr-defined]
    assert context.kube() is held and held.credentials is at.credentials is kube  # type: ignore[attr-defined]
    assert context.kube_at("cp-3").credentials is kube, "made since"  # type: ignore[attr-defined]
    async with context:
        pass
    assert held.closed and at.closed  # type: ignore[attr-defined]
