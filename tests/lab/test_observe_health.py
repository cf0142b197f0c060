"""Waiting for health: what is told meanwhile, what the end says, and that flapping does not pass."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from talosmith.errors import ExitCode
from talosmith.observed import health
from talosmith.observed.health import Unhealthy, checks
from talosmith.observed.listening import Listener
from talosmith.observed.machines import machines_by_name as by_name
from talosmith.observed.round import Round
from talosmith.talos import Limits, TalosClient
from talosmith_lab import services
from tests.clock import Clock
from tests.lab.lab_servers import at_rest
from tests.lab.observe_worlds import PATIENCE, LabWorld, lab_world

pytestmark = pytest.mark.slow

LIMIT = 600.0  # seconds: more than anything here takes; where it is to run out, the clock is moved
DAY = 86400.0
wait_healthy = partial(health.wait_healthy, between=0.25)  # long enough to listen to the nodes meanwhile


@pytest.fixture
async def world(tmp_path: Path, network: str) -> AsyncIterator[LabWorld]:
    async with lab_world(tmp_path, network, 3, 1) as made:
        yield made


async def test_from_nothing_to_healthy(world: LabWorld) -> None:
    told: list[str] = []
    coming = asyncio.create_task(world.come_up())
    await wait_healthy(world.desired, world.talos, None, report=told.append, limit=LIMIT)
    await coming
    assert told
    assert all(text.startswith("waiting for ") for text in told)
    assert len(told) == len([text for index, text in enumerate(told) if index == 0 or told[index - 1] != text])
    quiet: list[str] = []
    await wait_healthy(world.desired, world.talos, None, report=quiet.append, limit=LIMIT)
    assert quiet == []


async def test_the_limit_names_the_condition_and_the_last_thing_seen(world: LabWorld) -> None:
    """Promises 22 and 23."""
    await world.come_up()
    world.control.power_off(["w-1"])
    clock, seen = Clock(), r"apid to be ready: w-1 .*connection refused"

    def hear(text: str) -> None:
        if re.search(seen, text):
            clock.forward(LIMIT)

    async with asyncio.timeout_at(clock.time() + LIMIT + PATIENCE):
        with pytest.raises(
            Unhealthy, match=r"after 600 s: w-1 is powered off: .* waited for apid to be ready"
        ) as caught:
            await wait_healthy(
                world.desired, world.talos, None, report=hear, limit=LIMIT, machines=partial(by_name, world.provider)
            )
    assert caught.value.check == "apid to be ready" and "connection refused" in caught.value.detail
    assert [(cause.kind, cause.nodes) for cause in caught.value.causes] == [("machine-off", ("w-1",))]
    assert caught.value.exit_code is ExitCode.UNHEALTHY


async def test_a_node_that_says_nothing_does_not_hold_up_the_limit(
    world: LabWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever else would end the waiting for it takes a day."""
    await world.come_up()
    world.control.add_fault("hang", machines=["cp-2"])
    for limit in ("round._ANSWER", "etcd._ANSWER"):
        monkeypatch.setattr(f"talosmith.observed.{limit}", DAY)
    patient = Limits(connect_timeout=DAY, call_timeout=DAY)
    async with asyncio.timeout(PATIENCE), TalosClient.from_bundle(world.desired.bundle, limits=patient) as talos:
        with pytest.raises(Unhealthy, match="etcd to be healthy"):
            await wait_healthy(world.desired, talos, None, report=lambda text: None, limit=2)


async def test_flapping_does_not_pass(world: LabWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise 21: a kubelet that is up for longer than one look takes, again and again, and down in between."""
    await world.come_up()
    inside = world.server.world
    machine = inside.machines["w-1"]
    clock, told, looks = Clock(), list[str](), 0

    class Flapping(Round):
        """After two looks the kubelet stops, after the third it has come back."""

        async def end(self) -> None:
            nonlocal looks
            await super().end()
            looks += 1
            if looks > 12:
                return  # the look after the limit, for the root cause, changes nothing
            if looks % 3 == 2:
                services.stop(inside, machine, "kubelet")
                world.server.engine.commit()
            elif looks % 3 == 0:
                services.start_again(inside, machine, "kubelet")
                world.server.engine.commit()
                await world.until(lambda: at_rest(world.server) and machine.runs("kubelet"))
            if looks == 12:
                clock.forward(LIMIT)

    with monkeypatch.context() as patched:
        patched.setattr("talosmith.observed.health.Round", Flapping)
        with pytest.raises(Unhealthy, match="kubelet"):
            await wait_healthy(world.desired, world.talos, None, report=told.append, limit=LIMIT)
    assert looks >= 12
    assert len([text for text in told if "kubelet to be healthy" in text]) == 4, "it was well in between"
    await wait_healthy(world.desired, world.talos, None, report=lambda text: None, limit=LIMIT)


@pytest.mark.parametrize("turns", range(6))
async def test_the_limit_may_run_out_with_the_news(turns: int) -> None:
    """Who is told to stop in the moment in which something is heard does so."""
    async with Listener([], None) as listener:
        listening = asyncio.create_task(listener.listen(LIMIT))
        while listening.get_coro().cr_await is None:  # type: ignore[union-attr]
            await asyncio.sleep(0)
        listener._heard.set()
        for _ in range(turns):
            await asyncio.sleep(0)
        if listening.cancel():  # else it has ended already
            with pytest.raises(asyncio.CancelledError):
                await listening


async def test_word_of_a_change_comes_before_the_next_look(world: LabWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes are listened to: with a day between looks, a node that comes back is noticed all the same."""
    await world.come_up()
    node, engine, pauses = world.server.world.machines["w-1"], world.server.engine, 0

    def stop(service: str) -> None:
        services.stop(engine.world, node, service)
        engine.commit()

    def start(service: str) -> None:
        services.start_again(engine.world, node, service)
        engine.commit()

    def pause(*_: float) -> float:
        nonlocal pauses
        pauses += 1
        return DAY

    async def mend() -> None:
        await world.until(lambda: pauses == 1)
        while pauses == 1:  # it takes a moment until nodes are listened to: others change until it is noticed
            stop("dashboard")
            start("dashboard")
            await asyncio.sleep(0.1)
        start("kubelet")

    stop("kubelet")
    monkeypatch.setattr("talosmith.observed.health.slower", pause)
    mending = asyncio.create_task(mend())
    async with asyncio.timeout(PATIENCE):
        await wait_healthy(world.desired, world.talos, None, report=lambda text: None, limit=LIMIT)
    await mending


@pytest.mark.parametrize(
    ("more", "ends"),
    [
        ("kubernetes: {cni: none}", True),
        ("patches: [{apiVersion: v1alpha1, kind: KubeFlannelCNIConfig, $patch: delete}]", True),
        ("kubernetes: {cni: none}\npatches: [{cluster: {inlineManifests: [{name: a, contents: ''}]}}]", False),
    ],
    ids=["inventory", "patch", "manifests that may hold a CNI"],
)
async def test_a_cluster_that_lacks_only_a_cni_is_not_waited_for(
    tmp_path: Path, network: str, more: str, ends: bool
) -> None:
    """A run would wait in vain; where Talos applies manifests of the user, a CNI may be among them."""
    async with lab_world(tmp_path, network, 1, 1, more) as world:
        world.create(*world.desired.nodes)
        await world.configure(*world.desired.nodes)
        await world.bootstrap("cp-1")
        await world.rest()
        clock = Clock()

        def hear(text: str) -> None:
            if not ends and "nodes to report ready" in text:
                clock.forward(LIMIT)

        hosts = [str(node.node.ip) for node in world.desired.controlplanes]
        async with asyncio.timeout_at(clock.time() + LIMIT + PATIENCE), world.kube(hosts) as kube:
            with pytest.raises(Unhealthy) as caught:
                await wait_healthy(world.desired, world.talos, kube, report=hear, limit=LIMIT, ends_without_cni=True)
        assert [cause.kind for cause in caught.value.causes] == ["no-cni"]
        assert ("not healthy after" in str(caught.value)) is not ends
        assert caught.value.exit_code is ExitCode.UNHEALTHY


async def test_conditions_are_in_the_order_in_which_they_come_true(world: LabWorld) -> None:
    names = [check.name for check in checks(world.desired)]
    assert names[0] == "etcd to be healthy"
    assert names[-1] == "all k8s nodes to report schedulable"
    assert len(names) == len(set(names)) == 14
