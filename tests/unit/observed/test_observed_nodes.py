"""Asking nodes that are dead, silent, slow or not ours; and configs that nobody of ours has written."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Self

import pytest

from talosmith.desired.config.load import load
from talosmith.desired.target import Desired, config_digest
from talosmith.model.machines import Machine
from talosmith.model.secret import Secret
from talosmith.observed import nodes as asking
from talosmith.observed.configs import read_config
from talosmith.observed.etcd import look_at_member
from talosmith.observed.observe import CONNECTING, observe
from talosmith.observed.world import EtcdSeen, NodeSeen, Observed, Unknown
from talosmith.providers.base import HasResources, Provider
from talosmith.talos import InMaintenance, MaintenanceClient, TalosClient
from tests.clock import Clock
from tests.loopback import unused_port
from tests.unit.talos.server import maintenance_context, serving

EVERYWHERE = "0.0.0.0"  # noqa: S104


class Told:
    """A provider that says what it was told to say."""

    name, seeds, creates = "told", False, False

    def __init__(self, machines: list[Machine]) -> None:
        self.machines = machines

    async def find(self) -> list[Machine]:
        return self.machines

    def __getattr__(self, name: str) -> object:
        if name in vars(HasResources):  # only whether it has them is asked
            raise AttributeError(name)
        raise AttributeError(f"observing called {name}")


class Silent:
    """On every loopback address: connections are taken, and nothing is ever said."""

    def __init__(self) -> None:
        self.taken = 0
        self.port = 0

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.taken += 1

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Self]:
        async with await asyncio.start_server(self._take, EVERYWHERE, 0, backlog=2048) as server:
            self.port = int(server.sockets[0].getsockname()[1])
            yield self


def machines(count: int, port: int) -> list[Machine]:
    return [
        Machine(
            id=f"m-{number}",
            name=f"m-{number}",
            role="controlplane" if number % 2 else "worker",
            power="on",
            endpoint=f"127.98.{number // 200}.{number % 200 + 1}:{port}",
        )
        for number in range(count)
    ]


async def looked(desired: Desired, found: list[Machine]) -> Observed:
    provider: Provider = Told(found)  # type: ignore[assignment]
    async with TalosClient.from_bundle(desired.bundle) as talos, MaintenanceClient() as maintenance:
        return await observe(desired, provider, talos, maintenance, kube=None)


@pytest.mark.slow
async def test_many_silent_nodes_cost_as_much_as_one(desired: Desired, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise 35: half-open connections are bounded, all of them together."""
    monkeypatch.setattr(asking, "CONNECT", 1.0)
    clock = Clock()
    async with Silent().listening() as silent:
        clock.stop()  # so that nobody is given up before all who may be are asked
        looking = asyncio.create_task(looked(desired, machines(200, silent.port)))
        began = time.monotonic()
        while silent.taken < CONNECTING and not looking.done():
            assert time.monotonic() - began < 120, f"only {silent.taken} are asked at once"
            await asyncio.sleep(0)
        for _ in range(1000):
            await asyncio.sleep(0)
        assert silent.taken == CONNECTING > 100, "and the others when these are given up"
        clock.go_on()
        found = await looking
    assert silent.taken == 200
    assert len(found.not_in_inventory) == 200
    for seen in found.not_in_inventory.values():
        assert isinstance(seen.stage, Unknown)
        assert "within 1 s" in seen.stage.why
        assert seen.foreign_reason == ""
        assert isinstance(seen.etcd, Unknown) == (seen.machine.role == "controlplane")  # type: ignore[union-attr]
    assert isinstance(found.bootstrapped, Unknown)


async def test_where_nobody_listens_is_unknown_at_once(desired: Desired) -> None:
    with unused_port(EVERYWHERE) as port:
        found = await looked(desired, machines(1, port))
    (seen,) = found.not_in_inventory.values()
    assert isinstance(seen.stage, Unknown)
    assert "connection refused" in seen.stage.why


async def test_who_does_not_speak_the_language_is_a_stranger(desired: Desired) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.9\r\n")
        await writer.drain()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        machine = dataclasses.replace(machines(1, port)[0], endpoint=f"127.0.0.1:{port}")
        found = await looked(desired, [machine])
    (seen,) = found.not_in_inventory.values()
    assert "TLS" in seen.foreign_reason
    assert isinstance(seen.stage, Unknown)


async def test_a_control_plane_that_fell_back_to_maintenance_mode_is_told_of(desired: Desired) -> None:
    """It is asked for etcd as a node that has its config; that it has no etcd service is not what is wrong."""
    async with serving(maintenance_context()) as address, TalosClient.from_bundle(desired.bundle) as talos:
        with pytest.raises(InMaintenance, match="cp-1: is in maintenance mode, without its machine config") as caught:
            await look_at_member(talos.node(address, "cp-1"))
    assert "console" in caught.value.hint


async def test_a_machine_without_an_address_is_unknown(desired: Desired) -> None:
    found = await looked(desired, [dataclasses.replace(machines(1, 1)[0], endpoint="")])
    (seen,) = found.not_in_inventory.values()
    assert seen.stage == Unknown("its address is not known")


async def test_twins_are_told_apart(desired: Desired) -> None:
    """Two machines with the tags of one node: the second one is one of the others."""
    one = Machine(id="1", name="cp-1", role="controlplane", power="off")
    found = await looked(desired, [one, dataclasses.replace(one, id="2")])
    assert found.nodes["cp-1"].machine == one
    assert set(found.not_in_inventory) == {"2"}


# Configs


def wanted(desired: Desired, name: str = "w-1") -> str:
    return desired.nodes[name].config.reveal()


def test_the_config_it_should_have_is_known_at_a_glance(desired: Desired) -> None:
    seen = read_config(Secret(wanted(desired)), "w-1", desired)
    assert seen.config is desired.nodes["w-1"].config
    assert seen.digest == desired.nodes["w-1"].digest
    assert not seen.controlplane


def test_another_config_has_its_own_digest(desired: Desired) -> None:
    text = wanted(desired).replace("machine:\n", "machine:\n    sysctls: {vm.max_map_count: '9'}\n", 1)
    seen = read_config(Secret(text), "w-1", desired)
    assert seen.digest == config_digest(load(text)) != desired.nodes["w-1"].digest
    assert seen.foreign_reason == ""


@pytest.mark.parametrize(
    "more",
    [
        "---\napiVersion: v1alpha1\nkind: KindOfTomorrow\nname: x\n",
        "---\napiVersion: v1beta7\nkind: HostnameConfig\n1: {2: 3}\na: b\n",
        "---\n- a list\n",
    ],
)
def test_what_only_a_newer_talos_understands_is_read_as_far_as_it_goes(desired: Desired, more: str) -> None:
    seen = read_config(Secret(wanted(desired, "cp-1") + more), "cp-1", desired)
    assert seen.digest
    assert seen.digest != desired.nodes["cp-1"].digest
    assert seen.controlplane
    assert seen.foreign_reason == ""
    foreign = wanted(desired, "cp-1").replace(desired.bundle.cluster_id, "somebody-else") + more
    assert "another cluster" in read_config(Secret(foreign), "cp-1", desired).foreign_reason


@pytest.mark.parametrize("text", ["", "{", "a: &a [*a]", "\t", "machine: 7\ncluster: [1]\n"])
def test_nonsense_is_a_config_of_nobody(desired: Desired, text: str) -> None:
    seen = read_config(Secret(text), "w-1", desired)
    assert (seen.controlplane, seen.foreign_reason) == (False, "")
    assert seen.digest != desired.nodes["w-1"].digest


def test_secrets_are_not_printed(desired: Desired) -> None:
    seen = read_config(Secret(wanted(desired, "cp-1") + "# x\n"), "cp-1", desired)
    assert desired.bundle.cluster_secret.reveal() not in repr(seen)
    assert desired.bundle.trustd_token.reveal() not in repr(seen)


# All control planes together


def observed(**etcd: EtcdSeen | Unknown | None) -> Observed:
    return Observed(at=0, nodes={name: NodeSeen(name=name, machine=None, etcd=one) for name, one in etcd.items()})


WAITS, HAS, SILENT = EtcdSeen(state="Preparing", waiting=True), EtcdSeen(state="Failed"), Unknown("off")


@pytest.mark.parametrize("first", [WAITS, HAS, SILENT, None], ids=["waits", "has", "silent", "none"])
@pytest.mark.parametrize("second", [WAITS, HAS, SILENT, None], ids=["waits", "has", "silent", "none"])
@pytest.mark.parametrize("third", [WAITS, HAS, SILENT, None], ids=["waits", "has", "silent", "none"])
def test_etcd_does_not_exist_only_if_everybody_says_so(
    first: EtcdSeen | Unknown | None, second: EtcdSeen | Unknown | None, third: EtcdSeen | Unknown | None
) -> None:
    """Promise 4, over all combinations of three."""
    answers = [first, second, third]
    found = observed(a=first, b=second, c=third).bootstrapped
    if HAS in answers:
        assert found is True
    elif SILENT in answers:
        assert isinstance(found, Unknown)
    else:
        assert found is False
