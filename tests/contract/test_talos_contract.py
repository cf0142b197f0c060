"""What our client sees of a node, in the lab and on real Talos: the same questions, the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from talosmith.desired.bundle import Bundle
from talosmith.talos import (
    AlreadyExists,
    ApplyMode,
    Denied,
    EtcdStatus,
    Invalid,
    MaintenanceClient,
    NotFound,
    NotTrusted,
    TalosClient,
    TalosError,
    TalosNode,
    Unsupported,
)
from talosmith.talos.resources import ChangeKind
from tests.contract.worlds import World, applied, bootstrapped, done, eventually, every_release, joined, refused
from tests.real.talos.patience import PATIENCE

pytestmark = pytest.mark.slow


@every_release
async def test_maintenance_mode(world: World) -> None:
    (machine,) = await world.fresh()
    async with MaintenanceClient() as client:
        node = client.node(machine.address)
        assert (await eventually(node.version)).tag == world.release.talos
        own = f"{machine.address}/"
        await eventually(node.addresses, lambda found: any(str(one.address).startswith(own) for one in found))
        assert len(await eventually(node.links)) >= 1
        for ask in (node.machine_config, node.bootstrap, node.etcd_members, node.kubeconfig):
            await refused(ask, (Denied, Unsupported))
        for config in ("machine: {type: controlplane}\n", "machine: {unknown: 1}\ncluster: {}\n"):
            await refused(lambda config=config: node.apply_config(config), Invalid)
        assert (await eventually(node.machine_status)).stage == "maintenance"


async def test_the_fingerprint_is_pinned(world: World) -> None:
    (machine,) = await world.fresh()
    async with MaintenanceClient() as client:
        fingerprint = await eventually(client.node(machine.address).fingerprint)
    async with MaintenanceClient() as client:
        assert await eventually(client.node(machine.address, fingerprint=fingerprint).version)
    other = ("A" if fingerprint[0] != "A" else "B") + fingerprint[1:]
    async with MaintenanceClient() as client:
        await refused(client.node(machine.address, fingerprint=other).version, NotTrusted)


@every_release
async def test_a_config_makes_a_node(world: World) -> None:
    (machine,) = await world.fresh()
    async with MaintenanceClient() as maintenance:
        waiting = maintenance.node(machine.address)
        dry = await eventually(lambda: waiting.apply_config(world.config(machine), dry_run=True))
        assert dry.mode in (ApplyMode.REBOOT, ApplyMode.NO_REBOOT, ApplyMode.AUTO)
        assert (await eventually(waiting.machine_status)).stage == "maintenance"
    await applied(world, machine)
    async with world.client() as client:
        node = client.node(machine.address)
        await eventually(node.hostname, lambda name: name == machine.name)
        expected = {"apid", "machined", "containerd", "trustd", "etcd"}
        await eventually(node.services, lambda services: expected <= {service.id for service in services})
        await eventually(lambda: node.service("etcd"), lambda service: service.state == "Preparing")
        await refused(lambda: node.get("no-such-kind", "x"), NotFound)


async def test_who_may_do_what(world: World) -> None:
    (machine,) = await world.fresh()
    await applied(world, machine)
    async with world.client("os:reader") as reader:
        node = reader.node(machine.address)
        assert await eventually(node.version)
        assert await eventually(node.services)
        for ask in (node.reboot, node.machine_config, node.kubeconfig):
            await refused(ask, Denied)
    async with TalosClient.from_bundle(Bundle.generate()) as foreign:
        await refused(foreign.node(machine.address).version, NotTrusted)


async def test_one_control_plane_with_etcd(world: World, tmp_path: Path) -> None:
    (machine,) = await world.fresh()
    await bootstrapped(world, machine)
    async with world.client() as client:
        node = client.node(machine.address)
        (member,) = await joined(node, 1)
        assert (member.hostname, member.is_learner) == (machine.name, False)
        status = await eventually(node.etcd_status, lambda status: status.leader)
        assert status.leader == status.member_id == member.id
        assert await eventually(node.etcd_alarms) == ()
        snapshot = await eventually(lambda: node.etcd_snapshot_to(tmp_path / "etcd.snapshot"))
        assert snapshot.size == (tmp_path / "etcd.snapshot").stat().st_size > 1000
        await eventually(lambda: node.service("etcd"), lambda service: service.state == "Running" and service.healthy)
        await refused(lambda: node.etcd_remove(member.id + 1), NotFound)


@every_release
async def test_changes_of_the_config(world: World) -> None:
    (machine,) = await world.fresh()
    await bootstrapped(world, machine)
    labelled = world.config(machine, world.labels(contract="kept"))
    tried = world.config(machine, world.labels(contract="tried"))

    async with world.client() as client:
        node = client.node(machine.address)

        async def labels() -> dict[str, Any]:
            return labels_in(await node.machine_config())

        dry = await eventually(lambda: node.apply_config(labelled, dry_run=True))
        assert "contract" in dry.details
        assert "contract" not in await eventually(labels)
        await eventually(lambda: node.apply_config(labelled, ApplyMode.NO_REBOOT))
        await eventually(labels, lambda found: found.get("contract") == "kept")
        # What is there for a moment only is not asked for but told.
        async with asyncio.timeout(PATIENCE), aclosing(_labels_told(node)) as told:
            assert await anext(told) == "kept"
            await eventually(lambda: node.apply_config(tried, ApplyMode.TRY, try_for=timedelta(seconds=6)))
            assert [await anext(told), await anext(told)] == ["tried", "kept"]
        await eventually(labels, lambda found: found.get("contract") == "kept")
        await refused(lambda: node.apply_config("machine: {unknown: 1}\n", ApplyMode.NO_REBOOT), Invalid)
        if world.release.is_split:  # since Talos 1.14 reboots are the caller's
            await refused(lambda: node.apply_config(labelled, ApplyMode.REBOOT), Unsupported)


async def _labels_told(node: TalosNode) -> AsyncGenerator[Any]:
    """The label of the contract as it is, then as it becomes."""
    last: object = None
    async for change in node.watch("machineconfigs", "v1alpha1"):
        if change.resource is not None and change.kind in (ChangeKind.CREATED, ChangeKind.UPDATED):
            config = change.resource.spec if isinstance(change.resource.spec, str) else change.resource.yaml
            label = labels_in(config).get("contract")
            if label != last:
                yield label
            last = label


def labels_in(config: Any) -> dict[str, Any]:
    """In whichever form the config has them."""
    import yaml

    text = config.reveal() if hasattr(config, "reveal") else config
    found: dict[str, Any] = {}
    for document in yaml.safe_load_all(text):
        found |= (document.get("machine") or {}).get("nodeLabels") or {}
        found |= document.get("labels") or {}
    return found


async def test_power(world: World) -> None:
    (machine,) = await world.fresh()
    await bootstrapped(world, machine)
    async with world.client() as client:
        node = client.node(machine.address)
        before = await joined(node, 1)
        machine.cut_power()
        with pytest.raises(TalosError):
            await node.version()
        machine.start()
        after = await joined(node, 1)
        assert [member.id for member in after] == [member.id for member in before]


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

        async def leaders() -> set[int]:
            return {(await node.etcd_status()).leader for node in nodes.values()}

        (number,) = await eventually(leaders, lambda found: len(found) == 1 and 0 not in found)
        leader = names[number]
        other = next(node for name, node in nodes.items() if name != leader)

        async def without_the_leader() -> EtcdStatus:
            await nodes[leader].etcd_forfeit()
            return await other.etcd_status()

        status = await eventually(without_the_leader, lambda status: status.leader not in (0, number))
        dead = names[status.leader]
        next(machine for machine in machines if machine.name == dead).cut_power()
        alive = [node for name, node in nodes.items() if name != dead]
        status = await eventually(alive[0].etcd_status, lambda status: names.get(status.leader, dead) != dead)
        assert names[status.leader] != dead
        gone = next(id_ for id_, name in names.items() if name == dead)
        await done(lambda: alive[0].etcd_remove(gone), NotFound)
        for node in alive:
            assert {member.hostname for member in await joined(node, 2)} == set(nodes) - {dead}
        kept, removed = alive
        number = (await eventually(removed.etcd_status)).member_id
        await done(lambda: kept.etcd_remove(number), NotFound)
        (member,) = await joined(kept, 1)
        assert member.id == (await eventually(kept.etcd_status)).member_id
        await refused(lambda: kept.etcd_remove(number), NotFound)
        # It is started in vain again and again, and at times its health is asked for.
        await eventually(
            lambda: removed.service("etcd"),
            lambda etcd: (etcd.state, etcd.healthy, etcd.message) == ("Waiting", False, "service not running"),
        )
        await refused(removed.bootstrap, AlreadyExists)
