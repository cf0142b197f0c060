"""Network, pool and image of a cluster's own, by the command line: shown, created, mended, and deleted with it."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from talosmith.providers.libvirt.connection import libvirt
from tests.real.libvirt.daemon import Daemon
from tests.real.libvirt.test_libvirt_up import Shell
from tests.waiting import comes_true

INVENTORY = """\
cluster_name: stands
talos_version: v1.13.9
kubernetes_version: v1.36.3
libvirt: {{uri: "{uri}", pool: own, pool_path: {pool}, network: own, make_network: isolated, image: {image}}}
network: {{node_cidr: {subnet}.0/24}}
controlplane: {{count: 1, ram: 1700M, disk: 6G}}
workers: {{count: 1, ram: 900M, disk: 6G}}
"""
ONLY = "-i . --only 'resource/*' --only 'machine/*'"


@pytest.fixture
def shell(daemon: Daemon, halting_image: Path, subnet: str, tmp_path: Path) -> Shell:
    folder, home = tmp_path / "here", tmp_path / "home"
    for one in (folder, home):
        one.mkdir()
    text = INVENTORY.format(uri=daemon.uri, pool=daemon.pool_path, image=halting_image, subnet=subnet)
    (folder / "cluster.yaml").write_text(text)
    return Shell(daemon, folder, home, str(Path(sys.executable).parent))


async def _steps(shell: Shell, command: str) -> dict[str, list[dict[str, object]]]:
    """The plan's steps on resources, with their settings."""
    _, said = await shell.run(f"talosmith {command} -o json 2>/dev/null")
    steps = json.loads(said)["steps"]
    return {step["key"]: step["settings"] for step in steps if step["key"].startswith("resource/")}


async def test_resources_are_created_mended_and_deleted(daemon: Daemon, shell: Shell) -> None:
    connection = libvirt().open(daemon.uri)
    image = "image/halts.raw"
    await shell.must("talosmith secrets init -i .")
    shown = await _steps(shell, "plan -i .")
    assert [*shown] == [f"resource/{one}/create" for one in ("network/own", "pool/own", image)]
    assert {"name": "mode", "before": None, "after": "isolated", "masked": False} in shown[
        "resource/network/own/create"
    ]

    # Killed in the middle, and run again.
    process = await asyncio.create_subprocess_exec(
        *daemon.command(
            "sh", "-c", f"cd {shell.folder} && talosmith up {ONLY} --yes & echo $! > {shell.home}/pid; wait"
        ),
        env={"HOME": str(shell.home), "PATH": f"{shell.tools}:/usr/bin:/bin:/usr/sbin:/sbin"},
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )

    async def begun() -> str:
        return "" if connection.listAllStoragePools() or connection.listAllNetworks() else "nothing is there yet"

    await comes_true(begun)
    daemon.run("kill", "-9", (shell.home / "pid").read_text().strip())
    await process.wait()
    said = await shell.must(f"talosmith up {ONLY} --yes")
    assert "resources exist" in said or "machines are running" in said, said
    assert {one.name() for one in connection.listAllDomains()} == {"stands-cp-1", "stands-w-1"}
    assert await _steps(shell, "plan -i .") == {}

    # Somebody switches the network off.
    connection.networkLookupByName("own").destroy()
    assert await _steps(shell, "plan -i .") == {
        "resource/network/own/update": [{"name": "active", "before": False, "after": True, "masked": False}]
    }
    await shell.must(f"talosmith up {ONLY} --yes")
    assert connection.networkLookupByName("own").isActive()

    # Another address would cut the machines off: nothing is done, and the plan says what to do.
    inventory = shell.folder / "cluster.yaml"
    text = inventory.read_text()
    inventory.write_text(text.replace("make_network: isolated", "make_network: nat"))
    code, said = await shell.run("talosmith up -i . --yes")
    assert code == 6 and "network own cannot be changed in place\n      ~ mode: isolated → nat" in said, said
    assert "virsh net-undefine own" in said
    inventory.write_text(text)

    said = await shell.must("talosmith destroy -i .", typed="stands\n")
    for one in (f"delete {image.replace('/', ' ')}", "delete pool own", "delete network own"):
        assert one in said, said
    assert not connection.listAllDomains() and not connection.listAllNetworks()
    assert not connection.listAllStoragePools() and not Path(daemon.pool_path).exists()
