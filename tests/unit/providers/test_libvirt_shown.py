"""Promise 56 on libvirt: what is changed on the host, the steps of the plan have shown."""

from __future__ import annotations

import ast
import inspect
import io
from collections.abc import AsyncIterator
from ipaddress import ip_network
from pathlib import Path

import pytest

from talosmith.desired.secrets_file import Secrets
from talosmith.inventory import load
from talosmith.model.providers import Libvirt
from talosmith.providers.libvirt import calls
from talosmith.providers.libvirt.connection import libvirt
from talosmith.providers.libvirt.networks import wanted
from talosmith.report.plan import as_text
from talosmith.report.style import Style
from talosmith.session import Session
from talosmith.steps.machines import DestroyMachine, ForgetSeed
from tests.lab.lab_worlds import quick_bundle
from tests.unit.providers.libvirt_functions import CHANGING, READING
from tests.unit.providers.libvirt_harness import OWNER, TEST_DRIVER, LibvirtHarness
from tests.unit.providers.libvirt_recording import MADE, RecordingHost, made_as_shown, whole_life_is_as_shown

pytestmark = pytest.mark.usefixtures("libvirt_library")

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


async def test_every_change_of_the_host_is_shown(harness: LibvirtHarness) -> None:
    await whole_life_is_as_shown(harness)


async def test_a_pool_that_is_off_is_switched_on_as_shown(harness: LibvirtHarness) -> None:
    provider = harness.provider()
    await harness.stand()
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
    await harness.stand()
    machine = await provider.create(harness.spec("cp-1", "controlplane"))
    MADE.clear()
    await provider.find()
    await provider.console(machine)
    assert set(MADE) <= READING


async def test_the_plan_has_the_calls_of_the_provider_and_its_text_too(tmp_path: Path) -> None:
    """A host without the pool and the network; nothing is created by looking."""
    (tmp_path / "cluster.yaml").write_text(INVENTORY.format(uri=TEST_DRIVER, pool=POOL, network=NETWORK))
    async with Session(load(tmp_path), tmp_path, Secrets(quick_bundle())) as session:
        plan = await session.plan("up")
        host = session.provider.host_calls
    assert plan.step("machine/cp-1").action.calls() == ("machine:create", *host["create"])
    assert plan.step("machine/cp-1/seed").action.calls() == ("machine:forget-seed", *host["forget-seed"])
    network, pool = f"resource/network/{NETWORK}/create", f"resource/pool/{POOL}/create"
    (image,) = [step.key for step in plan if step.key.startswith("resource/image/")]
    assert plan.step(image).needs == (pool,)
    assert {network, pool, image} <= set(plan.step("machine/cp-1").needs)
    text = as_text(plan, Style(io.StringIO()))
    assert "on the libvirt host, if needed: pool-start, trial-start" in text
    shown = text[: text.index("cp-1, ")] if "cp-1, " in text else text[: text.index("\n\ncp-1")]
    assert shown.splitlines()[2:6] == [
        "resources",
        f"  • create network {NETWORK} — does not exist",
        "      + mode: nat",
        "      + address: 192.0.2.1/24",
    ]
    assert "      + path: /var/lib/shown" in shown and "      + source: https://factory.talos.dev/image/" in shown
    assert {"name": "mode", "before": None, "after": "nat", "masked": False} in plan.step(network).as_data()[
        "settings"
    ]
