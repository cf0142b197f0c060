"""Faults: who is struck, how often, and that it is the same every time."""

from __future__ import annotations

import pytest

from talosmith.errors import UsageError
from talosmith.providers.lab.faults import US
from talosmith_lab import joining, lifecycle, sequences, settle
from talosmith_lab.faults import Fault, strikes
from talosmith_lab.machine import Machine
from talosmith_lab.naming import addresses
from tests.lab.lab_worlds import INSTALLER, NEW, Configs, Lab


def add(lab: Lab, kind: str, *machines: str, **details: object) -> Fault:
    fault = Fault(id=f"f-{len(lab.world.faults)}", kind=kind, machines=list(machines), **details)  # type: ignore[arg-type]
    lab.world.faults[fault.id] = fault
    settle.resume(lab.world)
    lab.run()
    return fault


def clear(lab: Lab) -> None:
    lab.world.faults.clear()
    settle.resume(lab.world)
    lab.run()


def booted(machine: Machine) -> bool:
    return machine.run is not None and machine.run.stage in ("running", "maintenance")


def test_chance_follows_from_the_seed() -> None:
    def drawn(seed: int, percent: float = 30) -> list[bool]:
        fault = Fault(id="f1", kind="fail", percent=percent)
        return [strikes(fault, seed) for _ in range(2000)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert 500 < sum(drawn(1)) < 700
    assert all(drawn(1, 100))


def test_a_fault_that_strikes_twice_is_gone_afterwards(lab: Lab) -> None:
    lab.world.faults["f"] = Fault(id="f", kind="fail", machines=["cp-1"], method="Bootstrap", times=2)
    path = "/machine.MachineService/Bootstrap"
    assert lab.world.strike("fail", "cp-2", path) is None
    assert lab.world.strike("fail", "cp-1", "/machine.MachineService/Version") is None
    assert [lab.world.strike("fail", "cp-1", path) is not None for _ in range(3)] == [True, True, False]
    assert lab.world.faults == {}


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*", "/machine.MachineService/Reboot", True),
        ("Etcd*", "/machine.MachineService/EtcdStatus", True),
        ("Reboot", "/machine.MachineService/Reboot", True),
        ("Boot", "/machine.MachineService/Reboot", False),
        ("/cosi.resource.State/*", "/cosi.resource.State/Get", True),
        ("/cosi.resource.State/*", "/machine.MachineService/Reboot", False),
    ],
)
def test_calls_are_chosen_by_name_or_path(pattern: str, path: str, matches: bool) -> None:
    assert Fault(id="f", kind="fail", method=pattern).matches(path) is matches


@pytest.mark.parametrize("wrong", [{"kind": "nonsense"}, {"percent": 0}, {"percent": 101}, {"times": 0}])
def test_a_fault_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Fault(id="f", **{"kind": "fail", **wrong})  # type: ignore[arg-type]


def test_a_partition_is_between_the_two_sides_only(lab: Lab) -> None:
    lab.create("a", "b", "c")
    add(lab, "partition", "a", others=["b"])
    talks = {(one, other): lab.world.talk(one, other) for one in "abc" for other in "abc"}
    assert {pair for pair, talk in talks.items() if not talk} == {("a", "b"), ("b", "a")}
    assert lab.world.talk(US, "a")


def test_a_partition_from_us_leaves_the_nodes_together(lab: Lab) -> None:
    lab.create("a", "b")
    add(lab, "partition", "a")
    assert not lab.world.talk(US, "a") and lab.world.talk("a", "b") and lab.world.talk(US, "b")


def test_a_cut_off_leader_is_no_leader_and_is_one_again(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1", "cp-2", "cp-3")
    old = lab.leader()
    others = [name for name in ("cp-1", "cp-2", "cp-3") if name != old]
    add(lab, "partition", old, others=others)
    assert lab.leader() in others
    member = cluster.find(old)
    assert member and cluster.followed_by(member, lab.world) == 0
    clear(lab)
    assert cluster.followed_by(member, lab.world) == cluster.leader


def test_a_hanging_machine_is_as_good_as_dead_until_it_is_not(lab: Lab) -> None:
    lab.cluster_of("cp-1", "cp-2", "cp-3")
    old = lab.leader()
    add(lab, "hang", old)
    assert lab.machine(old).on and lab.leader() not in ("", old)
    assert not lab.world.talk(US, old)
    clear(lab)
    assert lab.world.talk(US, old) and len(lab.etcd.voters) == 3


def test_a_machine_hangs_at_as_many_boots_as_asked(lab: Lab) -> None:
    lab.cluster_of("cp-1")
    machine = lab.machine("cp-1")
    add(lab, "boot-failure", "cp-1", times=2)
    came_up = []
    for _ in range(3):
        lifecycle.power_cycle(lab.world, machine)
        lab.run()
        came_up.append(booted(machine))
    assert came_up == [False, False, True]


def test_an_upgrade_that_does_not_come_up_falls_back(lab: Lab) -> None:
    lab.cluster_of("cp-1")
    machine = lab.machine("cp-1")
    add(lab, "rollback", "cp-1", times=1)
    sequences.request(lab.world, machine, "reboot")
    lab.run()
    assert machine.run and machine.run.version == NEW
    assert "f-0" in lab.world.faults, "an ordinary reboot does not use it up"
    lifecycle.write_slot(lab.world, machine, f"{INSTALLER}:v1.13.8")
    sequences.request(lab.world, machine, "reboot")
    lab.run()
    assert machine.run.version == NEW and machine.run.ready
    assert machine.system and machine.system.default == "A"


def test_a_wrong_clock_keeps_etcd_from_being_bootstrapped(lab: Lab) -> None:
    lab.create("cp-1")
    add(lab, "clock-skew", "cp-1", seconds=86_400)
    lab.configure("cp-1")
    machine = lab.machine("cp-1")
    with pytest.raises(joining.NotYet, match="time is not in sync"):
        joining.bootstrap(lab.world, machine)
    assert lab.world.clock_of(machine) == lab.clock.now + 86_400
    clear(lab)
    joining.bootstrap(lab.world, machine)
    lab.run()
    assert machine.run and machine.run.ready


def test_a_machine_without_network_is_seen_by_nobody(lab: Lab) -> None:
    lab.cluster_of("cp-1", "cp-2", "cp-3")
    victim = lab.leader()
    add(lab, "lost-network", victim)
    assert addresses(lab.world, lab.machine(victim)) == []
    assert lab.leader() not in ("", victim)
    assert dict(lab.machine(victim).run.unmet)["network"]  # type: ignore[union-attr]
    clear(lab)
    assert lab.machine(victim).run.ready  # type: ignore[union-attr]


def test_nothing_is_installed_on_a_full_disk(lab: Lab, configs: Configs) -> None:
    lab.cluster_of("cp-1")
    add(lab, "full-disk", "cp-1")
    with pytest.raises(sequences.SequenceFailed, match="no space left"):
        lifecycle.write_slot(lab.world, lab.machine("cp-1"), f"{INSTALLER}:v1.13.8")
