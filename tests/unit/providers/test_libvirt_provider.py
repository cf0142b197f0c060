"""From an inventory to what the host is asked for; on libvirt's test driver, whose domains run nothing."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from talosmith import load
from talosmith.desired import target
from talosmith.desired.nocloud import iso
from talosmith.desired.outputs import seed_iso
from talosmith.errors import Permanent, TalosmithError, Temporary
from talosmith.model.machines import Machine, MachineSpec, Owner
from talosmith.model.secret import Secret
from talosmith.providers import provider_for
from talosmith.providers.libvirt import LibvirtProvider, connection
from talosmith.providers.libvirt.networks import Network
from talosmith.providers.sizes import needs_restart, refuse_less
from talosmith.steps import first_config
from talosmith.steps.first_config import _console
from talosmith.steps.machines import ResizeMachine
from talosmith.waiting import StoppedWaiting
from tests.machine_specs import machine_spec, with_settings

OWNER = Owner("dev", "0123456789abcdef")
HEADER = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\n"
NETWORK = "network: {node_cidr: 10.0.0.0/24, gateway: 10.0.0.9}\n"


def provider(folder: Path, text: str) -> LibvirtProvider:
    (folder / "cluster.yaml").write_text(HEADER + NETWORK + text)
    made = provider_for(load(folder), OWNER, None)
    assert isinstance(made, LibvirtProvider)
    return made


def spec(name: str = "cp-1") -> MachineSpec:
    return machine_spec(name, "controlplane", "10.0.0.10", cpu=2, ram_mib=2048, disks_mib=(100, 50))


def wanted(folder: Path) -> MachineSpec:
    cluster = load(folder)
    return target.machine_spec(cluster, cluster.node("cp-1"))


def test_the_image_is_the_factorys_unless_the_inventory_has_one(tmp_path: Path) -> None:
    made = provider(tmp_path, "libvirt: {}\nimage: {extensions: [siderolabs/qemu-guest-agent]}\n")
    source = made._settings.image(wanted(tmp_path))
    assert source.place.startswith("https://factory.talos.dev/image/ce4c9805")
    assert source.place.endswith("/v1.13.9/nocloud-amd64.raw.xz")
    assert "siderolabs/qemu-guest-agent" in source.schematic
    assert source.schematic_url == "https://factory.talos.dev/schematics"
    checksum = "AB" * 32
    mine = provider(tmp_path, f"libvirt: {{image: /images/talos.raw, image_checksum: {checksum}}}\n")
    source = mine._settings.image(wanted(tmp_path))
    assert (source.place, source.checksum, source.schematic) == ("/images/talos.raw", f"sha256:{'ab' * 32}", "")


def test_the_seed_has_the_nodes_name_address_and_config(tmp_path: Path) -> None:
    made = provider(tmp_path, "libvirt: {}\n")._settings.seed(wanted(tmp_path), Secret("machine: {}\n"))
    assert b"machine: {}\n" in made and b"local-hostname: cp-1" in made
    assert b"- 10.0.0.10/24" in made and b"gateway4: 10.0.0.9" in made
    assert b"52:54:00:" in made, "Talos finds the interface by its MAC address"
    waiting = provider(tmp_path, "libvirt: {}\n")._settings.seed(wanted(tmp_path), None)
    assert b"machine:" not in waiting and b"- 10.0.0.10/24" in waiting
    assert seed_iso("x", None, []) == iso({"meta-data": b"instance-id: x\nlocal-hostname: x\n"})


def test_a_network_is_made_only_if_the_inventory_says_so(tmp_path: Path) -> None:
    assert provider(tmp_path, "libvirt: {network: nodes}\n")._settings.network is None
    assert provider(tmp_path, "libvirt: {bridge: br0, make_network: nat}\n")._settings.network is None
    made = provider(tmp_path, "libvirt: {network: nodes, make_network: isolated}\n")._settings.network
    assert made == Network("nodes", OWNER, "isolated", "10.0.0.9", 24)


def test_secure_boot_is_refused_rather_than_left_out(tmp_path: Path) -> None:
    with pytest.raises(Permanent, match="Secure Boot") as refused:
        provider(tmp_path, "libvirt: {firmware: uefi}\nimage: {secureboot: true}\n")
    assert "secureboot: false" in refused.value.hint


async def test_without_the_library_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libvirt", None)
    connection.libvirt.cache_clear()
    try:
        with pytest.raises(Permanent, match="not installed") as told:
            await provider(tmp_path, "libvirt: {}\n").find()
    finally:
        connection.libvirt.cache_clear()
    assert "talosmith[libvirt]" in told.value.hint and "libvirt-dev" in told.value.hint


def test_only_what_needs_it_restarts_a_machine() -> None:
    machine = Machine(id="x", name="cp-1", role="controlplane", cpu=2, ram_mib=2048, disks_mib=(100, 50))
    assert not needs_restart(machine, spec())
    assert not needs_restart(machine, with_settings(spec(), disks_mib=(200, 50)))
    for change in ({"cpu": 4}, {"ram_mib": 1024}, {"disks_mib": (100, 50, 10)}):
        assert needs_restart(machine, with_settings(spec(), **change))  # type: ignore[arg-type]
    for less in ((99, 50), (100, 49), (100,)):
        with pytest.raises(Permanent):
            refuse_less(machine, with_settings(spec(), disks_mib=less))


class Consoles:
    """A provider as far as consoles go."""

    seeds = True

    def __init__(self, text: str | TalosmithError) -> None:
        self._text = text

    async def console(self, machine: Machine, lines: int = 50) -> str:
        if isinstance(self._text, TalosmithError):
            raise self._text
        return "".join(line + "\n" for line in self._text.splitlines()[-lines:])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("early\n" * 9 + "  kernel panic \n\n", "; last lines of its console: early | early | early | kernel panic"),
        ("\n\n", "; console is empty: the machine has not begun to boot"),
        (Permanent("the host is gone"), "; console cannot be read: the host is gone"),
    ],
    ids=["panic", "empty", "unreadable"],
)
async def test_who_waits_long_is_told_what_the_console_says(text: str | TalosmithError, told: str) -> None:
    machine = Machine(id="x", name="cp-1", role="controlplane")
    context: Any = SimpleNamespace(provider=Consoles(text), machines={"cp-1": machine})
    assert await _console(context, "cp-1") == told
    assert await _console(context, "w-9") == ""


class Silent:
    """A node that nobody has heard of yet."""

    async def version(self, timeout: float) -> None:
        raise Temporary("nobody answers")


@pytest.mark.parametrize(
    ("after", "told", "way_out"),
    [(0.0, "; last lines of its console: kernel panic", "`talosmith destroy --node cp-1`"), (120.0, "", "")],
    ids=["long", "not yet"],
)
async def test_a_wait_that_gets_long_is_told_with_the_console_and_the_way_out(
    monkeypatch: pytest.MonkeyPatch, after: float, told: str, way_out: str
) -> None:
    monkeypatch.setattr(first_config, "_CONSOLE_AFTER", after)
    reports: list[tuple[str, str]] = []
    context: Any = SimpleNamespace(
        provider=Consoles("kernel panic\n"),
        machines={"cp-1": Machine(id="x", name="cp-1", role="controlplane")},
        configured=lambda name: Silent(),
        stop_wanted=lambda: bool(reports),
    )
    with pytest.raises(StoppedWaiting):
        await first_config.FirstConfig("cp-1").run(
            context, lambda text, hint="", phase="": reports.append((text, hint))
        )
    ((said, hint),) = reports
    assert said == f"waiting for the Talos API with the machine config: nobody answers{told}"
    assert way_out in hint and bool(hint) == bool(way_out)


class Resizes:
    """A provider as far as sizes go."""

    name = "libvirt"

    def __init__(self) -> None:
        self.asked: list[MachineSpec] = []

    async def resize(self, machine: Machine, spec: MachineSpec) -> Machine:
        self.asked.append(spec)
        return replace(machine, disks_mib=spec.disks_mib)


@pytest.mark.parametrize(
    "meanwhile",
    [{}, {"ram_mib": 1024}, {"outdated": "from the network 'a' to the network 'b'"}],
    ids=["nothing", "memory", "network"],
)
async def test_what_was_to_grow_is_never_restarted_for_something_else(meanwhile: dict[str, Any]) -> None:
    before = Machine(id="x", name="cp-1", role="controlplane", cpu=2, ram_mib=2048, disks_mib=(50, 50), grows=True)
    small = replace(before, **meanwhile)
    provider, notes = Resizes(), list[str]()

    async def machine_now(name: str) -> Machine:
        return small

    context: Any = SimpleNamespace(
        provider=provider, machines={}, machine_now=machine_now, node=lambda name: SimpleNamespace(machine=spec()),
        check_lock=lambda: None, note=notes.append,
    )  # fmt: skip
    growing = ResizeMachine("cp-1", "50 to 100 MiB of disk", controlplane=True, running=True)
    assert growing.disruption == "none" and growing.calls() == ("machine:resize",)
    if meanwhile:
        with pytest.raises(Permanent, match="changed since the plan"):
            await growing.run(context, lambda text, hint="", phase="": None)
        assert not provider.asked
    else:
        await growing.run(context, lambda text, hint="", phase="": None)
        assert provider.asked == [spec()] and "at the next boot" in notes[0]
