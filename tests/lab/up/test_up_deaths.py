"""Nodes that die, hang or stay away while they are brought up: bounded, told with name and reason, and resumable."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml

from tests.lab.up.outcomes import converged
from tests.lab.up.places import OLD, UP, Ended, Here, in_vain
from tests.waiting import until

pytestmark = pytest.mark.slow

Places = Callable[[], Here]
LIMIT = ("--limit", "100")  # seconds: enough on any machine; what waits in vain is told that they are over
OVER = "not done within 100 s"
UNHEALTHY = 5
NAMES = ["cp-1", "cp-2", "cp-3", "w-1"]


def names_the_trouble(ended: Ended, node: str) -> None:
    assert ended.code == 1, ended.said
    told = [line for line in ended.out.splitlines() if OVER in line and node in line]
    assert told, ended.said
    assert "deadline" not in ended.said.lower() and "said nothing" not in ended.said, ended.said
    assert "resume: talosmith up" in ended.out


def struck(
    here: Here,
    kind: str,
    step: str,
    strike: Callable[[], object],
    *argv: str,
    trouble: str = "",
    command: tuple[str, ...] = UP,
) -> Ended:
    """A run that meets with this at that event; with `trouble`, who waits because of it waits in vain."""
    reached, go = here.root / "reached", here.root / "go"
    what = {
        "kind": kind,
        "step": step,
        "reached": str(reached),
        "go": str(go),
        "trouble": [trouble] if trouble else (),
    }
    with here.start(*command, *LIMIT, *argv, before=("tests.lab.up.hooks:wait_at", what)) as running:
        running.until(reached.exists)
        strike()
        go.write_text("")
        return running.wait()


def dies_at(here: Here, node: str, kind: str, step: str) -> None:
    """Its power goes at that moment of the run; the next run switches it on again."""
    here.write(3, 1)
    ended = struck(here, kind, step, lambda: here.lab.add_fault("power-loss", [node]), trouble=node)
    assert ended.code, ended.said
    names_the_trouble(ended, node)
    assert here.machines()[node]["power"] == "off"
    again = here.up()
    assert again.code == 0, again.said
    converged(here, NAMES)


@pytest.mark.parametrize("node", ["cp-1", "cp-2", "w-1"])
def test_a_node_dies_at_each_stage_of_its_bring_up(places: Places, node: str) -> None:
    stages = [
        ("step-done", f"machine/{node}"),
        ("step-done", f"node/{node}/config"),
        ("step-started", "etcd/bootstrap"),
        ("step-done", "etcd/bootstrap"),
        ("step-started", f"node/{node}/joined"),
    ]
    with ThreadPoolExecutor(len(stages)) as pool:
        list(pool.map(lambda stage: dies_at(places(), node, *stage), stages))


def test_who_keeps_the_kubernetes_api_waiting_is_named(here: Here) -> None:
    """Without most of its members etcd has no leader. The API only says that etcd is not ready."""
    here.write(3, 0)

    def most_die() -> None:
        until(lambda: list(here.etcd()[0]["members"].values()) == ["voter"] * 3)
        here.lab.add_fault("power-loss", ["cp-2", "cp-3"])

    ended = struck(here, "step-started", "cluster/controlplane", most_die, trouble="cp-2 (")
    names_the_trouble(ended, "cp-2")
    (told,) = [line for line in ended.out.splitlines() if "wait for the Kubernetes API: " in line and OVER in line]
    assert "/readyz fails: etcd" in told and "cp-2 (" in told and "cp-3 (" in told and "cp-1" not in told, ended.said
    again = here.up()
    assert again.code == 0, again.said
    converged(here, ["cp-1", "cp-2", "cp-3"])


def test_a_control_plane_that_dies_while_all_are_changed_ends_it_there(here: Here) -> None:
    """The others stay as they are; the next run goes on with the one that died."""
    here.write(3, 0)
    assert here.up().code == 0
    here.write(3, 0, more="patches: [{machine: {env: {A: b}}}]\n")
    first, *others = [step for step in here.steps() if step.endswith("/config")]
    node = first.split("/")[1]
    ended = struck(
        here,
        "step-started",
        first,
        lambda: here.lab.add_fault("boot-failure", [node], times=1),
        trouble="waiting for the node to come back from its reboot",
    )
    names_the_trouble(ended, node)
    until(lambda: not here.lab.faults())  # it has struck
    assert here.done("Reboot") == 1
    (etcd,) = here.etcd()
    assert etcd["quorum"], "the others were left alone"
    here.lab.clear_faults()
    here.lab.reboot(node)
    until(lambda: here.machines()[node]["ready"])
    assert [step for step in here.steps() if step.endswith("/config")] == others
    again = here.up()
    assert again.code == 0, again.said
    assert here.done("Reboot") == 3
    converged(here, ["cp-1", "cp-2", "cp-3"])


@pytest.mark.parametrize("how", ["config", "removal"])
def test_etcd_is_looked_at_right_before_the_act_whatever_the_plan_has_seen(here: Here, how: str) -> None:
    """When it was planned all were well; now another control plane is away, and this one would cost the quorum."""
    here.write(3, 0)
    assert here.up().code == 0
    if how == "config":
        here.write(3, 0, more="patches: [{machine: {env: {A: b}}}]\n")
        step, away = "node/cp-1/config", "cp-2"
    else:
        here.write(2, 0)
        step, away = "etcd/cp-3/leave", "cp-2"
    assert step in here.steps()
    confirmed = ("--confirm", "mine")
    ended = struck(
        here, "step-started", step, lambda: here.lab.power_off(away), *confirmed, trouble="not allowed yet"
    )
    assert ended.code == 1 and "not allowed yet" in ended.out, ended.said
    assert here.done("Reboot") == here.done("EtcdLeaveCluster") == here.done("machine.delete") == 0
    here.lab.power_on(away)
    until(lambda: here.machines()[away]["ready"])
    again = here.up("--confirm", "mine")
    assert again.code == 0, again.said
    assert here.steps() == []


def test_a_machine_that_hangs_while_it_boots(here: Here) -> None:
    here.write(1, 1)
    here.make_lab()
    lab = here.lab
    lab.add_fault("boot-failure", times=1)
    ended = here.up(*LIMIT, before=in_vain("waiting for the Talos API in maintenance mode"))
    assert ended.code == 1 and OVER in ended.out, ended.said
    stuck = [name for name, machine in here.machines().items() if not machine["ready"]]
    assert any(name in ended.out for name in stuck)
    lab.clear_faults()
    lab.reboot(*stuck)
    assert here.up().code == 0
    converged(here, ["cp-1", "w-1"])


@pytest.mark.parametrize(
    ("skew", "shown"),
    [
        pytest.param(-86400, "certificate has expired", id="a-day-behind"),
        pytest.param(86400, "certificate is not yet valid", id="a-day-ahead"),
    ],
)
def test_a_clock_that_is_a_day_wrong_is_waited_for_and_named(here: Here, skew: int, shown: str) -> None:
    here.write(1, 1)
    here.make_lab()
    assert here.up("--only", "machine/*").code == 0
    here.lab.add_fault("clock-skew", ["cp-1"], seconds=skew)
    ended = here.up(*LIMIT, before=in_vain(shown))
    assert ended.code == 1, ended.said
    address = here.machines()["cp-1"]["address"]
    assert f"cp-1 ({address}): {shown}" in ended.out, ended.said
    assert OVER in ended.out, "it may be set right any moment, and is waited for"
    assert "fix: set the clocks" in ended.out
    assert here.done("Bootstrap") == 0
    blocked = here.plan()["blocked"]
    assert any(f"{shown}: valid from 2" in one["cause"] for one in blocked), (
        "a node that was there before is no new one: nothing is run and waited for"
    )
    examined = here.run("doctor")
    assert examined.code == 1 and f"✗ certificates of cp-1: cp-1 ({address}): {shown}" in examined.out, examined.said
    here.lab.clear_faults()
    again = here.up()
    assert again.code == 0, again.said
    converged(here, ["cp-1", "w-1"])


@pytest.mark.parametrize(
    "fault", ["partition", "fail", *(pytest.param(name, marks=pytest.mark.real) for name in ("hang", "lost-network"))]
)
def test_a_control_plane_is_out_of_reach_when_etcd_is_to_be_started(here: Here, fault: str) -> None:
    here.write(3, 0)
    ended = struck(
        here, "step-started", "etcd/bootstrap", lambda: here.lab.add_fault(fault, ["cp-2"]), trouble="cp-2"
    )
    names_the_trouble(ended, "cp-2")
    assert here.done("Bootstrap") == 0, "not everybody was asked"
    here.lab.clear_faults()
    again = here.up()
    assert again.code == 0, again.said
    converged(here, ["cp-1", "cp-2", "cp-3"])


def test_a_machine_boots_again_before_it_gets_its_config(here: Here) -> None:
    """It shows another fingerprint then; the provider tells that it is the same machine."""
    here.write(1, 1)
    assert here.up("--only", "machine/*").code == 0

    def boot_again() -> None:
        before = here.machines()["w-1"]["fingerprint"]
        here.lab.reboot("w-1")
        until(lambda: here.machines()["w-1"]["fingerprint"] not in ("", before))

    ended = struck(here, "step-started", "node/w-1/config", boot_again)
    assert ended.code == 0, ended.said
    converged(here, ["cp-1", "w-1"])


def _install(match: str) -> str:
    """An inventory's patch with the disk that Talos is to be installed on."""
    document = {"apiVersion": "v1alpha1", "kind": "UnattendedInstallConfig"}
    selector = {"provisioning": {"diskSelector": {"match": match}}}
    return yaml.safe_dump({"patches": [{**document, **selector}]})


def test_a_config_that_cannot_be_carried_out_is_told_of(here: Here) -> None:
    """An install disk that does not exist is noticed before the config is applied; the machine's disks are named."""
    here.write(1, 0, more=_install('disk.dev_path == "/dev/nope"'))
    ended = here.up()
    assert ended.code == 1, ended.said
    assert "install disk /dev/nope does not exist" in ended.out and "disks of the machine: /dev/vda (" in ended.out
    assert here.done("ApplyConfiguration") == 0
    here.write(1, 0, more=_install("glob('NOPE*', disk.model)"))
    ended = here.up()
    assert ended.code == 1, ended.said
    assert "install disk selector matches no disk" in ended.out and "disks of the machine: /dev/vda (" in ended.out
    here.write(1, 0)
    works = here.up()
    assert works.code == 0, works.said
    converged(here, ["cp-1"])


@pytest.mark.parametrize("clock", ["instant", "fast"])
def test_a_node_that_falls_back_to_maintenance_mode_is_told_of(here: Here, clock: str) -> None:
    """`fast`: while it installs it answers with the cluster's certificate, and seems to have arrived.

    Talos 1.13 reboots after an installation that failed, and has no machine config then.
    """
    here.write(3, 0, clock=clock, line=OLD)
    here.make_lab(clock=clock)
    assert here.up("--only", "machine/*").code == 0
    here.lab.add_fault("full-disk", ["cp-2"])  # so it cannot be installed
    ended = here.up()
    assert ended.code == 1, ended.said
    assert "cp-2 is in maintenance mode, without its machine config" in ended.out, ended.said
    assert "fix: the console of the machine" in ended.out
    assert "no etcd service" not in ended.out and here.done("Bootstrap") == 0
    here.lab.clear_faults()
    again = here.up()
    assert again.code == 0, again.said
    converged(here, ["cp-1", "cp-2", "cp-3"])


def test_an_installation_that_fails_is_told_of_and_goes_on_once_it_can(here: Here) -> None:
    """Talos 1.14 tries again by itself, and says why it failed."""
    here.write(1, 0)
    here.make_lab()
    assert here.up("--only", "machine/*").code == 0
    here.lab.add_fault("full-disk", ["cp-1"])
    with here.start(*UP) as running:
        running.until(lambda: "installation is failed (failed to pull image" in running.err)
        assert "no space left on device" in running.err
        assert here.done("Bootstrap") == 0
        here.lab.clear_faults()
        ended = running.wait()
    assert ended.code == 0, ended.said
    converged(here, ["cp-1"])


def test_health_that_comes_and_goes_is_not_health(here: Here) -> None:
    here.write(1, 1)
    assert here.up("--skip", "cluster/health").code == 0
    here.write(1, 1, more="patches: [{machine: {sysctls: {vm.swappiness: '10'}}}]\n")
    here.lab.add_fault("fail", ["w-1"], method="ServiceList", percent=90)
    ended = here.up("--health-limit", "4")
    assert ended.code == UNHEALTHY, ended.said
    assert "not healthy after 4 s" in ended.out and "w-1" in ended.out and "resume: talosmith up" in ended.out
    here.lab.clear_faults()
    assert here.run("health").code == 0
    converged(here, ["cp-1", "w-1"])
