"""Machine configs: the first one, a new one with and without a reboot, one that the step carries itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from talosmith.desired.config.load import load
from talosmith.desired.target import StepConfig
from talosmith.errors import Permanent, Temporary
from talosmith.plan.builder import PlanBuilder
from talosmith.steps.change_config import ChangeConfig
from talosmith.steps.first_config import FirstConfig
from talosmith.steps.nodes import Joined, Reboot
from talosmith.talos import Invalid, NotTrusted, TooSlow
from talosmith.waiting import StoppedWaiting
from tests.unit.steps.conftest import NewWorld
from tests.unit.steps.fake_world import Provider, World

pytestmark = pytest.mark.usefixtures("clock")

INSTALLED = {"phase": "installed"}
APPLY, REBOOT = "cp-1 talos:ApplyConfiguration", "cp-1 talos:Reboot"


@pytest.fixture
def world(new_world: NewWorld) -> World:
    """One control plane that waits for its config, made by the provider."""
    world = new_world()
    world.provider.machines["cp-1"] = world.machine("cp-1")
    return world


@pytest.fixture
def running(new_world: NewWorld) -> World:
    """One control plane that runs with another config than the inventory's."""
    world = new_world()
    world.runs()
    world.boxes["cp-1"].running = world.boxes["cp-1"].kept = older(world)
    return world


def between(world: World, phase: str, **sysctls: str) -> StepConfig:
    documents = [dict(one) for one in load(world.desired.nodes["cp-1"].config.reveal())]
    documents[0] = {**documents[0], "machine": {**documents[0]["machine"], "sysctls": sysctls}}
    return StepConfig.of(phase, documents)


def older(world: World) -> str:
    return between(world, "old", old="1").config.reveal()


def wanted(world: World) -> str:
    return world.desired.nodes["cp-1"].config.reveal()


# The first config


async def test_the_first_config_is_applied_and_the_installation_waited_for(world: World) -> None:
    context, step = world.context(), FirstConfig("cp-1")
    assert not await step.done(context)
    await step.run(context, world.report)
    assert world.log == [f"{APPLY} auto"]
    assert world.boxes["cp-1"].kept == wanted(world)
    assert "waiting for the Talos API with the machine config: cp-1: stage is installing" not in world.told
    assert await step.done(context)


async def test_from_talos_1_14_on_the_installation_is_waited_for_by_its_own_status(world: World) -> None:
    """The node answers with the cluster's certificate before it is installed."""
    world.boxes["cp-1"].installation = [{}, {"phase": "installing"}, {"phase": "waiting-for-reboot"}, INSTALLED]
    await FirstConfig("cp-1").run(world.context(), world.report)
    said = [text for text in world.told if "installation is" in text]
    assert [text.rpartition("cp-1: ")[2] for text in said] == [
        "installation is pending", "installation is installing", "installation is waiting-for-reboot"
    ]  # fmt: skip


async def test_an_installation_that_fails_is_waited_for_with_its_reason(world: World) -> None:
    """Talos tries again: a registry may come back."""
    world.boxes["cp-1"].installation = [{"phase": "failed", "error": "failed to pull image"}, INSTALLED]
    await FirstConfig("cp-1").run(world.context(), world.report)
    assert any("installation is failed (failed to pull image)" in text for text in world.told)


async def test_no_disk_matches_the_expression(world: World) -> None:
    box = world.boxes["cp-1"]
    box.installation = [{"error": "no disk matched the selector"}]
    box.disks = ({"dev_path": "/dev/vda", "pretty_size": "21 GB"},)
    with pytest.raises(Permanent) as caught:
        await FirstConfig("cp-1").run(world.context(), world.report)
    assert (
        "install disk does not exist (no disk matched the selector); disks of the machine: /dev/vda (21 GB)"
        in str(caught.value)
    )


async def test_a_node_that_has_its_config_gets_it_no_second_time(world: World) -> None:
    context, step = world.context(), FirstConfig("cp-1")
    await step.run(context, world.report)
    await step.run(context, world.report)
    assert world.log == [f"{APPLY} auto"]
    assert "machine config was applied by another run or an earlier attempt" in world.told


async def test_a_first_config_whose_answer_is_lost_is_not_applied_again(world: World) -> None:
    world.loses_answer(f"{APPLY} auto", TooSlow("cp-1", "no answer"))
    context, step = world.context(), FirstConfig("cp-1")
    with pytest.raises(TooSlow):
        await step.run(context, world.report)
    await step.run(context, world.report)  # as the engine tries it again
    assert world.log == [f"{APPLY} auto"] and await step.done(context)


async def test_a_config_that_the_machine_refuses(world: World) -> None:
    world.refuses(f"{APPLY} auto", Invalid("cp-1", "refused", said="unknown keys found"))
    with pytest.raises(Invalid):
        await FirstConfig("cp-1").run(world.context(), world.report)
    assert not world.boxes["cp-1"].kept


async def test_a_machine_with_another_fingerprint_gets_no_secrets(world: World) -> None:
    machine = world.provider.machines["cp-1"]
    world.provider.machines["cp-1"] = replace(machine, fingerprint="of somebody else")
    with pytest.raises(NotTrusted):
        await FirstConfig("cp-1").run(world.context(), world.report)
    assert world.log == []


async def test_a_machine_that_has_booted_since_is_known_by_its_new_fingerprint(world: World) -> None:
    context = world.context()
    world.boxes["cp-1"].boots = 2
    world.provider.machines["cp-1"] = world.machine("cp-1")
    await FirstConfig("cp-1").run(context, world.report)
    assert any("has rebooted since its fingerprint was read" in text for text in world.told)
    assert world.log == [f"{APPLY} auto"]


class Metal(Provider):
    creates = False


async def test_nothing_proves_who_answers(new_world: NewWorld) -> None:
    world = new_world(provider=Metal)
    with pytest.raises(Permanent, match=r"nothing proves that the machine at .* is cp-1") as refused:
        await FirstConfig("cp-1").run(world.context(), world.report)
    assert "--trust-first-use" in refused.value.hint and world.log == []
    await FirstConfig("cp-1").run(world.context(trust_first_use=True), world.report)
    assert world.log == [f"{APPLY} auto"]
    assert "cp-1: trusted at first use, with the fingerprint boot1ofcp-1" in world.told


async def test_another_cluster_answers(world: World) -> None:
    world.boxes["cp-1"].stage = "stranger"
    assert world.boxes["cp-1"].fingerprint
    with pytest.raises(NotTrusted):
        await FirstConfig("cp-1").run(world.context(), world.report)
    assert world.log == []


async def test_a_node_that_falls_back_after_its_config_is_not_waited_for(world: World) -> None:
    """The installation failed, and the machine has booted into maintenance mode again, with a new fingerprint."""
    box = world.boxes["cp-1"]
    box.coming = ["installing"]

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        box.boots, box.stage, box.coming = 2, "maintenance", []

    with pytest.raises(Permanent, match="the machine config was applied, and the machine has booted since"):
        await FirstConfig("cp-1").run(world.context(), report)
    assert world.log == [f"{APPLY} auto"]


async def test_a_machine_that_makes_its_own_way_to_its_config_is_only_waited_for(world: World) -> None:
    world.provider.seeds = True  # type: ignore[misc]
    box = world.boxes["cp-1"]
    box.stage, box.coming, box.kept = "off", ["off", "installing", "booting", "running"], wanted(world)
    await FirstConfig("cp-1").run(world.context(), world.report)
    assert world.log == [] and any("connection refused" in text for text in world.told)


async def test_a_stop_is_heeded_while_nothing_has_begun(world: World) -> None:
    world.boxes["cp-1"].stage = "off"
    world.stopping = True
    with pytest.raises(StoppedWaiting, match="stopped while waiting for the Talos API in maintenance mode"):
        await FirstConfig("cp-1").run(world.context(), world.report)
    assert world.log == []


# A new config


async def test_a_change_without_a_reboot(running: World) -> None:
    context, step = running.context(), ChangeConfig("cp-1", controlplane=True)
    assert not await step.done(context)
    await step.run(context, running.report)
    assert running.log == [f"{APPLY} no-reboot"] and await step.done(context)


async def test_a_change_with_a_reboot_passes_the_gate_and_waits_until_the_node_is_back(running: World) -> None:
    context, step = running.context(), ChangeConfig("cp-1", reboot=True, controlplane=True)
    await step.run(context, running.report)
    assert running.log == [f"{APPLY} staged", REBOOT]
    assert running.told[0] == "waiting for other control planes: one is disrupted at a time"
    assert running.told[-1] == "`cp-1` is back; 1 of 1 etcd members are healthy"
    assert context.disturbed == "" and await step.done(context)


async def test_a_reboot_that_is_cut_short_is_not_made_twice(running: World) -> None:
    running.loses_answer(REBOOT, TooSlow("cp-1", "no answer"))
    context, step = running.context(), ChangeConfig("cp-1", reboot=True, controlplane=True)
    with pytest.raises(TooSlow):
        await step.run(context, running.report)
    assert context.disturbed == "cp-1"
    running.boxes["cp-1"].stage = "booting"
    assert not await step.done(context), "the gate has not seen it come back"
    await step.run(context, running.report)
    assert running.log == [f"{APPLY} staged", REBOOT] and await step.done(context)


async def test_a_change_of_the_network_is_tried_before_it_is_kept(running: World) -> None:
    await ChangeConfig("cp-1", network=True, controlplane=True).run(running.context(), running.report)
    assert running.log == [f"{APPLY} try", f"{APPLY} no-reboot"]


async def test_a_network_that_cuts_the_node_off_is_not_kept(running: World) -> None:
    """The node goes back to its old config by itself; what is said meanwhile names the wait."""
    box, context = running.boxes["cp-1"], running.context()

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        if "changed network" in text:
            raise Temporary("the step's limit is over")

    class Cut(type(context.configured("cp-1"))):  # type: ignore[misc]
        async def close(self) -> None:
            box.stage = "off"

    context.talos.node = lambda address, name: Cut(running, box, name)  # type: ignore
    with pytest.raises(Temporary, match="limit"):
        await ChangeConfig("cp-1", network=True).run(context, report)
    assert running.log == [f"{APPLY} try"] and box.kept == older(running)


async def test_changed_components_are_waited_for(running: World) -> None:
    def marked(version: str) -> dict[str, Any]:
        labels = {"k8s-app": "kube-apiserver"}
        marks = {"talos.dev/config-version": version}
        return {"metadata": {"name": "kube-apiserver-cp-1", "labels": labels, "annotations": marks}}

    running.boxes["cp-1"].static_pods, running.pods = [marked("2")], [marked("1")]

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        running.report(text, hint)
        if "still runs with the earlier machine config" in text:
            running.pods = [marked("2")]

    await ChangeConfig("cp-1", controlplane=True, restarts=True).run(running.context(), report)
    assert any("kube-apiserver-cp-1 still runs with the earlier machine config" in text for text in running.told)


async def test_a_config_that_is_refused_changes_nothing_and_leaves_the_gate_shut(new_world: NewWorld) -> None:
    world = new_world(3)
    world.runs()
    world.refuses(f"{APPLY} staged", Invalid("cp-1", "refused", said="unknown keys found"))
    world.boxes["cp-1"].kept = world.boxes["cp-1"].running = older(world)
    context = world.context()
    with pytest.raises(Invalid):
        await ChangeConfig("cp-1", reboot=True, controlplane=True).run(context, world.report)
    with pytest.raises(Permanent, match="cp-2 is left alone: control plane cp-1 was disturbed in this run"):
        await ChangeConfig("cp-2", reboot=True, controlplane=True).run(context, world.report)
    assert world.log == [f"{APPLY} staged"]


async def test_no_control_plane_is_changed_while_the_gate_is_shut(new_world: NewWorld) -> None:
    world = new_world(3)
    world.runs()
    world.boxes["cp-1"].kept = older(world)
    world.boxes["cp-3"].api = "etcd"

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        if text.startswith("not allowed yet"):
            assert "the Kubernetes API of `cp-3` is not ready" in text and world.log == []
            world.boxes["cp-3"].api = ""

    await ChangeConfig("cp-1", reboot=True, controlplane=True).run(world.context(), report)
    assert world.log == [f"{APPLY} staged", REBOOT]


# A config of the step's own


async def test_a_step_applies_the_config_that_it_carries(running: World) -> None:
    first, second = between(running, "accept-ca", a="1"), between(running, "use-ca", a="2")
    context = running.context()
    steps = [ChangeConfig("cp-1", own=first), ChangeConfig("cp-1", own=second), ChangeConfig("cp-1")]
    for number, step in enumerate(steps):
        assert not await step.done(context)
        await step.run(context, running.report)
        assert [await one.done(context) for one in steps] == [one is step for one in steps], number
    assert running.boxes["cp-1"].kept == wanted(running)


async def test_a_node_gets_the_first_config_that_the_step_carries(world: World) -> None:
    own = between(world, "accept-ca", a="1")
    context, step = world.context(), FirstConfig("cp-1", own)
    await step.run(context, world.report)
    assert world.boxes["cp-1"].kept == own.config.reveal() and await step.done(context)


async def test_a_node_with_another_config_than_the_step_carries_is_told(world: World) -> None:
    await FirstConfig("cp-1").run(world.context(), world.report)
    step = FirstConfig("cp-1", between(world, "accept-ca", a="1"))
    assert not await step.done(world.context())
    with pytest.raises(Permanent, match="cp-1 has another machine config than this step applies"):
        await step.run(world.context(), world.report)


async def test_a_plan_tells_configs_apart_and_shows_no_secret(new_world: NewWorld) -> None:
    world = new_world()

    def plan(value: str) -> Any:
        builder = PlanBuilder[Any]("rotate", "mine")
        builder.add(ChangeConfig("cp-1", own=between(world, "accept-ca", a=value)), "accepts both CAs")
        builder.add(ChangeConfig("cp-1"), "accepts the new CA", needs=["node/cp-1/config-accept-ca"])  # type: ignore
        return builder.freeze()

    one, other = plan("1"), plan("2")
    assert [step.key for step in one] == ["node/cp-1/config-accept-ca", "node/cp-1/config"]
    assert one.digest == plan("1").digest != other.digest
    digest = between(world, "accept-ca", a="1").digest
    assert f"(accept-ca, {digest[:16]})" in one.steps[0].action.describe()
    shown = f"{one.as_data()} {one!r}"
    for secret in (world.desired.bundle.os.key.reveal(), world.desired.bundle.k8s.key.reveal()):
        assert secret.splitlines()[1] not in shown
    assert "PRIVATE KEY" not in shown and "token" not in shown


# Reboots, and nodes that get ready


async def test_a_staged_config_is_taken_up_by_a_reboot(running: World) -> None:
    running.boxes["cp-1"].kept = wanted(running)
    context, step = running.context(), Reboot("cp-1", controlplane=True)
    assert not await step.done(context)
    await step.run(context, running.report)
    await step.run(context, running.report)
    assert running.log == [REBOOT] and await step.done(context)
    assert running.boxes["cp-1"].running == wanted(running)


async def test_a_node_is_waited_for_until_it_is_ready(running: World) -> None:
    box, context = running.boxes["cp-1"], running.context()
    box.unmet = (("services", "kubelet not running"),)
    assert not await Joined("cp-1").done(context)

    def report(text: str, hint: str = "", *, phase: str = "") -> None:
        running.report(text, hint)
        box.unmet = ()

    await Joined("cp-1").run(context, report)
    assert running.told == ["kubelet not running"] and running.log == []
    assert await Joined("cp-1").done(context)
