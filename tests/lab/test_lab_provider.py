"""The lab's provider with the background process it starts and ends, and with misfortune that its keeper sends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from talosmith import load
from talosmith.desired.target import machine_spec
from talosmith.errors import Permanent, Temporary
from talosmith.model.cluster import Cluster
from talosmith.model.machines import Machine, MachineSpec, Owner
from talosmith.model.secret import Secret
from talosmith.providers import provider_for
from talosmith.providers.lab import LabProvider, lab_name, process
from talosmith.providers.lab.calls import LabCalls
from talosmith.providers.lab.process import Made, Place
from talosmith.talos import MaintenanceClient, NotTrusted
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.contract.worlds import eventually
from tests.lab.lab_servers import at_rest, settled
from tests.lab.lab_worlds import OLD, Configs
from tests.lab.provider_harness import LabHarness
from tests.loopback import free_network
from tests.machine_specs import with_settings

pytestmark = pytest.mark.slow

OWNER, TWIN = Owner("mine", "0123456789abcdef"), Owner("mine", "fedcba9876543210")
INVENTORY = """\
cluster_name: mine
talos_version: v1.14.1
kubernetes_version: v1.37.1
lab: {{clock: {clock}}}
network: {{node_cidr: {network}}}
controlplane: 1
workers: {{count: 1, cpu: 4, ram: 6G, disk: 12G, extra_disks: [3G]}}
"""


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
    for place in process.labs():
        process.stop(place.name, delete=True)


@pytest.fixture
def cluster(tmp_path: Path, network: str) -> Cluster:
    return inventory(tmp_path, network)


def inventory(folder: Path, network: str, clock: str = "instant") -> Cluster:
    (folder / "cluster.yaml").write_text(INVENTORY.format(network=network, clock=clock))
    return load(folder)


def made_for(cluster: Cluster, owner: Owner = OWNER) -> LabProvider:
    provider = provider_for(cluster, owner, None)
    assert isinstance(provider, LabProvider)
    return provider


def specs(cluster: Cluster) -> list[MachineSpec]:
    return [machine_spec(cluster, node) for node in cluster.nodes]


async def test_a_lab_comes_with_the_first_machine_and_goes_with_the_last(cluster: Cluster) -> None:
    provider, (controlplane, worker) = made_for(cluster), specs(cluster)
    assert await provider.find() == []
    assert {finding.level for finding in await provider.preflight([controlplane, worker])} == {"ok"}
    assert process.labs() == [], "looking makes nothing"
    first, second = await provider.create(controlplane), await provider.create(worker)
    assert [place.name for place in process.labs()] == [lab_name(OWNER)]
    assert first.addresses == (str(controlplane.ip),)
    assert (second.cpu, second.ram_mib, second.disks_mib) == (4, 6144, (12288, 3072))
    assert Place(lab_name(OWNER)).client().machine("w-1")["mac"] == worker.mac

    # It is the machine that answers there, and nobody else.
    async with MaintenanceClient() as client:
        pinned = client.node(first.addresses[0], fingerprint=first.fingerprint)
        version = await eventually(pinned.version, bool)
        assert version.tag == "v1.14.1"
        with pytest.raises(NotTrusted):
            client.node(first.addresses[0], fingerprint=second.fingerprint)

    await provider.destroy(first)
    assert [machine.name for machine in await made_for(cluster).find()] == ["w-1"]
    await provider.destroy(second)
    assert process.labs() == [] and await provider.find() == []
    assert list(process.labs_folder().iterdir()) == []
    await provider.destroy(second)
    assert (await provider.create(controlplane)).fingerprint != first.fingerprint, "it is another machine"


async def test_a_lab_that_was_stopped_or_killed_still_has_the_machines(cluster: Cluster) -> None:
    provider, (controlplane, _) = made_for(cluster), specs(cluster)
    machine = await provider.create(controlplane)
    place = Place(lab_name(OWNER))
    process.stop(place.name)
    assert [one.id for one in await provider.find()] == [machine.id]
    os.kill(json.loads(place.running_file.read_text())["pid"], signal.SIGKILL)
    while place.runs():
        await asyncio.sleep(0.05)
    assert (await provider.create(controlplane)).id == machine.id


async def test_a_cluster_of_the_same_name_has_other_machines_and_needs_another_network(
    cluster: Cluster, tmp_path: Path
) -> None:
    provider, (controlplane, _) = made_for(cluster), specs(cluster)
    machine = await provider.create(controlplane)
    twin = made_for(cluster, TWIN)
    assert await twin.find() == []
    errors = [finding for finding in await twin.preflight(specs(cluster)) if finding.level == "error"]
    assert errors[0].check == "the lab's network" and lab_name(OWNER) in errors[0].cause
    assert "node_cidr" in errors[0].fix
    with pytest.raises(Permanent, match=f"in use by lab '{lab_name(OWNER)}'") as refused:
        await twin.create(controlplane)
    assert refused.value.hint
    assert [one.id for one in await provider.find()] == [machine.id]

    moved = inventory(tmp_path, free_network())
    other = await made_for(moved, TWIN).create(specs(moved)[0])
    assert other.addresses != machine.addresses
    await made_for(moved, TWIN).destroy(other)
    assert [place.name for place in process.labs()] == [lab_name(OWNER)]


async def test_an_address_that_somebody_has_is_told_before(cluster: Cluster) -> None:
    provider, (controlplane, worker) = made_for(cluster), specs(cluster)
    with socket.socket() as squatter:
        squatter.bind((str(worker.ip), 50000))
        squatter.listen()
        findings = await provider.preflight([controlplane, worker])
    (error,) = [finding for finding in findings if finding.level == "error"]
    assert str(worker.ip) in error.evidence and str(controlplane.ip) not in error.evidence


async def test_an_address_of_a_machine_that_another_run_creates_meanwhile_is_ours(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider, (controlplane, _) = made_for(cluster), specs(cluster)
    find = provider.find

    async def created_right_after() -> list[Machine]:
        found = await find()
        machine = await made_for(cluster).create(controlplane)
        async with MaintenanceClient() as client:  # until it has its address
            await eventually(client.node(machine.addresses[0], fingerprint=machine.fingerprint).version, bool)
        return found

    monkeypatch.setattr(provider, "find", created_right_after)
    assert {finding.level for finding in await provider.preflight([controlplane])} == {"ok"}
    assert [machine.name for machine in await find()] == [controlplane.name]


async def test_a_lab_keeps_its_clock_and_says_so(cluster: Cluster, tmp_path: Path, network: str) -> None:
    await made_for(cluster).create(specs(cluster)[0])
    changed = made_for(inventory(tmp_path, network, "fast"))
    (warning,) = [one for one in await changed.preflight(specs(cluster)) if one.level == "warning"]
    assert "`clock: instant`" in warning.cause and "`clock: fast`" in warning.evidence
    assert len(await changed.find()) == 1


async def test_a_lab_that_is_deleted_while_somebody_looks_is_not_made_again(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = made_for(cluster)
    await provider.destroy(await provider.create(specs(cluster)[0]))
    answers = iter([True])  # it was there when they asked

    def exists(place: Place) -> bool:
        return next(answers, place.made_file.exists())

    monkeypatch.setattr(Place, "exists", exists)
    assert await provider.find() == [] and process.labs() == []


async def test_somebody_elses_machine_keeps_the_lab_alive(cluster: Cluster) -> None:
    provider, (controlplane, _) = made_for(cluster), specs(cluster)
    machine = await provider.create(controlplane)
    keeper = Place(lab_name(OWNER)).client()
    keeper.create_machine("guest")
    await provider.destroy(machine)
    assert [one["name"] for one in keeper.machines()] == ["guest"]


async def test_a_lab_is_forgotten_whole(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while its files go, it must not come back with half of them."""
    provider, (controlplane, _) = made_for(cluster), specs(cluster)
    machine = await provider.create(controlplane)
    with monkeypatch.context() as patched:
        patched.setattr("talosmith.providers.lab.process.shutil.rmtree", lambda *a, **k: None)
        await provider.destroy(machine)
    assert process.labs() == [] and await made_for(cluster).find() == []
    again = await provider.create(controlplane)
    assert again.fingerprint != machine.fingerprint, "it is another machine"
    await provider.destroy(again)
    assert list(process.labs_folder().iterdir()) == []


# Misfortune, and what else the control of the lab does for a provider


@pytest.fixture
async def harness(tmp_path: Path, network: str) -> AsyncIterator[LabHarness]:
    async with LabServer(tmp_path, LabOptions(clock="instant", network=network)) as server:
        yield LabHarness(server)


async def test_faults_strike_the_provider_and_not_the_keeper(harness: LabHarness) -> None:
    control = harness.server.control
    control.add_fault("fail", method="machine.create")
    provider = harness.provider()
    with pytest.raises(Temporary, match=r"machine\.create: the lab makes this call fail"):
        await provider.create(harness.spec("w-1"))
    assert await harness.there() == [] and await provider.find() == []
    control.clear_faults()
    control.add_fault("fail", method="*")
    with pytest.raises(Temporary):
        await provider.find()
    host, port = harness.server.address
    reader = LabCalls(process.LabClient("served", host, port, Secret("wrong")))
    with pytest.raises(Permanent, match="the token is wrong"):
        await reader("machine.list")
    assert control.list_machines() == []


async def test_faults_strike_the_machines_they_are_for(harness: LabHarness) -> None:
    provider = harness.provider()
    one, other = await provider.create(harness.spec("w-1")), await provider.create(harness.spec("w-2"))
    harness.server.control.add_fault("fail", machines=["w-1"], method="machine.power-*", times=2)
    await provider.power(other, on=False)
    for _ in range(2):
        with pytest.raises(Temporary):
            await provider.power(one, on=False)
    await provider.power(one, on=False)
    assert [machine.power for machine in await provider.find()] == ["off", "off"]


async def test_a_slow_lab_is_waited_for_and_a_silent_one_is_not(harness: LabHarness) -> None:
    provider = harness.provider()
    harness.server.control.add_fault("slow", method="machine.create", seconds=0.2)
    assert (await provider.create(harness.spec("w-1"))).name == "w-1"
    harness.server.control.clear_faults()
    harness.server.control.add_fault("time-out", method="machine.create")
    harness.home.patience = 0.05
    with pytest.raises(Temporary, match="whether it was done is not known"):
        await provider.create(harness.spec("w-2"))


async def test_sizes_change_in_place(harness: LabHarness) -> None:
    provider, spec = harness.provider(), harness.spec("w-1")
    made = await provider.create(spec)
    boots = harness.server.world.machines["w-1"].boots
    assert (await provider.resize(made, spec)).cpu == 3
    assert harness.server.world.machines["w-1"].boots == boots, "there was nothing to change"
    larger = with_settings(spec, cpu=8, ram_mib=1024, disks_mib=(20480, 5120, 1024))
    resized = await provider.resize(made, larger)
    assert (resized.id, resized.cpu, resized.ram_mib, resized.disks_mib) == (
        made.id,
        larger.cpu,
        larger.ram_mib,
        larger.disks_mib,
    )
    assert resized.power == "on" and harness.server.world.machines["w-1"].boots == boots + 1
    assert len({disk.device for disk in harness.server.world.machines["w-1"].disks}) == 3
    with pytest.raises(Permanent, match="cannot be made smaller"):
        await provider.resize(made, with_settings(larger, disks_mib=(10240,)))
    await provider.power(made, on=False)
    assert (await provider.resize(made, with_settings(larger, cpu=2))).power == "off"


async def test_the_console_tells_how_the_machine_boots(harness: LabHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    await settled(harness.server, lambda: at_rest(harness.server))
    text = await provider.console(machine)
    assert "Talos v1.13.8" in text
    assert (await provider.console(machine, lines=1)).splitlines() == text.splitlines()[-1:]
    gone = replace(machine, id="another")
    for asked in (provider.console(gone), provider.power(gone, on=True), provider.resize(gone, harness.spec("w-1"))):
        with pytest.raises(Permanent, match="is gone"):
            await asked


async def test_a_seed_is_what_the_machine_configures_itself_with(harness: LabHarness, configs: Configs) -> None:
    text = replace(configs, talos=OLD).text("controlplane", "cp-1")  # the machine runs it, too
    await harness.provider().create(harness.spec("cp-1", "controlplane"), Secret(text))
    world = harness.server.world

    async def role() -> str:
        config = world.config(world.machines["cp-1"])
        return config.role if config else ""

    assert await eventually(role, bool) == "controlplane"


async def test_a_fingerprint_is_known_only_while_there_is_one(harness: LabHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("w-1"))
    await provider.power(machine, on=False)
    assert [one.fingerprint for one in await provider.find()] == [""]
    await provider.power(machine, on=True)
    (booted,) = await provider.find()
    assert booted.fingerprint and booted.fingerprint != machine.fingerprint, "it is made anew at every boot"


def test_a_network_is_one_labs_only(network: str) -> None:
    process.start("one", Made(clock="instant", network=network))
    for overlapping in (network, network.replace(".0/24", ".32/27")):
        with pytest.raises(process.UsageError, match="in use by lab 'one'"):
            process.start("two", Made(clock="instant", network=overlapping))
    assert [place.name for place in process.labs()] == ["one"]
