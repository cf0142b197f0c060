"""The install disk is looked for among the machine's own disks, and only where Talos is going to be installed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from grpclib.const import Status

from talosmith.errors import Permanent
from talosmith.model.secret import Secret
from talosmith.steps.install_disk import check_install_disk, without_match
from talosmith.talos import Invalid, MaintenanceClient, TalosNode
from talosmith.talos.proto import machine_pb2 as wire
from tests.unit.talos.server import Handler, State, answer, fails, maintenance_context, resource, serving

KIND = "Disks.block.talos.dev"
DISKS = {
    "sda": "dev_path: /dev/sda\nsize: 512110190592\npretty_size: 512 GB\nmodel: Samsung SSD 870\nserial: S6P1\n"
    "transport: sata\nreadonly: false\ncdrom: false\nsymlinks:\n    - /dev/disk/by-id/ata-Samsung_SSD_870_S6P1\n",
    "loop0": "dev_path: /dev/loop0\nsize: 73728\npretty_size: 74 kB\nreadonly: true\ncdrom: false\n",
}
OLD = {"sda": "dev_path: /dev/sda\nsize: 512110190592\npretty_size: 512 GB\nreadonly: false\ncdrom: false\n"}
INSTALLED = resource("SystemDisks.block.talos.dev", "system-disk", "diskID: sda\ndevPath: /dev/sda\n")


@asynccontextmanager
async def machine(
    disks: dict[str, str], *, mode: str = "metal", installed: bool = False, lists: Handler | None = None
) -> AsyncIterator[TalosNode]:
    state = State(*(resource(KIND, name, yaml) for name, yaml in disks.items()), *([INSTALLED] if installed else ()))
    version = wire.Version(version=wire.VersionInfo(tag="v1.13.9"), platform=wire.PlatformInfo(mode=mode))
    handlers = {"state_Get": state.get, "state_List": lists or state.list}
    handlers["machine_Version"] = answer(wire.VersionResponse(messages=[version]))
    async with serving(maintenance_context(), **handlers) as address, MaintenanceClient() as client:
        yield client.node(address, "cp-1")


def config(install: str) -> Secret:
    return Secret(f"version: v1alpha1\nmachine:\n    type: worker\n    install: {install}\n")


async def test_a_disk_that_does_not_exist_is_named_with_those_that_do() -> None:
    async with machine(DISKS) as node:
        with pytest.raises(Permanent) as caught:
            await check_install_disk(node, config("{disk: /dev/sdx}"))
    assert str(caught.value) == (
        "cp-1: install disk /dev/sdx does not exist (no such file or directory); "
        "disks of the machine: /dev/sda (512 GB, model Samsung SSD 870, serial S6P1)"
    )
    assert "`disk` or `disk_selector` of cp-1" in caught.value.hint


@pytest.mark.parametrize("disk", ["/dev/sda", "/dev//sda", "/dev/disk/by-id/ata-Samsung_SSD_870_S6P1"])
async def test_a_disk_is_known_by_its_path_and_by_its_links(disk: str) -> None:
    async with machine(DISKS) as node:
        await check_install_disk(node, config(f"{{disk: {disk}}}"))


async def test_a_link_that_does_not_exist() -> None:
    async with machine(DISKS) as node:
        with pytest.raises(Permanent, match="install disk /dev/disk/by-id/nope does not exist"):
            await check_install_disk(node, config("{disk: /dev/disk/by-id/nope}"))


async def test_links_that_an_older_talos_does_not_tell_are_believed() -> None:
    async with machine(OLD) as node:
        await check_install_disk(node, config("{disk: /dev/disk/by-id/nope}"))
        with pytest.raises(Permanent):
            await check_install_disk(node, config("{disk: /dev/nope}"))


@pytest.mark.parametrize("install", ["{}", "{disk: /dev/nope, diskSelector: {model: Sam*}}", "{image: x}"])
async def test_where_the_path_does_not_count_it_is_not_checked(install: str) -> None:
    async with machine(DISKS) as node:
        await check_install_disk(node, config(install))


async def test_what_is_not_going_to_be_installed_is_not_checked() -> None:
    """Talos ignores the install disk of a container, and of a machine that runs from an installed disk already."""
    for mode, installed in (("container", False), ("cloud", False), ("metal", True)):
        async with machine(DISKS, mode=mode, installed=installed) as node:
            await check_install_disk(node, config("{disk: /dev/nope}"))


async def test_disks_that_are_not_told_are_not_checked() -> None:
    async with machine({}) as node:
        await check_install_disk(node, config("{disk: /dev/nope}"))
    async with machine(DISKS, lists=fails(Status.PERMISSION_DENIED, "not authorized")) as node:
        await check_install_disk(node, config("{disk: /dev/nope}"))


async def test_a_selector_that_matches_none_is_told_with_the_disks() -> None:
    said = 'no disks matched the expression: glob("X*", disk.model) && disk.transport != ""'
    refused = Invalid("cp-1", said, said=said)
    async with machine(DISKS) as node:
        told = await without_match(node, refused)
        assert isinstance(told, Permanent)
        assert f"install disk selector matches no disk ({said}); disks of the machine: /dev/sda (512 GB" in str(told)
        other = Invalid("cp-1", "kubelet image is not valid", said="kubelet image is not valid")
        assert await without_match(node, other) is other


@pytest.mark.parametrize(
    ("match", "found"),
    [
        ('disk.dev_path == "/dev/sda"', True),
        ('"/dev/disk/by-id/ata-Samsung_SSD_870_S6P1" in disk.symlinks', True),
        ('glob("Samsung*", disk.model) && disk.transport != ""', True),
        ("disk.size > 1u * TB", False),
        ('disk.dev_path == "/dev/nvme0n1"', False),
        ('disk.something_newer == "x"', True),  # not understood: nothing is said
    ],
)
async def test_the_expression_of_a_document(match: str, found: bool) -> None:
    document = (
        f"apiVersion: v1alpha1\nkind: UnattendedInstallConfig\nprovisioning:\n  diskSelector:\n    match: '{match}'\n"
    )
    given = Secret(f"version: v1alpha1\nmachine: {{type: worker}}\n---\n{document}")
    async with machine(DISKS) as node:
        if found:
            await check_install_disk(node, given)
            return
        with pytest.raises(Permanent, match=r"disks of the machine: /dev/sda \(512 GB"):
            await check_install_disk(node, given)
