"""Promise 56 on libvirt: what is changed on the host, the steps of the plan have shown."""

from __future__ import annotations

import ast
import inspect
import io
from collections.abc import AsyncIterator
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path

import pytest

from talosmith.desired.secrets_file import Secrets
from talosmith.inventory import load
from talosmith.model.providers import Libvirt
from talosmith.plan.step import Action
from talosmith.providers.libvirt import calls
from talosmith.providers.libvirt.calls import CHANGING, READING
from talosmith.providers.libvirt.connection import libvirt
from talosmith.providers.libvirt.networks import wanted
from talosmith.report.plan import as_text
from talosmith.report.style import Style
from talosmith.session import Session
from talosmith.steps.machines import CreateMachine, DestroyMachine, ForgetSeed, PowerOn, ResizeMachine
from tests.lab.lab_worlds import quick_bundle
from tests.unit.providers.libvirt_harness import OWNER, TEST_DRIVER, LibvirtHarness
from tests.unit.providers.libvirt_recording import MADE, RecordingHost

pytest.importorskip("libvirt", reason="libvirt-python is not installed: pip install 'talosmith[libvirt]'")
pytestmark = pytest.mark.anyio

POOL, NETWORK = "shown-pool", "shown-network"
OTHERS = frozenset({"UUID", "rename"})  # names of Python's own, too, and only those are meant
INVENTORY = """\
cluster_name: shown
talos_version: v1.13.9
kubernetes_version: v1.36.3
libvirt: {{uri: "{uri}", pool: {pool}, pool_path: /var/lib/shown, network: {network}, make_network: nat}}
network: {{node_cidr: 192.0.2.0/24}}
controlplane: 1
workers: 1
"""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[LibvirtHarness]:
    """A host that has neither the pool nor the network."""
    image = tmp_path / "disk.raw"
    image.write_bytes(b"\xeb\x63 starts here".ljust(100_000, b"\0") + b"and ends here")
    section = Libvirt(uri=TEST_DRIVER, pool=POOL, pool_path=str(tmp_path / "pool"), network=NETWORK, autostart=True)
    network = wanted(NETWORK, OWNER, "nat", ip_network("192.0.2.0/24"), "")
    made = LibvirtHarness(image, section, network=network, patience=0.0, hosts=RecordingHost)
    made.clear()
    yield made
    made.clear()


def made_as_shown(action: Action) -> set[str]:
    """The calls behind the functions that were called since the last time; each is one that the step shows."""
    functions = set(MADE)
    MADE.clear()
    assert not functions - CHANGING.keys() - READING, "functions of libvirt that stand in no table"
    shown = set(action.calls())
    hidden = {one: CHANGING[one] for one in functions & CHANGING.keys() if not shown & set(CHANGING[one])}
    assert not hidden, f"{action.key} shows {shown}"
    return {call for one in functions & CHANGING.keys() for call in shown & set(CHANGING[one])}


async def test_every_change_of_the_host_is_shown(harness: LibvirtHarness) -> None:
    provider, worker = harness.provider(), harness.spec("w-1")
    host = provider.host_calls
    create = CreateMachine("cp-1", host["create"])
    MADE.clear()
    first = await provider.create(harness.spec("cp-1", "controlplane"))
    prepared = {"libvirt:pool-define", "libvirt:pool-start", "libvirt:network-define", "libvirt:network-start"}
    assert made_as_shown(create) == {"machine:create", "libvirt:volume-upload", *prepared}
    machine = await provider.create(worker)
    assert made_as_shown(CreateMachine("w-1", host["create"])) == {"machine:create"}, "the host is ready by now"
    assert (await provider.create(worker)).id == machine.id
    assert made_as_shown(CreateMachine("w-1", host["create"])) == set()

    await provider.power(machine, False)
    await provider.power(machine, True)
    assert made_as_shown(PowerOn("w-1")) == {"machine:power"}
    assert await provider.forget_seed(machine)
    assert made_as_shown(ForgetSeed("w-1", host["forget-seed"])) == {"machine:forget-seed"}

    grown = replace(worker, cpu=2, disks_mib=(64, 48, 16))
    harness.connection.networkLookupByName(NETWORK).destroy()
    await provider.resize(machine, grown)
    resized = made_as_shown(ResizeMachine("w-1", host_calls=host["resize"]))
    assert resized == {"machine:resize", "machine:power", "libvirt:network-start"}

    await provider.destroy(machine)
    assert made_as_shown(DestroyMachine("w-1", host["destroy"])) == {"machine:destroy"}
    await provider.destroy(first)
    left = {"libvirt:volume-delete", "libvirt:pool-undefine", "libvirt:network-undefine"}
    assert made_as_shown(DestroyMachine("cp-1", host["destroy"])) == {"machine:destroy", *left}


async def test_a_pool_that_is_off_is_switched_on_as_shown(harness: LibvirtHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("cp-1", "controlplane"))
    pool = harness.connection.storagePoolLookupByName(POOL)
    MADE.clear()
    pool.destroy()
    await provider.forget_seed(machine)
    assert "libvirt:pool-start" in made_as_shown(ForgetSeed("cp-1", provider.host_calls["forget-seed"]))
    pool.destroy()
    await provider.destroy(machine)
    assert "libvirt:pool-start" in made_as_shown(DestroyMachine("cp-1", provider.host_calls["destroy"]))


def test_every_function_of_libvirt_that_the_provider_names_stands_in_a_table() -> None:
    """Also those on ways that no test here takes."""
    library = libvirt()
    kinds = (library.virConnect, library.virDomain, library.virNetwork, library.virStoragePool, library.virStorageVol)
    functions = {kind.__name__: {name for name in vars(kind) if not name.startswith("_")} for kind in kinds}
    listed = {function.partition(" ")[0] for function in (*CHANGING, *READING)}
    assert listed <= {f"{kind}.{name}" for kind, names in functions.items() for name in names}
    known = {function.partition(".")[2] for function in listed}
    for path in Path(inspect.getfile(calls)).parent.glob("*.py"):
        called = {
            node.func.attr
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        assert not (called & set().union(*functions.values())) - known - OTHERS, path


async def test_looking_changes_nothing(harness: LibvirtHarness) -> None:
    provider = harness.provider()
    machine = await provider.create(harness.spec("cp-1", "controlplane"))
    MADE.clear()
    await provider.find()
    await provider.console(machine)
    assert set(MADE) <= READING


async def test_the_plan_has_the_calls_of_the_provider_and_its_text_too(tmp_path: Path) -> None:
    """A host without the pool and the network; nothing is created by looking."""
    (tmp_path / "cluster.yaml").write_text(INVENTORY.format(uri=TEST_DRIVER, pool=POOL, network=NETWORK))
    async with Session(load(tmp_path), tmp_path, Secrets(quick_bundle())) as session:
        plan = await session.plan_up()
        host = session.provider.host_calls
    assert plan.step("machine/cp-1").action.calls() == ("machine:create", *host["create"])
    assert plan.step("machine/cp-1/seed").action.calls() == ("machine:forget-seed", *host["forget-seed"])
    text = as_text(plan, Style(io.StringIO()))
    assert (
        "on the libvirt host, if needed: pool-define, pool-start, network-define, network-start, volume-upload"
        in text
    )
