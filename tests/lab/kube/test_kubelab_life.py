"""The API as the cluster lives: quorum lost and found, a lab killed and started again, faults."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from talosmith.kube import KubeClient, Ref, api_health, errors
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.lab.kube.kube_lab import PATIENCE, KubeLab, running
from tests.lab.kube.test_kubelab_server import OURS, config_map
from tests.lab.lab_worlds import Configs

pytestmark = pytest.mark.slow
MAP = Ref("v1", "ConfigMap", "a", "default")


@pytest.fixture
async def three(tmp_path: Path, network: str) -> AsyncIterator[KubeLab]:
    configs = Configs(vip=network.replace(".0/24", ".5"))
    async with running(tmp_path, configs, network, "cp-1", "cp-2", "cp-3") as lab:
        cluster = next(iter(lab.server.world.clusters.values()))
        await lab.until(lambda: len(cluster.voters) == 3)
        yield lab


async def test_any_control_plane_answers_for_the_cluster(three: KubeLab) -> None:
    async with three.client(1) as one, three.client(3) as other:
        made = await one.create(config_map("a"))
        assert await other.get(MAP) == made
    three.server.control.power_off(["cp-1"])
    async with three.client(1, 2) as client:  # the first one is gone
        assert await client.get(MAP) == made


async def test_without_quorum_the_server_says_so(three: KubeLab) -> None:
    three.server.control.power_off(["cp-2", "cp-3"])
    async with three.client(1) as client:
        for act in (client.get(MAP), client.create(config_map("a")), client.list("v1", "ConfigMap")):
            with pytest.raises(errors.NotReady, match="etcdserver: request timed out") as caught:
                await act
            assert caught.value.code == 500
        assert (await api_health(client)).failing == ("etcd", "etcd-readiness")
        three.server.control.power_on(["cp-2"])
        await three.until(lambda: next(iter(three.server.world.clusters.values())).leader)
        await client.create(config_map("a"))
        assert (await api_health(client)).ready


async def test_a_member_that_is_cut_off_does_not_answer_with_the_past(three: KubeLab) -> None:
    three.server.control.add_fault("partition", machines=["cp-1"], others=["cp-2", "cp-3"])
    async with three.client(1) as cut_off, three.client(2) as rest:
        await three.until(lambda: next(iter(three.server.world.clusters.values())).leader)
        await rest.create(config_map("a"))
        with pytest.raises(errors.NotReady, match="request timed out"):
            await cut_off.get(MAP)
        three.server.control.clear_faults()
        assert (await cut_off.get(MAP))["metadata"]["name"] == "a"


async def test_a_lab_that_was_killed_has_the_same_objects(tmp_path: Path, network: str) -> None:
    configs = Configs(vip=network.replace(".0/24", ".5"))
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.ex.org"},
        "spec": {
            "group": "ex.org",
            "scope": "Namespaced",
            "names": {"plural": "foos", "kind": "Foo"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
            ],
        },
    }
    async with running(before, configs, network, "cp-1") as lab, lab.client() as client:
        await client.create(config_map("gone"))
        made = await client.create(config_map("a", x="1"))
        await client.create(definition)
        await client.delete(Ref("v1", "ConfigMap", "gone", "default"))
        shutil.copytree(before, after)  # what a process leaves that is killed now
    async with LabServer(after, LabOptions(network=network)) as server:
        lab = KubeLab(server, configs, network)
        async with lab.client() as client:
            assert await client.get(MAP) == made
            assert await client.find(Ref("v1", "ConfigMap", "gone", "default")) is None
            assert await client.serves("ex.org/v1", "Foo")
            newer = await client.create(config_map("b"))
            assert int(newer["metadata"]["resourceVersion"]) > int(made["metadata"]["resourceVersion"])


async def test_a_rebooting_control_plane_drops_its_clients_and_comes_back(kube: KubeLab, client: KubeClient) -> None:
    await client.create(config_map("a"))
    kube.server.control.power_off(["cp-1"])
    with pytest.raises((errors.NoConnection, errors.Unreachable)):
        await client.caller.ask("GET", "/version", attempts=1)
    kube.server.control.power_on(["cp-1"])
    run = kube.server.world.machines["cp-1"]
    await kube.until(lambda: run.run is not None and run.run.static_pods)
    assert (await client.get(MAP))["metadata"]["name"] == "a"


async def test_machines_without_addresses_have_ports(tmp_path: Path) -> None:
    async with LabServer(tmp_path, LabOptions(clock="instant", ports=True)) as server:
        configs = Configs(vip="127.0.0.1")
        await KubeLab(server, configs, "127.0.0.0/24").bring_up("cp-1")
        port = server.world.machines["cp-1"].port - 50000 + 6443
        async with KubeClient.from_bundle(configs.bundle, [f"127.0.0.1:{port}"]) as client:
            assert await client.find(Ref("v1", "Namespace", "default")) is not None


# Faults


async def test_a_control_plane_that_is_cut_off_from_us_falls_silent(kube: KubeLab, client: KubeClient) -> None:
    await client.create(config_map("a"))
    events = client.events("v1", "ConfigMap", "default", "", fields=OURS, seconds=int(PATIENCE))
    assert '"ADDED"' in await anext(events)
    kube.server.control.add_fault("partition", machines=["cp-1"])
    coming = asyncio.ensure_future(anext(events))
    with pytest.raises((errors.TooSlow, errors.NoConnection)):
        await client.caller.ask("GET", "/version", timeout=0.5, attempts=1)
    assert not coming.done()
    kube.server.control.clear_faults()
    await client.create(config_map("b"))
    assert '"b"' in await asyncio.wait_for(coming, PATIENCE)
    await events.aclose()


async def test_an_api_that_is_down_refuses_connections(kube: KubeLab, client: KubeClient) -> None:
    kube.server.control.add_fault("kube-down", machines=["cp-1"])
    with pytest.raises((errors.NoConnection, errors.Unreachable)):
        await client.caller.ask("GET", "/version", attempts=1)
    kube.server.control.clear_faults()
    await client.server_version()


async def test_a_slow_api_is_slow(kube: KubeLab, client: KubeClient) -> None:
    kube.server.control.add_fault("kube-slow", seconds=0.3, method="list configmaps")
    start = time.monotonic()
    await client.list("v1", "ConfigMap")
    assert time.monotonic() - start >= 0.3


async def test_a_busy_api_sends_clients_away_and_they_come_back(kube: KubeLab, client: KubeClient) -> None:
    await client.serves("v1", "ConfigMap")
    kube.server.control.add_fault("kube-busy", times=1, seconds=1)
    with pytest.raises(errors.NotReady) as caught:
        await client.caller.ask("GET", "/api/v1/configmaps", attempts=1)
    assert (caught.value.code, caught.value.reason, caught.value.retry_after) == (429, "TooManyRequests", 1)
    kube.server.control.add_fault("kube-busy", times=1, seconds=1, method="create configmaps")
    assert (await client.create(config_map("a")))["metadata"]["name"] == "a"


async def test_a_request_without_an_answer_had_its_effect(kube: KubeLab, client: KubeClient) -> None:
    await client.serves("v1", "ConfigMap")
    kube.server.control.add_fault("kube-time-out", times=1, method="create configmaps")
    path = "/api/v1/namespaces/default/configmaps"
    with pytest.raises(errors.TooSlow):
        # Long enough for it to be sent, however busy the machine is: no answer ever comes.
        await client.caller.ask("POST", path, body=config_map("a"), timeout=3.0, attempts=1)
    assert await client.find(MAP) is not None


async def test_a_watch_that_is_cut_breaks_off(kube: KubeLab, client: KubeClient) -> None:
    await client.create(config_map("a"))
    kube.server.control.add_fault("watch-cut", times=1)
    lines = []
    with pytest.raises(errors.Unreachable):
        async for line in client.events("v1", "ConfigMap", "default", "", fields=OURS, seconds=int(PATIENCE)):
            lines.append(line)  # noqa: PERF401 - what came before it broke off is kept
    assert len(lines) == 1
