"""A changed inventory, or world, becomes what the inventory says, with as little disturbance as it takes."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from tests.lab.up.outcomes import converged, one_etcd
from tests.lab.up.places import OLD, Here, in_vain
from tests.waiting import until

pytestmark = pytest.mark.slow

SYSCTL = "patches: [{machine: {sysctls: {vm.swappiness: '10'}}}]\n"
NEEDS_REBOOT = "patches: [{machine: {env: {A: b}}}]\n"
THREE = ["cp-1", "cp-2", "cp-3"]


def brought_up(here: Here, controlplanes: object = 1, workers: object = 1, clock: str = "instant") -> None:
    here.write(controlplanes, workers, clock)
    ended = here.up()
    assert ended.code == 0, ended.said


def is_done(here: Here, *argv: str) -> None:
    ended = here.up(*argv)
    assert ended.code == 0, ended.said
    assert here.steps() == []


def test_a_second_up_does_nothing_and_says_so_soon(here: Here) -> None:
    brought_up(here, 3, 2)
    before = {key: one["done"] for key, one in here.calls().items() if key.endswith(("Configuration", "create"))}
    waited = here.root / "waited"
    again = here.up(before=("tests.lab.up.hooks:measure_waits", {"told": str(waited)}))
    assert again.code == 0 and "in sync" in again.out
    assert {key: here.calls()[key]["done"] for key in before} == before
    assert float(waited.read_text()) < 2, "a wait that should not be there"


def test_a_setting_that_needs_no_reboot(here: Here) -> None:
    brought_up(here)
    here.write(1, 1, more=SYSCTL)
    assert sorted(here.steps("--skip", "cluster/*")) == ["node/cp-1/config", "node/w-1/config"]
    is_done(here)
    assert here.done("Reboot") == 0
    converged(here, ["cp-1", "w-1"])


def test_a_cluster_of_talos_1_13_is_brought_up_and_changed(here: Here) -> None:
    """With configs in the form of 1.13; Talos refuses there what it does only with a reboot."""
    here.write(1, 1, line=OLD)
    is_done(here)
    converged(here, ["cp-1", "w-1"])
    assert {one["version"] for one in here.machines().values()} == {OLD.latest}
    here.write(1, 1, line=OLD, more=SYSCTL)
    is_done(here)
    assert here.done("Reboot") == 0
    here.write(1, 1, line=OLD, more=NEEDS_REBOOT)
    plan = here.run("plan").out
    assert "reboot needed for machine.env" in plan and "2 reboots" in plan, plan
    is_done(here)
    assert here.done("Reboot") == 2
    converged(here, ["cp-1", "w-1"])


def times_away(here: Here) -> list[tuple[float, float]]:
    """When each node was last away, from first to last: by the lab's clock, as its own records tell."""
    with closing(sqlite3.connect(f"file:{here.lab_folder / 'world.db'}?mode=ro", uri=True)) as world:
        return sorted(_away(world, name) for name in here.machines())


def _away(world: sqlite3.Connection, name: str) -> tuple[float, float]:
    """From when it no longer ran, or began to boot, until it was ready again."""
    asked = "SELECT boot, at, payload FROM record WHERE machine = ? AND kind = 'MachineStatusEvent' ORDER BY number"
    told = [(boot, at, json.loads(payload)) for boot, at, payload in world.execute(asked, (name,))]
    last = max(boot for boot, _, _ in told)
    ran = max(at for boot, at, status in told if boot < last and status["stage"] == "RUNNING")
    gone = min(at for _, at, status in told if at >= ran and status["stage"] != "RUNNING")
    return gone, min(at for boot, at, status in told if boot == last and status["status"]["ready"])


@pytest.mark.parametrize("how", ["config", "size"])
def test_control_planes_restart_one_at_a_time(here: Here, how: str) -> None:
    brought_up(here, 3, 0, clock="fast")
    if how == "config":
        here.write(3, 0, "fast", more=NEEDS_REBOOT)
    else:
        here.write("{count: 3, ram: 6G}", 0, "fast")
    began = time.time()
    is_done(here)
    away = times_away(here)
    assert len(away) == 3 and away[0][0] >= began, (began, away)
    assert all(back <= gone for (_, back), (gone, _) in pairwise(away)), away
    assert here.done("Reboot" if how == "config" else "machine.resize") == 3
    converged(here, THREE)


def test_a_node_comes_and_a_node_goes(here: Here) -> None:
    brought_up(here, 1, 1)
    here.write(1, 2)
    is_done(here)
    converged(here, ["cp-1", "w-1", "w-2"])
    here.write(1, 1)
    is_done(here)
    converged(here, ["cp-1", "w-1"])


def test_a_control_plane_goes_only_when_that_is_confirmed(here: Here) -> None:
    brought_up(here, 3, 0)
    here.write(2, 0)
    refused = here.up()
    assert refused.code == 64 and "cp-3" in refused.err and "--confirm mine" in refused.err
    wrong = here.up("--confirm", "other")
    assert wrong.code == 64
    one_etcd(here, THREE)
    is_done(here, "--confirm", "mine")
    converged(here, THREE[:2])


def test_a_control_plane_that_cannot_leave_etcd_stays(here: Here) -> None:
    brought_up(here, 3, 0)
    here.write(2, 0)
    here.lab.add_fault("fail", ["cp-3"], method="EtcdLeaveCluster")
    failed = here.up("--confirm", "mine", "--limit", "100", before=in_vain("etcd/cp-3/leave"))
    assert failed.code == 1, failed.said
    assert "cp-3" in failed.out and "not done within 100 s" in failed.out, failed.said
    assert sorted(here.machines()) == THREE and here.done("machine.delete") == 0
    one_etcd(here, THREE)
    here.lab.clear_faults()
    is_done(here, "--confirm", "mine")
    one_etcd(here, THREE[:2])
    assert sorted(here.machines()) == THREE[:2]


def test_without_anything_kept_the_cluster_is_found_as_it_is(here: Here) -> None:
    """On another computer, or after the state folder was lost: machines tell whose they are."""
    brought_up(here, 3, 1)
    shutil.rmtree(here.state_folder)
    for name in ("talosconfig", "kubeconfig"):
        (here.folder / name).unlink()
    assert not [step for step in here.steps() if not step.startswith(("files/", "cluster/"))]
    is_done(here)
    converged(here, [*THREE, "w-1"])


def test_files_follow_the_cluster(here: Here) -> None:
    """Another endpoint, one control plane less, a patch; and any control plane gives them again."""

    def files() -> tuple[str, list[str]]:
        talos, kube = (yaml.safe_load((here.folder / name).read_text()) for name in ("talosconfig", "kubeconfig"))
        return kube["clusters"][0]["cluster"]["server"], talos["contexts"]["mine"]["endpoints"]

    def at(number: int) -> str:
        return here.network.replace(".0/24", f".{number}")

    brought_up(here, 3, 0)
    assert files()[1] == [at(10), at(11), at(12)]
    text = (here.folder / "cluster.yaml").read_text()
    (here.folder / "cluster.yaml").write_text(text.replace("24}", f"24, vip: {at(77)}}}"))
    is_done(here)
    assert files() == (f"https://{at(77)}:6443", [at(10), at(11), at(12)])
    (here.folder / "cluster.yaml").write_text(text.replace("24}", f"24, vip: {at(77)}}}").replace("e: 3", "e: 2"))
    is_done(here, "--confirm", "mine")
    assert files()[1] == [at(10), at(11)]
    assert here.steps() == []
    with (here.folder / "cluster.yaml").open("a") as inventory:
        document = "apiVersion: v1alpha1, kind: KubeClusterConfig"
        inventory.write(f"patches: [{{{document}, endpoint: 'https://{at(11)}:6443'}}]\n")
    is_done(here)
    assert files()[0] == f"https://{at(11)}:6443"
    assert here.steps() == []
    (here.folder / "kubeconfig").unlink()
    here.lab.add_fault("refuse", ["cp-1"])
    ended = here.up("--only", "files/*")
    assert ended.code == 0, ended.said
    assert files()[0] == f"https://{at(11)}:6443"


@pytest.mark.parametrize("name", ["w-1", "cp-1", "cp-3"])
def test_a_machine_that_is_gone_is_made_again(here: Here, name: str) -> None:
    brought_up(here, 3, 1)
    here.lab.delete(name)
    is_done(here)
    assert sorted(here.machines()) == [*THREE, "w-1"]
    assert here.done("Bootstrap") == 1
    one_etcd(here, THREE)


def test_more_memory_and_a_larger_disk(here: Here) -> None:
    brought_up(here, 1, "{count: 1, ram: 4G, disk: 10G}")
    here.write(1, "{count: 1, ram: 8G, disk: 20G}")
    is_done(here)
    machine = here.machines()["w-1"]
    assert (machine["memory_mib"], machine["disks"][0]["size"]) == (8192, 20 * 1024**3)
    here.write(1, "{count: 1, ram: 8G, disk: 10G}")
    smaller = here.up()
    assert smaller.code == 6 and "disks cannot shrink in place" in smaller.err
    assert here.machines()["w-1"] == machine


def test_a_saved_plan_is_run_only_while_the_world_is_as_it_was(here: Here) -> None:
    brought_up(here)
    here.write(1, 2)
    file = here.root / "saved.json"
    assert here.run("plan", "--out", str(file)).code == 2
    here.lab.delete("w-1")
    refused = here.up(str(file))
    assert refused.code == 1 and "saved plan is stale" in refused.err
    assert sorted(here.machines()) == ["cp-1"]
    assert here.run("plan", "--out", str(file)).code == 2
    assert here.up(str(file)).code == 0
    assert sorted(here.machines()) == ["cp-1", "w-1", "w-2"]
    assert here.up(str(Path(__file__))).code == 64  # whether or not there is something to do


def test_parts_of_a_plan(here: Here) -> None:
    here.write(1, 2)
    assert here.up("--only", "machine/*").code == 0
    until(lambda: {machine["stage"] for machine in here.machines().values()} == {"maintenance"})
    assert here.up("--skip", "node/w-2/*").code == 0
    assert [step for step in here.steps("--skip", "cluster/*") if "w-2" not in step] == []
    assert here.up("--node", "w-2").code == 0
    assert here.steps("--skip", "cluster/*") == []
    unknown = here.up("--node", "w-9")
    assert unknown.code == 64 and "node `w-9` does not exist" in unknown.err
