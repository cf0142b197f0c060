"""The preflight of nodes, storages, and the ISO, image or template that machines boot from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talosmith.providers.base import Known
from talosmith.providers.images import Source
from talosmith.providers.proxmox.settings import Boot
from tests.machine_specs import with_settings
from tests.simulators.proxmox import Proxmox
from tests.unit.providers.proxmox.proxmox_findings import MACHINES, look, the_error
from tests.unit.providers.proxmox.proxmox_harness import disk_image, proxmox
from tests.unit.providers.proxmox.proxmox_inventories import from_image

pytestmark = [pytest.mark.slow, pytest.mark.real]  # real for its length alone


# Node, storage


async def test_a_node_that_does_not_exist(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"node": "pve9"}) as harness:
        found = await the_error(harness, "node pve9")
    assert "pve9" in found.cause and found.evidence == "there are: pve" and "`proxmox.node`" in found.fix


async def test_a_node_that_is_offline(tmp_path: Path) -> None:
    world = Proxmox(nodes=("pve", "pve2"), real_delays=True)
    world.nodes["pve2"].online = False
    nodes = {"w-1": with_settings(MACHINES[1], host="pve2")}
    with proxmox(tmp_path, world, nodes=nodes, options={"node": None, "hosts": ["pve", "pve2"]}) as harness:
        found = await the_error(harness, "node pve2", list(nodes.values()))
    assert "not online" in found.cause and "offline" in found.evidence and "`proxmox.hosts`" in found.fix


@pytest.mark.parametrize("fault", ["no route", "timeout"])
async def test_a_node_that_is_online_and_does_not_answer(tmp_path: Path, fault: Any) -> None:
    """The node that was asked waits for the other one for 3 or 30 seconds; we do not."""
    world = Proxmox(nodes=("pve", "pve2"), real_delays=True)
    world.nodes["pve2"].fault = fault
    nodes = {"w-1": with_settings(MACHINES[1], host="pve2")}
    with proxmox(tmp_path, world, nodes=nodes, options={"node": None, "hosts": ["pve", "pve2"]}) as harness:
        found = [one for one in await look(harness, list(nodes.values())) if one.level == "error"]
    assert len(found) == 1 and "pve2" in found[0].cause and found[0].transient


async def test_a_storage_that_does_not_exist(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"datastore": "fast"}) as harness:
        found = await the_error(harness, "storage fast on pve")
    assert "'fast'" in found.cause and "local, second, slow" in found.evidence and "`proxmox.datastore`" in found.fix


async def test_a_storage_that_is_disabled(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"datastore": "second"}) as harness:
        harness.world.storages["second"].enabled = False
        found = await the_error(harness, "storage second on pve")
    assert "disabled" in found.cause and found.fix == "pvesm set second --disable 0"


async def test_a_storage_that_is_not_active(tmp_path: Path) -> None:
    with proxmox(tmp_path, options={"datastore": "second"}) as harness:
        harness.world.storages["second"].active = False
        found = await the_error(harness, "storage second on pve")
    assert "not active" in found.cause and "pvesm status --storage second" in found.fix


async def test_a_storage_that_is_not_active_and_has_the_iso_is_one_error(tmp_path: Path) -> None:
    """What follows from it is not another one."""
    with proxmox(tmp_path, options={"datastore": "second"}) as harness:
        harness.world.storages["local"].active = False
        found = await the_error(harness, "storage local on pve")
    assert "not active" in found.cause


@pytest.mark.parametrize(
    ("key", "lacking", "boot"),
    [("datastore", "images", "iso"), ("iso_storage", "iso", "iso"), ("image_storage", "import", "image")],
)
async def test_a_storage_that_does_not_allow_what_is_to_be_put_there(
    tmp_path: Path, key: str, lacking: str, boot: str
) -> None:
    with proxmox(tmp_path) as harness:
        harness.world.add_storage("odd", content=("vztmpl",))
        harness.options = {key: "odd"}
        if boot == "image":
            from_image(harness)
        found = await the_error(harness, "storage odd on pve")
    assert lacking in found.cause and "vztmpl" in found.evidence
    assert f"pvesm set odd --content vztmpl,{lacking}" in found.fix
    assert f"set `proxmox.{key}` to local" in found.fix, "a storage that does allow it"


async def test_a_storage_without_room(tmp_path: Path) -> None:
    with proxmox(tmp_path) as harness:
        harness.world.storages["local"].avail = 3 * 2**30
        found = await the_error(harness, "storage local on pve")
        assert (
            "no room" in found.cause and "3.0 GiB free" in found.evidence and "30.0 GiB asked for" in found.evidence
        )
        assert "`proxmox.datastore`" in found.fix
        harness.world.storages["local"].avail = 20 * 2**30  # enough to start with, if disks are thin
        (warning,) = [one for one in await look(harness) if one.level != "ok"]
    assert (warning.level, warning.check) == (
        "warning",
        "storage local on pve",
    ) and "20.0 GiB free" in warning.evidence


# What machines start from


async def test_an_iso_that_proxmox_does_not_have(tmp_path: Path) -> None:
    with proxmox(tmp_path, boot=Boot("iso", volume="local:iso/other.iso")) as harness:
        harness.world.add_volume("local:iso/talos.iso", content=b"boots")
        found = await the_error(harness, "ISO local:iso/other.iso on pve")
    assert "other.iso" in found.cause and "talos.iso" in found.evidence and "`proxmox.iso`" in found.fix


async def test_an_image_that_proxmox_does_not_have(tmp_path: Path) -> None:
    with proxmox(tmp_path, boot=Boot("image", volume="local:import/talos.raw")) as harness:
        found = await the_error(harness, "image local:import/talos.raw on pve")
    assert "talos.raw" in found.cause and "nothing" in found.evidence and "`proxmox.image`" in found.fix


async def test_an_image_file_that_is_not_here(tmp_path: Path) -> None:
    missing = tmp_path / "gone.raw"
    with proxmox(tmp_path, boot=Boot("image", Source(str(missing), setting="proxmox.image"))) as harness:
        found = await the_error(harness, "image gone.raw")
    assert str(missing) in found.cause + found.evidence and "`proxmox.image`" in found.fix


async def test_an_image_that_was_uploaded_before_need_not_be_here(tmp_path: Path) -> None:
    with proxmox(tmp_path, boot=Boot("image", disk_image(tmp_path))) as harness:
        provider = harness.provider()
        for spec in provider.resources():
            await provider.create_resource(spec, Known(resources={}, machines={}))
        (tmp_path / "talos.raw").unlink()
        harness.world.calls.clear()
        found = [one for one in await look(harness) if one.check.startswith("image ")]
    assert [(one.level, one.evidence) for one in found] == [("ok", "local of pve has it")]


async def test_a_template_that_does_not_exist(tmp_path: Path) -> None:
    with proxmox(tmp_path, boot=Boot("template", template="golden")) as harness:
        found = await the_error(harness, "template golden for pve")
    assert "'golden'" in found.cause and "`proxmox.template`" in found.fix


async def test_a_template_of_another_node_whose_storage_is_not_shared(tmp_path: Path) -> None:
    with proxmox(tmp_path, Proxmox(nodes=("pve", "pve2")), boot=Boot("template", template="golden")) as harness:
        disk = "local:900/base-900-disk-0.raw,size=1G"
        harness.world.add_vm(900, "golden", template=1, scsi0=disk, node="pve2")
        found = await the_error(harness, "template golden for pve")
        assert "pve2" in found.cause and "VM 900" in found.evidence
        harness.world.storages["local"].shared = True
        assert not [one for one in await harness.provider().preflight(MACHINES) if one.level == "error"]


async def test_a_vm_that_is_not_a_template(tmp_path: Path) -> None:
    with proxmox(tmp_path, boot=Boot("template", template="golden")) as harness:
        harness.world.add_vm(900, "golden")
        found = await the_error(harness, "template golden for pve")
    assert "VM 900" in found.cause and "not a template" in found.cause and "convert" in found.fix
