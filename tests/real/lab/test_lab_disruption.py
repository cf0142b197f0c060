"""What changes a running cluster: each command of the real `talosctl`, and the cluster well again afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.lab.lab_worlds import INSTALLER
from tests.real.lab.conftest import Shared
from tests.real.lab.lab_cluster import PATIENTLY, LabCluster

OLDER = f"{INSTALLER}:v1.14.0"


@pytest.fixture
def cluster(running: LabCluster) -> Iterator[LabCluster]:
    yield running
    running.wait("everybody", running.is_well)


def boot_id(lab: LabCluster, name: str) -> str:
    return lab.done("read", "/proc/sys/kernel/random/boot_id", "-n", f"<{name}>")


def version_of(lab: LabCluster, name: str) -> str:
    found = re.search(r"Server:.*Tag: +(\S+)", lab.done("version", "-n", f"<{name}>"), re.DOTALL)
    assert found
    return found[1]


@pytest.mark.parametrize("name", ["w-1", "cp-2"])
def test_reboot(cluster: LabCluster, name: str) -> None:
    before = boot_id(cluster, name)
    said = cluster.ctl("reboot", "-n", f"<{name}>", "--wait", *PATIENTLY)
    assert said.code == 0 and "post check passed" in said.all, said.all
    assert boot_id(cluster, name) != before


def test_shutdown(cluster: LabCluster) -> None:
    said = cluster.ctl("shutdown", "-n", "<w-2>", "--wait", *PATIENTLY)
    cluster.wait("the power to go", lambda: power(cluster, "w-2") == "off")
    cluster.lab("machine", "power-on", "w-2")
    assert said.code == 0 and "events check condition met" in said.all, said.all


def power(lab: LabCluster, name: str) -> str:
    return next(str(one["power"]) for one in lab.machines() if one["name"] == name)


def test_upgrade_and_rollback(cluster: LabCluster) -> None:
    said = cluster.ctl("upgrade", "-n", "<w-1>", "--image", OLDER, "--drain=false", *PATIENTLY)
    assert said.code == 0 and "post check passed" in said.all, said.all
    assert version_of(cluster, "w-1") == "v1.14.0"
    cluster.done("rollback", "-n", "<w-1>")
    cluster.wait("the old version", lambda: cluster.ctl("version", "-n", "<w-1>").out.count(cluster.talos) == 2)


def test_an_upgrade_that_fails_says_so(cluster: LabCluster) -> None:
    cluster.lab("fault", "add", "full-disk", "w-1")
    try:
        said = cluster.ctl("upgrade", "-n", "<w-1>", "--image", OLDER, "--drain=false", *PATIENTLY)
        assert said.code != 0 and "no space left on device" in said.all
        assert version_of(cluster, "w-1") == cluster.talos
    finally:
        cluster.lab("fault", "clear")


def test_forfeit_leadership(cluster: LabCluster) -> None:
    old = cluster.leader()
    cluster.done("etcd", "forfeit-leadership", "-n", f"<{old}>")
    assert cluster.leader() not in ("", old)


def test_leave_and_join_again(cluster: LabCluster) -> None:
    leaving = cluster.leader()
    cluster.done("etcd", "leave", "-n", f"<{leaving}>")
    assert leaving not in cluster.members()
    said = cluster.ctl("service", "etcd", "start", "-n", f"<{leaving}>")
    assert said.code != 0 and "doesn't support start" in said.all, said.all
    cluster.done("reboot", "-n", f"<{leaving}>", "--wait=false")  # as it boots, it joins


def test_remove_a_dead_member_and_let_it_come_back_empty(cluster: LabCluster) -> None:
    cluster.lab("machine", "power-off", "cp-3")
    alive = ("-e", "<cp-1>", "-n", "<cp-1>")
    cluster.wait("a leader", lambda: cluster.leader() in ("cp-1", "cp-2"))
    listed = cluster.done("etcd", "members", *alive)
    member = re.search(r"([0-9a-f]{16}) +cp-3", listed)
    assert member
    cluster.done("etcd", "remove-member", member[1], *alive)
    assert set(cluster.members()) == {"cp-1", "cp-2"}
    cluster.lab("machine", "wipe", "cp-3")
    cluster.lab("machine", "power-on", "cp-3")
    cluster.wait_for_maintenance("cp-3")
    cluster.done("apply-config", "--insecure", "-n", "<cp-3>", "-f", "cp-3.yaml")


def test_reset_of_a_worker_and_back(cluster: LabCluster) -> None:
    wipe = [part for label in ("STATE", "EPHEMERAL") for part in ("--system-labels-to-wipe", label)]
    said = cluster.ctl("reset", "-n", "<w-2>", "--reboot", *wipe, "--wait", *PATIENTLY)
    assert said.code == 0 and "post check passed" in said.all, said.all
    cluster.wait_for_maintenance("w-2")
    cluster.done("apply-config", "--insecure", "-n", "<w-2>", "-f", "w-2.yaml")


def test_a_graceful_reset_of_a_control_plane_leaves_etcd(cluster: LabCluster) -> None:
    said = cluster.ctl("reset", "-n", "<cp-3>", "--graceful", "--reboot", "--wait", *PATIENTLY)
    assert said.code == 0, said.all
    assert set(cluster.members()) == {"cp-1", "cp-2"}
    cluster.wait_for_maintenance("cp-3")
    cluster.done("apply-config", "--insecure", "-n", "<cp-3>", "-f", "cp-3.yaml")


def test_recovery_from_a_snapshot(cluster: LabCluster) -> None:
    cluster.done("etcd", "snapshot", "<folder>/before-the-fire.db")
    wipe = ("reset", "--graceful=false", "--reboot", "--system-labels-to-wipe", "EPHEMERAL", "--wait=false")
    cluster.done(*wipe, "-n", "<cp-1>,<cp-2>,<cp-3>")
    cluster.wait("etcd to be gone", lambda: not cluster.status()["etcd"])
    cluster.wait("etcd to wait", lambda: "Preparing" in cluster.ctl("service", "etcd").out)
    taken = (cluster.folder / "before-the-fire.db").read_bytes()
    (cluster.folder / "damaged.db").write_bytes(taken[:-1] + bytes([taken[-1] ^ 1]))
    said = cluster.ctl("bootstrap", "--recover-from", "<folder>/damaged.db")
    assert said.code != 0 and "sha256" in said.all
    out = cluster.done("bootstrap", "--recover-from", "<folder>/before-the-fire.db")
    assert re.search(r"revision \d+, total keys \d+", out)
    cluster.wait("everybody", cluster.is_well)
    # Pods that were just going are gone by then; what the nodes tell of their new boots makes up for them.
    cluster.wait("its keys", lambda: keys(cluster.done("etcd", "snapshot", "<folder>/after.db")) >= keys(out))


def keys(told: str) -> int:
    """How many a snapshot has."""
    return int(re.findall(r"total keys (\d+)", told)[0])


def test_rotation_of_the_authority(running: LabCluster, shared: Shared) -> None:
    """Each step applied to each node, and both the old and the new client tried in between, by talosctl itself."""
    try:
        said = running.ctl(
            "rotate-ca", "--dry-run=false", "--kubernetes=false", "-o", "<folder>/rotated", "--with-docs=false"
        )
        assert said.code == 0 and "Writing new talosconfig" in said.all, said.all
        assert running.ctl("version", "-n", "<w-1>").code != 0, "the old one is worth nothing any more"
        assert running.talos in running.done("version", "-n", "<w-1>", "--talosconfig", "<folder>/rotated")
    finally:
        shared.stop()  # machine configs have talosctl's own form now, comments included: the next test gets a new lab
