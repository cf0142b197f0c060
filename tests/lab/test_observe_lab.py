"""Observing lab clusters in every state they may be found in."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from talosmith.desired.target import Desired
from talosmith.errors import Temporary
from talosmith.model.machines import Machine
from talosmith.model.secret import Secret
from talosmith.observed import nodes as asking
from talosmith.observed.world import EtcdSeen, NodeSeen, Unknown
from talosmith.plan.gate import judge
from talosmith.talos import ApplyMode, InMaintenance, Limits, MaintenanceClient, TalosClient, TalosNode
from talosmith.talos.grpc.channel import NodeChannel
from talosmith_lab import services
from tests.lab.lab_worlds import NEW, quick_bundle
from tests.lab.observe_worlds import PATIENCE, LabWorld, desired_of, lab_world
from tests.machine_specs import with_settings

pytestmark = pytest.mark.slow

DAY = 86400.0
CONNECT, ANSWER = asking.CONNECT, asking.ANSWER
ALL = ["cp-1", "cp-2", "cp-3", "w-1", "w-2"]
READS = {"Get", "List", "Version", "Read", "ServiceList", "EtcdStatus", "EtcdMemberList", "EtcdAlarmList"}


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody here is given up because the machine is busy."""
    for limit in ("nodes.CONNECT", "nodes.ANSWER", "nodes._PROBE", "etcd._ANSWER"):
        monkeypatch.setattr(f"talosmith.observed.{limit}", PATIENCE)


@pytest.fixture
async def world(tmp_path: Path, network: str) -> AsyncIterator[LabWorld]:
    async with lab_world(tmp_path, network) as made:
        yield made


@pytest.fixture
async def up(world: LabWorld) -> LabWorld:
    await world.come_up()
    return world


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Address and name of every call that is made, and `connect` for every connection."""
    made: list[tuple[str, str]] = []
    call, connect = NodeChannel.call, NodeChannel._create_connection

    def counted(self: NodeChannel, name: str, *rest: Any, **more: Any) -> Any:
        made.append((str(self.address), name.rpartition("/")[2]))
        return call(self, name, *rest, **more)

    async def connected(self: NodeChannel) -> Any:
        made.append((str(self.address), "connect"))
        return await connect(self)

    monkeypatch.setattr(NodeChannel, "call", counted)
    monkeypatch.setattr(NodeChannel, "_create_connection", connected)
    return made


def etcd(seen: NodeSeen) -> EtcdSeen:
    assert isinstance(seen.etcd, EtcdSeen), seen.etcd
    return seen.etcd


def why(value: object) -> str:
    assert isinstance(value, Unknown), value
    return value.why


async def test_where_nothing_is_nothing_is_found(world: LabWorld) -> None:
    found = await world.look()
    assert list(found.nodes) == ALL
    assert {(seen.machine, seen.stage, seen.etcd, seen.kube) for seen in found.nodes.values()} == {(None,) * 4}
    assert found.bootstrapped is False
    assert found.kubernetes is None
    assert found.etcd() is None
    assert found.not_in_inventory == {}


async def test_machines_in_maintenance_mode(world: LabWorld) -> None:
    world.create(*ALL)
    await world.rest()
    assert world.stages() == {"maintenance"}
    found = await world.look()
    told = {one["name"]: one["fingerprint"] for one in world.control.list_machines()}
    assert {name: seen.fingerprint for name, seen in found.nodes.items()} == told
    assert {seen.stage for seen in found.nodes.values()} == {"maintenance"}
    assert {seen.talos_version for seen in found.nodes.values()} == {NEW}
    assert not any(seen.configured or seen.etcd or seen.config for seen in found.nodes.values())
    assert found.bootstrapped is False
    assert found.kubernetes is None


async def test_a_fingerprint_that_is_given_is_insisted_on(world: LabWorld) -> None:
    world.create("cp-1", "cp-2")
    await world.rest()
    assert world.stages() == {"maintenance"}
    other = world.control.list_machines("cp-2")[0]["fingerprint"]
    wanted = world.desired.nodes["cp-1"]
    pinned = with_settings(wanted.machine, fingerprint=other)
    world.desired.nodes["cp-1"] = dataclasses.replace(wanted, machine=pinned)
    found = await world.look()
    assert "fingerprint" in found.nodes["cp-1"].foreign_reason
    assert isinstance(found.nodes["cp-1"].stage, Unknown)
    assert found.nodes["cp-2"].stage == "maintenance"
    assert isinstance(found.bootstrapped, Unknown)


async def test_configured_nodes_wait_for_a_bootstrap(world: LabWorld) -> None:
    world.create(*ALL)
    await world.configure(*ALL)
    await world.rest()
    assert world.stages() == {"booting", "running"}
    found = await world.look()
    assert [etcd(found.nodes[name]).waiting for name in ALL[:3]] == [True] * 3
    assert [found.nodes[name].etcd for name in ALL[3:]] == [None, None]
    assert found.bootstrapped is False
    assert found.kubernetes is None
    assert found.nodes["cp-1"].config_digest == world.desired.nodes["cp-1"].digest
    assert "etcd" in " ".join(found.nodes["cp-1"].unmet)


async def test_a_running_cluster(up: LabWorld) -> None:
    found = await up.look()
    for name, seen in found.nodes.items():
        assert (seen.name, seen.stage, seen.ready, seen.foreign_reason) == (name, "running", True, "")
        assert seen.config == up.desired.nodes[name].config
        assert seen.config_digest == up.desired.nodes[name].digest
        assert seen.talos_version == NEW
        assert len(seen.boot_id) == 36
        assert not seen.pending_reboot
    view = found.etcd()
    assert view is not None
    assert [(one.name, one.healthy, one.learner) for one in view.members] == [(name, True, False) for name in ALL[:3]]
    assert view.agreed
    assert found.bootstrapped is True
    assert judge("restart", "cp-1", view)
    assert found.not_in_inventory == {}


async def test_one_connection_and_only_reading(up: LabWorld, calls: list[tuple[str, str]]) -> None:
    await up.talos.close()
    revisions = {name: machine.revision for name, machine in up.server.world.machines.items()}
    await up.look()
    connections = [address for address, name in calls if name == "connect"]
    assert sorted(connections) == sorted(str(node.node.ip) for node in up.desired.nodes.values())
    assert {name for _, name in calls} - {"connect"} <= READS
    assert len(calls) - len(connections) <= 3 * 9 + 2 * 4  # control planes are asked for the VIP, too
    assert {name: machine.revision for name, machine in up.server.world.machines.items()} == revisions


async def test_little_is_spent_on_it(up: LabWorld) -> None:
    spent = []
    for _ in range(4):  # now and then, others' garbage is collected meanwhile
        await up.talos.close()
        before = time.process_time()
        await up.look()
        spent.append(time.process_time() - before)
    assert min(spent) <= 0.5, "seconds of CPU for five nodes, the lab's own among them"


async def test_a_dead_node_is_unknown_and_the_others_are_not(up: LabWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """It costs seconds, even if every call to it would wait for a day."""
    up.control.add_fault("hang", machines=["cp-2"])
    await up.rest()
    assert CONNECT + ANSWER < 12
    monkeypatch.setattr(asking, "CONNECT", CONNECT)
    monkeypatch.setattr(asking, "ANSWER", ANSWER)
    patient = Limits(connect_timeout=DAY, call_timeout=DAY)
    async with asyncio.timeout(PATIENCE), TalosClient.from_bundle(up.desired.bundle, limits=patient) as up.talos:
        found = await up.look()
    assert isinstance(found.nodes["cp-2"].stage, Unknown)
    assert isinstance(found.nodes["cp-2"].etcd, Unknown)
    assert isinstance(found.nodes["cp-2"].config, Unknown)
    assert [found.nodes[name].stage for name in ALL if name != "cp-2"] == ["running"] * 4
    view = found.etcd()
    assert view is not None
    assert {one.name: one.healthy for one in view.members} == {"cp-1": True, "cp-2": False, "cp-3": True}
    assert not judge("restart", "cp-1", view)
    assert found.bootstrapped is True


async def test_a_control_plane_that_is_off_may_have_etcd(world: LabWorld) -> None:
    world.create(*ALL)
    await world.configure(*ALL)
    await world.rest()
    assert world.stages() == {"booting", "running"}
    world.control.power_off(["cp-3", "w-1"])
    await world.rest()
    found = await world.look()
    assert found.nodes["cp-3"].stage is None
    assert "cp-3" in why(found.bootstrapped)
    assert found.nodes["w-1"].etcd is None
    assert isinstance(found.nodes["w-1"].machine, Machine)


async def test_another_clusters_node_is_a_stranger(world: LabWorld, tmp_path: Path, network: str) -> None:
    """Promise 47, by its authority."""
    theirs = desired_of(tmp_path / "theirs", network, 3, 2)
    world.create("cp-1")
    await world.rest()
    assert world.stages() == {"maintenance"}
    node = world.maintenance.node(world.control.list_machines("cp-1")[0]["address"])
    await node.apply_config(theirs.nodes["cp-1"].config)
    await world.rest()
    assert world.stages() == {"booting"}
    found = await world.look()
    assert "not signed by this cluster's CA" in found.nodes["cp-1"].foreign_reason
    assert not found.nodes["cp-1"].configured
    assert isinstance(found.bootstrapped, Unknown)


async def test_a_node_with_our_authority_and_another_cluster_id_is_a_stranger(
    world: LabWorld, tmp_path: Path, network: str
) -> None:
    """Promise 47, by the cluster's id."""
    mine = world.desired
    twin = Desired(mine.cluster, dataclasses.replace(mine.bundle, cluster_id=quick_bundle().cluster_id[::-1]))
    world.create("cp-1")
    await world.rest()
    assert world.stages() == {"maintenance"}
    address = str(mine.nodes["cp-1"].node.ip)
    await world.maintenance.node(address).apply_config(twin.nodes["cp-1"].config)
    await world.rest()
    assert world.stages() == {"booting"}
    found = await world.look()
    assert "another cluster" in found.nodes["cp-1"].foreign_reason
    assert isinstance(found.nodes["cp-1"].stage, Unknown)
    assert isinstance(found.nodes["cp-1"].etcd, Unknown)


async def test_another_node_of_the_cluster_is_no_stand_in(world: LabWorld) -> None:
    world.create("cp-1")
    await world.rest()
    assert world.stages() == {"maintenance"}
    address = str(world.desired.nodes["cp-1"].node.ip)
    await world.maintenance.node(address).apply_config(world.desired.nodes["cp-2"].config)
    await world.rest()
    assert world.stages() == {"booting"}
    found = await world.look()
    assert "`cp-2`" in found.nodes["cp-1"].foreign_reason


async def test_what_the_inventory_no_longer_has(up: LabWorld, tmp_path: Path, network: str) -> None:
    cluster = up.desired.cluster
    fewer = dataclasses.replace(cluster, nodes=tuple(n for n in cluster.nodes if n.name not in ("cp-3", "w-2")))
    found = await up.look(Desired(fewer, up.desired.bundle))
    assert list(found.nodes) == ["cp-1", "cp-2", "w-1"]
    assert set(found.not_in_inventory) == {"cp-3", "w-2"}
    assert etcd(found.not_in_inventory["cp-3"]).healthy
    up.control.delete(["cp-3"])
    await up.rest()
    gone = await up.look(Desired(fewer, up.desired.bundle))
    assert gone.not_in_inventory["cp-3"].machine is None, "a member whose machine is gone"
    view = gone.etcd()
    assert view is not None
    assert {one.name: one.healthy for one in view.members} == {"cp-1": True, "cp-2": True, "cp-3": False}


async def test_etcd_that_is_stopped_has_its_data(up: LabWorld) -> None:
    leader = up.control.status()["etcd"][0]["leader"]
    name = next(name for name in ALL[:3] if name != leader)
    services.stop(up.server.world, up.server.world.machines[name], "etcd")  # Talos does not do it on request
    up.server.engine.commit()
    await up.rest()
    found = await up.look()
    seen = etcd(found.nodes[name])
    assert (seen.state, seen.healthy, seen.waiting, seen.members) == ("Finished", False, False, ())
    view = found.etcd()
    assert view is not None
    assert {one.name: one.healthy for one in view.members} == {one: one != name for one in ALL[:3]}


async def test_one_of_three_with_data_is_enough_to_be_bootstrapped(tmp_path: Path, network: str) -> None:
    async with lab_world(tmp_path, network, 3, 0) as world:
        world.create("cp-1", "cp-2", "cp-3")
        await world.configure("cp-1")
        await world.bootstrap("cp-1")
        await world.rest()
        found = await world.look()
        assert found.bootstrapped is True
        assert [found.nodes[name].stage for name in ("cp-2", "cp-3")] == ["maintenance"] * 2


async def test_a_staged_config_waits_for_a_reboot(up: LabWorld) -> None:
    text = up.desired.nodes["w-1"].config.reveal() + "---\napiVersion: v1alpha1\nkind: KmsgLogConfig\nname: a\n"
    text += "url: tcp://192.0.2.1:1\n"
    node = up.talos.node(str(up.desired.nodes["w-1"].node.ip))
    await node.apply_config(text, ApplyMode.STAGED)
    found = await up.look()
    assert found.nodes["w-1"].pending_reboot
    assert found.nodes["w-1"].config == Secret(text)
    assert found.nodes["w-1"].config_digest != up.desired.nodes["w-1"].digest
    assert not found.nodes["w-2"].pending_reboot


async def test_the_same_config_written_otherwise_has_the_same_digest(up: LabWorld) -> None:
    text = "# by hand\n" + up.desired.nodes["w-1"].config.reveal().replace("machine:\n", "machine:\n    env: {}\n", 1)
    node = up.talos.node(str(up.desired.nodes["w-1"].node.ip))
    await node.apply_config(text, ApplyMode.STAGED)
    found = await up.look()
    assert found.nodes["w-1"].config_digest == up.desired.nodes["w-1"].digest


async def test_without_word_of_the_provider_nodes_are_asked_all_the_same(up: LabWorld) -> None:
    up.provider.broken = Temporary("the hypervisor is away")
    found = await up.look()
    assert {seen.stage for seen in found.nodes.values()} == {"running"}
    assert all("hypervisor" in why(seen.machine) for seen in found.nodes.values())


async def test_calls_that_fail_are_unknown_one_by_one(up: LabWorld) -> None:
    up.control.add_fault("fail", machines=["w-1"], method="Version")
    up.control.add_fault("fail", machines=["cp-1"], method="EtcdMemberList")
    found = await up.look()
    assert "Version" in why(found.nodes["w-1"].talos_version)
    assert found.nodes["w-1"].stage == "running"
    assert not etcd(found.nodes["cp-1"]).healthy
    assert "EtcdMemberList" in " ".join(etcd(found.nodes["cp-1"]).errors)


async def test_somebody_at_an_address_that_should_be_free_is_noticed(up: LabWorld) -> None:
    looker = asking.NodeLooker(up.desired, up.talos, up.maintenance, at_once=4, connecting=4)
    address = str(up.desired.nodes["w-1"].node.ip)
    assert "of this cluster" in await looker.answers("w-1", address)
    async with MaintenanceClient() as other:
        stranger = asking.NodeLooker(up.desired, up.talos, other, at_once=4, connecting=4)
        assert await stranger.answers("w-9", address.rpartition(".")[0] + ".99") == ""


async def test_a_machine_that_another_run_creates_meanwhile_is_ours(
    world: LabWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.create("cp-1")
    await world.rest()
    listed: list[list[Machine]] = [[], await world.provider.find()]

    async def find() -> list[Machine]:
        return listed.pop(0)

    monkeypatch.setattr(world.provider, "find", find)
    network = dataclasses.replace(world.desired.cluster.network, addressing="static")
    static = Desired(dataclasses.replace(world.desired.cluster, network=network), world.desired.bundle)
    seen = (await world.look(static)).nodes["cp-1"]
    assert isinstance(seen.machine, Machine) and seen.stage == "maintenance" and not seen.foreign_reason
    assert not listed


async def test_a_node_that_another_run_configures_while_it_is_looked_at_is_ours(
    world: LabWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows its maintenance certificate at first, and its own when it is asked for its stage."""
    world.create("cp-1")
    await world.rest()
    shown = world.control.list_machines("cp-1")[0]["fingerprint"]
    machine = dataclasses.replace((await world.provider.find())[0], fingerprint=shown)
    await world.configure("cp-1")
    await world.rest()
    await world.maintenance.forget(machine.addresses[0])  # the other run's connection is not ours
    connect, connected = asking._connected, 0

    async def first_in_maintenance(node: TalosNode, maintenance: bool, seconds: float) -> asking.Reached:
        nonlocal connected
        connected += 1
        if connected == 1:
            raise InMaintenance(node.name, "is in maintenance mode")
        return await connect(node, maintenance, seconds)

    async def find() -> list[Machine]:
        return [machine]

    monkeypatch.setattr(asking, "_connected", first_in_maintenance)
    monkeypatch.setattr(world.provider, "find", find)
    seen = (await world.look()).nodes["cp-1"]
    assert seen.configured and not seen.foreign_reason, seen
    assert connected == 3
