"""Machines that are there already: where they are looked for, and what is told of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from talosmith.errors import Permanent
from talosmith.model.cluster import Node
from talosmith.providers.base import Finding
from talosmith.providers.metal import MetalProvider
from talosmith.providers.metal.findings import finding_of
from talosmith.providers.metal.provider import _place
from talosmith.providers.network.peek import PORT, Peek, peek
from talosmith_lab import configure
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.lab.lab_worlds import Configs
from tests.loopback import free_network
from tests.machine_specs import with_settings
from tests.provider_contract import ProviderContract, refusal
from tests.unit.providers.metal_network import OWNER, MetalHarness, node, spec, until


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[LabServer]:
    async with LabServer(tmp_path, LabOptions(clock="instant", network=free_network())) as lab:
        lab.control.create("cp-1", address=str(lab.world.subnet[11]))
        await until(lambda: stage(lab) == "maintenance")
        yield lab


@pytest.fixture(scope="module")
def configs() -> Configs:
    return Configs(vip="127.0.0.1")


def stage(server: LabServer) -> str:
    return str(server.control.list_machines("cp-1")[0]["stage"])


def machine(server: LabServer, **more: str) -> Node:
    return node("cp-1", str(server.world.subnet[11]), **more)  # type: ignore[arg-type]


async def told(one: Node, authority: str = "") -> Finding:
    (finding,) = await MetalProvider([one], OWNER, authority=authority).preflight([spec(one)])
    assert f"{one.name} at {one.ip}" == finding.check
    return finding


class TestMetalProvider(ProviderContract):
    """Not here: all that is about machines being made, since it makes none, and about tags, since it has none to set.

    What it answers instead is in the tests below.
    """

    @pytest.fixture
    async def harness(self, server: LabServer) -> MetalHarness:
        return MetalHarness(server)


async def test_nothing_is_made_switched_or_taken_away(server: LabServer) -> None:
    harness = MetalHarness(server)
    provider = harness.provider()
    before = await harness.there()
    stranger = with_settings(harness.spec("cp-1", "controlplane"), name="cp-9")
    assert "cp-9" in str(await refusal(provider.create(stranger)))
    for one in await provider.find():
        await provider.destroy(one)
        for on in (True, False):
            assert one.name in str(await refusal(provider.power(one, on)))
    assert await harness.there() == before and stage(server) == "maintenance"


async def test_each_node_has_a_machine_also_one_that_is_off(server: LabServer) -> None:
    provider = MetalHarness(server).provider()
    found = {one.name: (one.power, one.addresses) for one in await provider.find()}
    subnet = server.world.subnet
    assert found == {"cp-1": ("on", (str(subnet[11]),)), "w-1": ("unknown", (str(subnet[21]),))}


async def test_a_pinned_certificate_is_passed_on_and_compared(server: LabServer) -> None:
    shown = server.control.list_machines("cp-1")[0]["fingerprint"]
    pinned, wrong = machine(server, pin=shown), machine(server, pin="A" * 43 + "=")
    assert [one.fingerprint for one in await MetalProvider([pinned], OWNER).find()] == [shown]
    assert (await told(pinned)).level == "ok"
    finding = await told(wrong)
    assert finding.level == "error" and shown in finding.evidence and "A" * 43 in finding.evidence
    finding = await told(machine(server))
    assert finding.level == "warning" and shown in finding.evidence and "`fingerprint`" in finding.fix


async def test_ours_is_told_from_another_clusters(server: LabServer, configs: Configs) -> None:
    configure.apply(server.world, server.world.machines["cp-1"], configs.text("controlplane", "cp-1"), "AUTO")
    server.engine.commit()
    await until(
        lambda: server.world.config(server.world.machines["cp-1"]) is not None and stage(server) != "installing"
    )
    address = str(server.world.subnet[11])
    async with asyncio.timeout(300):
        while (await peek(address)).who in ("closed", "maintenance"):
            await asyncio.sleep(0.05)
    assert (await told(machine(server), configs.bundle.os.certificate)).level == "ok"
    for authority in (Configs(vip="127.0.0.1").bundle.os.certificate, ""):
        finding = await told(machine(server), authority)
        assert finding.level == "error" and "of another cluster" in finding.cause and "reset" in finding.fix


async def test_who_is_not_talos_or_not_there(server: LabServer) -> None:
    subnet = server.world.subnet
    assert (await peek(str(subnet[30]))).who == "closed"
    closed = await told(node("cp-1", str(subnet[30])))
    assert "no connection" in closed.cause and closed.transient
    assert (await peek("255.255.255.255")).who == "silent"

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(greet, str(subnet[31]), PORT):
        finding = await told(node("cp-1", str(subnet[31])))
        assert "is not the Talos API" in finding.cause and not finding.transient

    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with await asyncio.start_server(hang_up, str(subnet[33]), PORT):  # as a node does that goes down
        finding = await told(node("cp-1", str(subnet[33])))
        assert finding.transient and "closed during the TLS handshake" in finding.evidence


async def test_silence_is_not_waited_for_without_end(server: LabServer) -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        await reader.read()
        writer.close()

    address = str(server.world.subnet[32])
    async with await asyncio.start_server(say_nothing, address, PORT):
        assert (await peek(address, seconds=0.3)).who == "silent"


async def test_a_machine_with_another_address_is_found_by_its_mac(server: LabServer) -> None:
    here, mac = str(server.world.subnet[11]), "52:54:00:00:00:01"
    moved = node("cp-1", "192.0.2.10", mac=mac)
    place = await _place(moved, False, {here: mac})
    assert place.addresses == (here, "192.0.2.10") and place.answered
    assert (await _place(moved, True, {here: mac})).addresses == ("192.0.2.10",), "it is where it should be"


async def test_another_machine_at_the_address_is_not_taken_for_it(server: LabServer) -> None:
    here, mac, other = str(server.world.subnet[11]), "52:54:00:00:00:01", "52:54:00:00:00:02"
    place = await _place(node("cp-1", "192.0.2.10", mac=mac), True, {"192.0.2.10": other, here: mac})
    assert place.addresses == (here,), "the stranger's address is not among them"
    place = await _place(node("cp-1", here, mac=mac), True, {here: other})
    assert place.seen_mac == other
    finding = finding_of(
        spec(node("cp-1", here, mac=mac)), here, Peek("maintenance", fingerprint="x"), place.seen_mac
    )
    assert finding.level == "error" and other in finding.evidence and mac in finding.evidence


async def test_only_a_machine_of_the_inventory_is_returned() -> None:
    with pytest.raises(Permanent):
        await MetalProvider([], OWNER).create(spec(node("cp-1", "192.0.2.10")))
