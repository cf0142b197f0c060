"""What our client sees of a node, in the lab and on real Talos: the same questions, the same answers."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from talosmith.desired.bundle import Bundle
from talosmith.talos import (
    AlreadyExists,
    ApplyMode,
    Denied,
    Invalid,
    MaintenanceClient,
    NotFound,
    NotTrusted,
    TalosClient,
    TalosError,
    TalosNode,
    Unsupported,
)
from tests.contract.worlds import World, applied, bootstrapped, eventually, joined

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


async def test_maintenance_mode(world: World) -> None:
    (machine,) = await world.fresh()
    async with MaintenanceClient() as client:
        node = client.node(machine.address)
        assert (await node.version()).tag == "v1.13.9"
        assert (await node.machine_status()).stage == "maintenance"
        assert any(str(address.address).startswith(f"{machine.address}/") for address in await node.addresses())
        assert len(await node.links()) >= 1
        for ask in (node.machine_config, node.bootstrap, node.etcd_members, node.kubeconfig):
            with pytest.raises((Denied, Unsupported)):
                await ask()
        with pytest.raises(Invalid):
            await node.apply_config("machine: {type: controlplane}\n")
        with pytest.raises(Invalid):
            await node.apply_config("machine: {unknown: 1}\ncluster: {}\n")
        assert (await node.machine_status()).stage == "maintenance"


async def test_the_fingerprint_is_pinned(world: World) -> None:
    (machine,) = await world.fresh()
    async with MaintenanceClient() as client:
        fingerprint = await client.node(machine.address).fingerprint()
    async with MaintenanceClient() as client:
        assert await client.node(machine.address, fingerprint=fingerprint).version()
    other = ("A" if fingerprint[0] != "A" else "B") + fingerprint[1:]
    async with MaintenanceClient() as client:
        with pytest.raises(NotTrusted):
            await client.node(machine.address, fingerprint=other).version()


async def test_a_config_makes_a_node(world: World) -> None:
    (machine,) = await world.fresh()
    async with MaintenanceClient() as maintenance:
        dry = await maintenance.node(machine.address).apply_config(world.config(machine), dry_run=True)
        assert dry.mode in (ApplyMode.REBOOT, ApplyMode.NO_REBOOT, ApplyMode.AUTO)
        assert (await maintenance.node(machine.address).machine_status()).stage == "maintenance"
    await applied(world, machine)
    async with world.client() as client:
        node = client.node(machine.address)
        assert (await node.hostname()) == machine.name
        services = {service.id: service for service in await node.services()}
        assert {"apid", "machined", "containerd", "trustd", "etcd"} <= services.keys()
        await eventually(lambda: node.service("etcd"), lambda service: service.state == "Preparing")
        with pytest.raises(NotFound):
            await node.get("no-such-kind", "x")


async def test_who_may_do_what(world: World) -> None:
    (machine,) = await world.fresh()
    await applied(world, machine)
    async with world.client("os:reader") as reader:
        node = reader.node(machine.address)
        assert await node.version()
        assert await node.services()
        for ask in (node.reboot, node.machine_config, node.kubeconfig):
            with pytest.raises(Denied):
                await ask()
    async with TalosClient.from_bundle(Bundle.generate()) as stranger:
        with pytest.raises(TalosError):
            await stranger.node(machine.address).version()


async def test_one_control_plane_with_etcd(world: World, tmp_path: Path) -> None:
    (machine,) = await world.fresh()
    await bootstrapped(world, machine)
    async with world.client() as client:
        node = client.node(machine.address)
        (member,) = await node.etcd_members()
        assert (member.hostname, member.is_learner) == (machine.name, False)
        status = await node.etcd_status()
        assert status.leader == status.member_id == member.id
        assert await node.etcd_alarms() == ()
        snapshot = await node.etcd_snapshot_to(tmp_path / "etcd.snapshot")
        assert snapshot.size == (tmp_path / "etcd.snapshot").stat().st_size > 1000
        await eventually(lambda: node.service("etcd"), lambda service: service.state == "Running" and service.healthy)
        with pytest.raises(TalosError):
            await node.etcd_remove(member.id + 1)


async def test_changes_of_the_config(world: World) -> None:
    (machine,) = await world.fresh()
    await bootstrapped(world, machine)
    labelled = world.config(machine, {"machine": {"nodeLabels": {"contract": "kept"}}})

    async with world.client() as client:
        node = client.node(machine.address)

        async def labels() -> dict[str, Any]:
            return labels_in(await node.machine_config())

        dry = await node.apply_config(labelled, dry_run=True)
        assert "contract" in dry.details
        assert "contract" not in await labels()
        await node.apply_config(labelled, ApplyMode.NO_REBOOT)
        await eventually(labels, lambda found: found.get("contract") == "kept")
        tried = world.config(machine, {"machine": {"nodeLabels": {"contract": "tried"}}})
        # Long enough to be seen in between, also on a busy machine.
        await node.apply_config(tried, ApplyMode.TRY, try_for=timedelta(seconds=6))
        await eventually(labels, lambda found: found.get("contract") == "tried")
        await eventually(labels, lambda found: found.get("contract") == "kept")
        with pytest.raises(Invalid):
            await node.apply_config("machine: {unknown: 1}\n", ApplyMode.NO_REBOOT)


def labels_in(config: Any) -> dict[str, Any]:
    import yaml

    text = config.reveal() if hasattr(config, "reveal") else config
    main = next(one for one in yaml.safe_load_all(text) if "machine" in one)
    found: dict[str, Any] = main["machine"].get("nodeLabels") or {}
    return found


async def test_power(world: World) -> None:
    (machine,) = await world.fresh()
    await bootstrapped(world, machine)
    async with world.client() as client:
        node = client.node(machine.address)
        before = await node.etcd_members()
        machine.cut_power()
        with pytest.raises(TalosError):
            await node.version()
        machine.start()
        after = await eventually(lambda: node.etcd_members(timeout=5), bool)
        assert [member.id for member in after] == [member.id for member in before]


async def _removed(by: TalosNode, member: int) -> None:
    """Right after an election a real etcd takes itself for unhealthy, for as long as its connections are new."""

    async def remove() -> bool:
        await by.etcd_remove(member)
        return True

    await eventually(remove, bool)


async def test_three_control_planes_lose_their_leader(world: World) -> None:
    """Joining, leadership, quorum without the leader, and removal by id: of the dead member, then of a living one."""
    machines = await world.fresh(3)
    await bootstrapped(world, machines[0])
    for machine in machines[1:]:
        await applied(world, machine)
    async with world.client() as client:
        nodes = {machine.name: client.node(machine.address, machine.name) for machine in machines}
        first = nodes[machines[0].name]

        members = await joined(first, 3)
        assert {member.hostname for member in members} == set(nodes)
        names = {member.id: member.hostname for member in members}
        leaders = {(await node.etcd_status()).leader for node in nodes.values()}
        assert len(leaders) == 1
        leader = names[leaders.pop()]
        other = next(node for name, node in nodes.items() if name != leader)
        await nodes[leader].etcd_forfeit()
        status = await eventually(other.etcd_status, lambda status: status.leader and names[status.leader] != leader)
        dead = names[status.leader]
        next(machine for machine in machines if machine.name == dead).cut_power()
        alive = [node for name, node in nodes.items() if name != dead]
        status = await eventually(
            alive[0].etcd_status, lambda status: status.leader and names.get(status.leader) not in ("", dead)
        )
        assert names[status.leader] != dead
        await _removed(alive[0], next(id_ for id_, name in names.items() if name == dead))
        for node in alive:
            left = await eventually(lambda node=node: node.etcd_members(timeout=5), lambda found: len(found) == 2)
            assert {member.hostname for member in left} == set(nodes) - {dead}
        kept, removed = alive
        number = (await removed.etcd_status()).member_id
        await _removed(kept, number)
        assert [member.id for member in await joined(kept, 1)] == [(await kept.etcd_status()).member_id]
        with pytest.raises(NotFound):
            await kept.etcd_remove(number)
        etcd = await eventually(lambda: removed.service("etcd"), lambda service: service.state == "Waiting")
        assert (etcd.healthy, etcd.message) == (False, "service not running")
        with pytest.raises(AlreadyExists):
            await removed.bootstrap()
