"""`talosmith up` on a KVM host, whole: examples/libvirt-ha from inventory to ready, over real virtual machines."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

from talosmith.providers.libvirt.connection import libvirt
from tests.real.libvirt.daemon import Daemon
from tests.real.libvirt.nodes_behind import nodes_behind

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

EXAMPLE = Path(__file__).parents[3] / "examples" / "libvirt-ha"
NAMES = ("talos-cp-1", "talos-cp-2", "talos-cp-3")


def inventory(folder: Path, daemon: Daemon, guest: Path, subnet: str) -> None:
    """The example, but here: this host, a network of the test's own, the small guest, and no workers."""
    shutil.copytree(EXAMPLE, folder)
    text = (folder / "cluster.yaml").read_text().replace("10.0.0.", f"{subnet}.")
    changes = {
        "  uri: qemu:///system": f"  uri: {daemon.uri}\n  pool_path: {daemon.pool_path}-up\n  image: {guest}",
        "  bridge: br0": "  network: nodes\n  make_network: isolated",
        "  pool: default": "  pool: talos-up",
        "  count: 3\n  name_prefix: talos-w-": "  count: 0\n  name_prefix: talos-w-",
        "  cpu: 2\n  ram: 4G": "  cpu: 1\n  ram: 2G",
    }
    for before, after in changes.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    (folder / "cluster.yaml").write_text(text)


async def talosmith(folder: Path, state: Path, *arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "talosmith", *arguments, "-i", str(folder),
        env=os.environ | {"XDG_STATE_HOME": str(state), "XDG_CACHE_HOME": str(state), "HOME": str(state)},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        out, _ = await process.communicate()
    except BaseException:
        process.kill()
        raise
    return process.returncode or 0, out.decode()


async def test_the_example_comes_up_heals_and_goes(daemon: Daemon, guest: Path, subnet: str, tmp_path: Path) -> None:
    folder, state, lab = tmp_path / "cluster", tmp_path / "state", tmp_path / "lab"
    state.mkdir()
    lab.mkdir()
    inventory(folder, daemon, guest, subnet)
    connection = libvirt().open(daemon.uri)
    pool = Path(f"{daemon.pool_path}-up")
    async with nodes_behind(lab, f"{subnet}.1") as nodes:
        code, said = await talosmith(folder, state, "up", "--new-secrets", "--yes")
        assert code == 0, said
        assert "is done in" in said

        # Each node got its config from its own seed, at its own address; then the seeds were taken away.
        wanted = {name: f"{subnet}.{70 + number}" for number, name in enumerate(NAMES)}
        assert {one["name"]: one["address"] for one in nodes.told} == wanted
        assert {one["from"] for one in nodes.told} == {"seed"}
        assert len({one["config"] for one in nodes.told}) == len(NAMES)
        for name in NAMES:
            assert f"note: {name}: its seed, which holds its config, is detached and deleted" in said
        assert not list(pool.glob("*.iso"))
        assert {one.name() for one in connection.listAllDomains()} == {f"talos-{name}" for name in NAMES}

        # All is as it should be.
        code, said = await talosmith(folder, state, "plan")
        assert code == 0, said

        # What a machine wrote on its console is shown, whether its node answers or not.
        code, said = await talosmith(folder, state, "node", "console", "talos-cp-2")
        assert code == 0 and "name talos-cp-2\n" in said and said.endswith("the guest is up\n"), said

        # One machine loses its power: it is switched on again and boots from its disk, for its seed is gone.
        connection.lookupByName("talos-talos-cp-3").destroy()
        nodes.lose_power("talos-cp-3")
        code, said = await talosmith(folder, state, "up", "--yes")
        assert code == 0, said
        assert (nodes.told[-1]["name"], nodes.told[-1]["from"]) == ("talos-cp-3", "disk")

        # Another is gone for good: its member leaves etcd, and a new machine joins in its place.
        lost = connection.lookupByName("talos-talos-cp-2")
        before = lost.UUIDString()
        lost.destroy()
        lost.undefine()
        nodes.lose_power("talos-cp-2")
        code, said = await talosmith(folder, state, "up", "--yes")
        assert code == 0, said
        assert (nodes.told[-1]["name"], nodes.told[-1]["from"]) == ("talos-cp-2", "seed")
        assert connection.lookupByName("talos-talos-cp-2").UUIDString() == nodes.told[-1]["uuid"] != before
        code, said = await talosmith(folder, state, "plan")
        assert code == 0, said

        code, said = await talosmith(folder, state, "destroy", "--yes")
        assert code == 0, said
    assert not connection.listAllDomains() and not pool.exists()
    assert "nodes" not in [one.name() for one in connection.listAllNetworks()]
