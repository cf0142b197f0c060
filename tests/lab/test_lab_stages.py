"""A machine's life: power, boot, install, run, reboot, upgrade, reset."""

from __future__ import annotations

import pytest

from talosmith_lab import configure, hardware, joining, lifecycle, sequences, settle
from talosmith_lab.checks import Invalid
from talosmith_lab.faults import Fault
from talosmith_lab.machine import Machine
from talosmith_lab.resources import list_resources
from tests.lab.lab_worlds import INSTALLER, NEW, OLD, Configs, Lab


def services(machine: Machine) -> dict[str, str]:
    return {name: service.state for name, service in machine.run.services.items()} if machine.run else {}


def stage(machine: Machine) -> str:
    return machine.run.stage if machine.run else ""


@pytest.mark.parametrize(
    ("which", "version", "on_the_way"), [("lab", NEW, ["BOOTING", "REBOOTING"]), ("old_lab", OLD, ["INSTALLING"])]
)
def test_from_power_on_to_running(
    request: pytest.FixtureRequest, which: str, version: str, on_the_way: list[str]
) -> None:
    """Talos 1.14 has no stage for an installation: a controller does it while the node boots."""
    lab: Lab = request.getfixturevalue(which)
    (machine,) = lab.create("w-1")
    assert stage(machine) == "maintenance"
    assert machine.system is None
    assert "kubelet" not in services(machine)
    lab.cluster_of("cp-1")
    lab.configure("w-1")
    machine = lab.machine("w-1")
    assert stage(machine) == "running" and machine.run and machine.run.ready
    assert machine.system and machine.system.device == "/dev/vda" and machine.system.slots["A"].version == version
    assert machine.boots == 2  # once from the image, once from disk
    assert lab.stages("w-1") == ["BOOTING", "MAINTENANCE", *on_the_way, "BOOTING", "RUNNING"]
    assert set(services(machine).values()) == {"Running"}


def test_a_control_plane_boots_until_etcd_is_there(lab: Lab) -> None:
    lab.create("cp-1")
    lab.configure("cp-1")
    machine = lab.machine("cp-1")
    assert machine.run and machine.run.stage == "booting" and not machine.run.ready
    assert services(machine)["etcd"] == "Preparing"
    assert dict(machine.run.unmet)["services"] == "etcd not running"


def test_a_worker_has_no_api_until_a_control_plane_signs_its_certificate(lab: Lab) -> None:
    lab.create("cp-1", "w-1")
    lab.configure("w-1")
    worker = lab.machine("w-1")
    assert services(worker)["apid"] == "Waiting"
    assert worker.service("apid").events[-1].message == "Waiting for api certificates"  # type: ignore[union-attr]
    lab.configure("cp-1")
    assert services(worker)["apid"] == "Running"


def test_power_loss_takes_what_runs_and_leaves_the_disk(lab: Lab) -> None:
    lab.cluster_of("cp-1")
    machine = lab.machine("cp-1")
    before = machine.run.boot_id if machine.run else ""
    lifecycle.power_off(lab.world, machine)
    lab.run()
    assert not machine.on and lab.leader() == ""
    lifecycle.power_on(lab.world, machine)
    lab.run()
    assert machine.run and machine.run.boot_id != before
    assert machine.run.stage == "running" and machine.run.ready
    assert lab.leader() == "cp-1"


def test_an_orderly_shutdown_stops_services_first(lab: Lab) -> None:
    lab.cluster_of("cp-1")
    lab.world.records.clear()
    sequences.request(lab.world, lab.machine("cp-1"), "shutdown", takeover=True, drain=True)
    lab.run()
    assert not lab.machine("cp-1").on
    tasks = [one["task"] for one in lab.events("cp-1", "TaskEvent") if one["action"] == "START"]
    assert tasks == ["cordonAndDrainNode", "stopAllPods", "stopServicesEphemeral", "stopAllServices", "shutdown"]


def test_a_disk_that_is_not_there_ends_in_maintenance_mode_again_up_to_1_13(old_lab: Lab) -> None:
    lab = old_lab
    (machine,) = lab.create("w-1")
    text = lab.configs.text("worker", "w-1").replace("/dev/vda", "/dev/sdz")
    configure.apply(lab.world, machine, text, "AUTO")
    lab.run()
    assert machine.run and machine.run.stage == "maintenance" and machine.system is None
    errors = [one for one in lab.events("w-1", "SequenceEvent") if "error" in one]
    assert '/dev/sdz" exists' in str(errors)


def installation(lab: Lab, name: str) -> tuple[object, object]:
    (found,) = list_resources(lab.world, lab.machine(name), "UnattendedInstallStatuses.runtime.talos.dev")
    return found.spec.get("phase"), found.spec.get("error")


def test_talos_1_14_waits_for_a_disk_that_is_not_there(lab: Lab) -> None:
    (machine,) = lab.create("cp-1")
    text = lab.configs.text("controlplane", "cp-1")
    configure.apply(lab.world, machine, text.replace("/dev/vda", "/dev/sdz"), "AUTO")
    lab.run()
    assert stage(machine) == "booting" and machine.system is None and machine.boots == 1
    assert installation(lab, "cp-1") == (None, "no disk matched the selector")  # the first phase is left out
    with pytest.raises(joining.NotYet, match="bootstrap is not available yet"):
        joining.bootstrap(lab.world, machine)
    configure.apply(lab.world, machine, text, "AUTO")
    lab.run()
    assert machine.boots == 2 and machine.system is not None
    assert installation(lab, "cp-1") == ("installed", None)


def test_talos_1_14_tries_an_installation_again_that_failed(lab: Lab) -> None:
    lab.world.faults["full"] = Fault(id="full", kind="full-disk")
    lab.create("w-1")
    lab.configure("w-1")
    assert lab.machine("w-1").system is None
    assert installation(lab, "w-1")[0] == "failed" and "no space left" in str(installation(lab, "w-1")[1])
    del lab.world.faults["full"]
    settle.resume(lab.world)
    lab.run()
    assert installation(lab, "w-1") == ("installed", None)


def test_without_a_reboot_talos_1_14_goes_on_where_it_is(lab: Lab) -> None:
    (machine,) = lab.create("w-1")
    kind = "kind: UnattendedInstallConfig\n"
    text = lab.configs.text("worker", "w-1").replace(kind, f"{kind}reboot: false\n")
    configure.apply(lab.world, machine, text, "AUTO")
    lab.run()
    assert machine.boots == 1 and machine.system is not None and installation(lab, "w-1") == ("installed", None)
    assert "sandboxd" in services(machine)


def test_a_node_of_1_13_knows_nothing_of_unattended_installations(old_lab: Lab) -> None:
    old_lab.create("w-1")
    with pytest.raises(KeyError):
        list_resources(old_lab.world, old_lab.machine("w-1"), "UnattendedInstallStatuses.runtime.talos.dev")


def test_a_machine_that_comes_with_a_config_needs_nobody(lab: Lab) -> None:
    lab.cluster_of("cp-1")
    lab.create("w-1", config=lab.configs.text("worker", "w-1"))
    lab.create("w-2", config=lab.configs.text("worker", "w-2"), platform="nocloud")
    for name, boots in (("w-1", 2), ("w-2", 1)):  # a disk image is installed already
        machine = lab.machine(name)
        assert machine.run and machine.run.ready and machine.boots == boots


def test_a_config_that_is_no_good_is_not_booted_with(lab: Lab) -> None:
    (machine,) = lab.create("w-1", config="machine:\n  nonsense: true\n")
    assert machine.run and machine.run.stage == "maintenance"
    (event,) = lab.events("w-1", "ConfigValidationErrorEvent")
    assert "nonsense" in str(event["error"])


def test_upgrade_goes_to_the_other_slot_and_rollback_comes_back(lab: Lab) -> None:
    lab.cluster_of("cp-1")
    machine = lab.machine("cp-1")
    lifecycle.write_slot(lab.world, machine, f"{INSTALLER}:v1.13.8")
    assert machine.run and machine.run.version == NEW  # until it boots
    sequences.request(lab.world, machine, "reboot")
    lab.run()
    assert machine.run.version == "v1.13.8" and machine.run.slot == "B"
    assert machine.system and machine.system.etcd and machine.run.ready  # the data is still there
    assert machine.system.slots["A"].version == NEW


def test_the_old_way_to_upgrade_reboots_by_itself(lab: Lab) -> None:
    lab.cluster_of("cp-1")
    sequences.request(lab.world, lab.machine("cp-1"), "upgrade", image=f"{INSTALLER}:v1.13.8", drain=True)
    lab.run()
    assert lab.machine("cp-1").run.version == "v1.13.8"  # type: ignore[union-attr]
    assert "UPGRADING" in lab.stages("cp-1")


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (f"{INSTALLER}:v1.10.0", "too new"),
        (INSTALLER, "has no tag"),
        (f"{INSTALLER}:latest", "not a version"),
    ],
)
def test_an_image_that_does_not_run_here_is_not_installed(lab: Lab, image: str, why: str) -> None:
    lab.cluster_of("cp-1")
    with pytest.raises(sequences.SequenceFailed, match=why):
        lifecycle.write_slot(lab.world, lab.machine("cp-1"), image)
    assert lab.machine("cp-1").system.default == "A"  # type: ignore[union-attr]


def test_a_staged_upgrade_is_done_at_the_next_boot(lab: Lab) -> None:
    lab.cluster_of("cp-1")
    machine = lab.machine("cp-1")
    machine.system.staged_image = f"{INSTALLER}:v1.13.8"  # type: ignore[union-attr]
    sequences.request(lab.world, machine, "stageUpgrade")
    lab.run()
    assert machine.run and machine.run.version == "v1.13.8" and machine.run.ready


def test_reset_of_the_whole_disk_leaves_nothing(lab: Lab) -> None:
    lab.cluster_of("cp-1", "cp-2", "cp-3")
    machine = lab.machine("cp-3")
    sequences.request(lab.world, machine, "reset", leave=True, reboot=True, system=True, partitions=[])
    lab.run()
    assert machine.run and machine.run.stage == "maintenance" and machine.system is None
    assert {member.machine for member in lab.etcd.members.values()} == {"cp-1", "cp-2"}


def test_reset_of_ephemeral_alone_keeps_the_config_and_the_node_joins_again(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1", "cp-2", "cp-3")
    machine, old = lab.machine("cp-3"), cluster.find("cp-3")
    sequences.request(lab.world, machine, "reset", leave=False, reboot=True, system=False, partitions=["EPHEMERAL"])
    lab.run()
    assert machine.run and machine.run.ready
    new = cluster.find("cp-3")
    assert old and new and new.id != old.id and not new.learner
    assert len(cluster.members) == 3  # the stale one was removed by the one that joined


def test_a_reset_that_cannot_leave_etcd_stops_there(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1")
    sequences.request(lab.world, lab.machine("cp-1"), "reset", leave=True, reboot=True, system=True, partitions=[])
    lab.run()
    machine = lab.machine("cp-1")
    assert machine.system is not None and machine.run and machine.run.stage == "running"
    assert len(cluster.members) == 1
    errors = [one["error"] for one in lab.events("cp-1", "SequenceEvent") if "error" in one]
    assert "failed to leave cluster" in str(errors)


def test_one_sequence_at_a_time(configs: Configs) -> None:
    lab = Lab(configs, "realistic")
    lab.cluster_of("cp-1")
    machine = lab.machine("cp-1")
    lab.world.records.clear()
    sequences.request(lab.world, machine, "upgrade", image=f"{INSTALLER}:v1.13.8")
    lab.run(0.1)
    sequences.request(lab.world, machine, "reset", reboot=True, system=True)
    assert machine.run and machine.run.sequence and machine.run.sequence.name == "upgrade"
    assert {"code": "LOCKED", "message": "sequence not started: locked"} in [
        one.get("error") for one in lab.events("cp-1", "SequenceEvent")
    ]


def test_the_realistic_clock_takes_about_ten_minutes_for_a_first_cluster(configs: Configs) -> None:
    lab = Lab(configs, "realistic")
    start = lab.clock.now
    lab.create("cp-1", "w-1", "w-2")
    assert 35 < lab.clock.now - start < 120, "power-on to maintenance mode"
    applied = lab.clock.now
    lab.configure("cp-1", "w-1", "w-2")
    assert 60 < lab.clock.now - applied < 240, "install and boot from disk"
    bootstrapped = lab.clock.now

    joining.bootstrap(lab.world, lab.machine("cp-1"))
    lab.run()
    assert 70 < lab.clock.now - bootstrapped < 180, "etcd and the Kubernetes API"


@pytest.mark.slow
def test_the_same_seed_gives_the_same_history(configs: Configs) -> None:
    def history(seed: int) -> list[object]:
        lab = Lab(configs, "realistic", seed)
        lab.cluster_of("cp-1", "cp-2", "cp-3", "w-1")
        return [(one.machine, one.at, one.text, one.kind, str(one.payload), one.id) for one in lab.world.records]

    assert history(7) == history(7)
    assert history(7) != history(8)


@pytest.mark.parametrize(("late", "lost"), [(0.0, 0.0), (0.4, 0.4), (5.0, 20.0)])
def test_being_late_with_one_thing_does_not_make_all_others_late(configs: Configs, late: float, lost: float) -> None:
    """Unless the lab stood still: then it goes on from where it was."""

    def boots(late: float) -> float:
        lab = Lab(configs, "realistic")
        lifecycle.power_on(lab.world, hardware.create(lab.world, "w-1"))
        settle.settle(lab.world)
        began, steps = lab.clock.now, 0
        while (due := lab.world.timeline.next_due()) is not None:
            lab.clock.now = max(lab.clock.now, due + late)
            assert settle.next_thing(lab.world)
            steps += 1
        assert steps > 8
        return lab.clock.now - began

    assert boots(late) - boots(0.0) == pytest.approx(lost, abs=lost / 2)


def test_a_deleted_machine_is_a_member_that_never_comes_back(lab: Lab) -> None:
    cluster = lab.cluster_of("cp-1", "cp-2", "cp-3")
    hardware.delete(lab.world, lab.machine("cp-2"))
    lab.run()
    gone = next(member for member in cluster.members.values() if member.machine == "cp-2")
    assert not cluster.followed_by(gone, lab.world)
    assert cluster.leader


def test_etcd_on_a_partition_of_its_own_outlives_a_reset_of_ephemeral(lab: Lab) -> None:
    """As on Talos 1.14 with a VolumeConfig for ETCD."""
    volume = "apiVersion: v1alpha1\nkind: VolumeConfig\nname: ETCD\nprovisioning:\n    minSize: 1GiB\n"
    (machine,) = lab.create("cp-1")
    configure.apply(lab.world, machine, lab.configs.text("controlplane", "cp-1", volume), "AUTO")
    lab.run()
    joining.bootstrap(lab.world, machine)
    lab.run()
    found = {one.id: one.spec for one in list_resources(lab.world, machine, "VolumeStatuses.block.talos.dev")}
    assert (found["ETCD"]["type"], found["ETCD"]["location"]) == ("partition", "/dev/vda5")
    assert found["CRI"] == found["KUBELET"] == found["LOG"] == {"phase": "ready", "type": "directory"}
    for partitions, data in ((["EPHEMERAL"], True), (["EPHEMERAL", "ETCD"], False)):
        sequences.request(lab.world, machine, "reset", leave=False, reboot=True, system=False, partitions=partitions)
        lab.run()
        assert machine.system is not None and (machine.system.etcd is not None) is data


def test_whether_a_system_volume_has_a_partition_does_not_change(lab: Lab) -> None:
    lab.create("w-1")
    lab.configure("w-1")
    volume = "apiVersion: v1alpha1\nkind: VolumeConfig\nname: LOG\nprovisioning:\n    minSize: 1GiB\n"
    with pytest.raises(Invalid, match='the backing of the "LOG" system volume cannot be changed after creation'):
        configure.apply(lab.world, lab.machine("w-1"), lab.configs.text("worker", "w-1", volume), "AUTO")
