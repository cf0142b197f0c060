"""Trial machines on a real libvirtd: they tell whether machines run, and nothing of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from talosmith.model.machines import Owner
from talosmith.providers.libvirt.capabilities import capabilities
from talosmith.providers.libvirt.connection import Host, libvirt
from talosmith.providers.libvirt.domain import read
from talosmith.providers.libvirt.trial import Trials, trial_machine, try_out
from tests.real.libvirt.daemon import Daemon, running_daemon
from tests.real.libvirt.places import Place
from tests.waiting import PATIENCE, until

OWNER = Owner("tried", "00112233445566cc")
EMULATED = {"kind": "qemu", "arch": "x86_64", "machine": "q35", "cpu_model": "maximum"}
HANGING = 'rebootTimeout="0"'


def hanging_machine() -> str:
    """One whose firmware waits for ever when it finds nothing to boot."""
    machine = trial_machine(EMULATED, OWNER)
    assert machine.count(HANGING) == 1
    return machine.replace(HANGING, "")


def left(daemon: Daemon) -> list[str]:
    """Domains and processes of trials."""
    connection = libvirt().open(daemon.uri)
    names = [one.name() for one in connection.listAllDomains() if one.name().startswith("talosmith-trial")]
    return names + [line for line in daemon.run("ps", "ax").splitlines() if "guest=talosmith-trial" in line]


def test_emulated_machines_run_and_are_tried_once(daemon: Daemon) -> None:
    host = Host(daemon.uri)
    hardware = capabilities(libvirt().open(daemon.uri)).hardware("amd64", "auto", None)
    assert hardware == EMULATED, "the daemon was to see no KVM"
    trials = Trials(host, OWNER)
    first = trials.of(hardware)
    assert first.runs and "ran its firmware in" in first.evidence
    assert trials.of(hardware) is first
    assert not left(daemon)


def test_what_is_offered_but_not_there_does_not_start(daemon: Daemon) -> None:
    trial = Trials(Host(daemon.uri), OWNER).of({**EMULATED, "kind": "kvm"})
    assert trial.runs is False and "does not start" in trial.evidence
    assert not left(daemon)


def test_where_nothing_starts_kvm_is_not_to_blame(daemon: Daemon) -> None:
    trial = Trials(Host(daemon.uri), OWNER).of({**EMULATED, "kind": "kvm", "machine": "no-such-board"})
    assert trial.runs is None and "does not start" in trial.evidence


def test_a_machine_that_hangs_is_told_in_time(daemon: Daemon) -> None:
    began = time.monotonic()
    trial = try_out(daemon.uri, hanging_machine(), to_start=PATIENCE, to_run=1.0)
    assert trial.runs is False and "did not get through its firmware in 1 s" in trial.evidence
    assert time.monotonic() - began < PATIENCE
    assert not left(daemon)


def test_a_machine_that_does_not_start_in_time(daemon: Daemon) -> None:
    """libvirt answers late, or never; what it starts after all goes again."""
    machine = hanging_machine()
    with asleep(daemon):
        trial = try_out(daemon.uri, machine, to_start=0.0, to_run=0.01)
    assert trial.runs is None and "had not started" in trial.evidence
    (trying,) = (one for one in threading.enumerate() if one.name == "trial machine")
    trying.join(PATIENCE)
    assert (daemon.folder / "log" / "qemu" / f"{read(machine).name}.log").exists(), "it was never started"
    assert not left(daemon)


@contextmanager
def asleep(daemon: Daemon) -> Iterator[None]:
    """libvirtd takes connections, and does nothing."""
    libvirtd = (daemon.folder / "run" / "libvirtd.pid").read_text().strip()
    daemon.run("kill", "-STOP", libvirtd)
    try:
        yield
    finally:
        daemon.run("kill", "-CONT", libvirtd)


@pytest.mark.parametrize("how", ["dies", "stops"])
def test_a_machine_that_fails_within(daemon: Daemon, how: str) -> None:
    """QEMU ends, or stops it: as it does when KVM reports an error of its own."""
    machine = hanging_machine()
    name = read(machine).name

    def harm() -> None:
        connection = libvirt().open(daemon.uri)
        until(lambda: name in [one.name() for one in connection.listAllDomains()])
        domain = connection.lookupByName(name)
        until(lambda: domain.state()[0] == libvirt().VIR_DOMAIN_RUNNING)
        if how == "stops":
            domain.suspend()
        else:
            daemon.run("kill", "-9", Path(daemon.folder, f"run/qemu/{name}.pid").read_text().strip())

    with ThreadPoolExecutor(1) as pool:
        harming = pool.submit(harm)
        trial = try_out(daemon.uri, machine, to_start=PATIENCE, to_run=PATIENCE)
        harming.result()
    assert trial.runs is False and {"dies": "QEMU ended", "stops": "QEMU stopped"}[how] in trial.evidence
    assert not left(daemon)


async def test_kvm_is_used_where_it_works_and_named_where_not(
    daemon: Daemon, subnet: str, halting_image: Path, tmp_path: Path
) -> None:
    """Whatever is true of this computer: QEMU itself, asked without libvirt, is the judge."""
    works = _qemu_runs_by_kvm()
    with running_daemon(kvm=True) as own:
        offered = "kvm" in capabilities(libvirt().open(own.uri)).kinds["x86_64"]
        assert offered or not works
        for domain_type, unusable in (("auto", "warning"), ("kvm", "error")):
            place = Place(own, subnet, halting_image, tmp_path / domain_type, domain_type=domain_type)
            await place.provider.find()
            await place.provider.preflight([])
            assert not place.provider._trials._done, "tried though no machine is to be made"
            found = {one.check: one for one in await place.provider.preflight([place.spec()])}["virtualisation"]
            slow = "far slower" in found.cause  # so is a host that is busy
            assert (found.level == unusable and not slow) is not works, found
            if offered and not works:
                assert "offers KVM, but no machine runs with it" in found.cause and "trial" in found.evidence
            if works or domain_type == "auto":
                machine = await place.create()
                described = read(place.connection.lookupByUUIDString(machine.id).XMLDesc(0))
                assert described.kind == ("kvm" if works else "qemu")
            await place.end()
        assert not left(own)


def _qemu_runs_by_kvm() -> bool:
    """Firmware alone, which ends when it has found nothing to boot."""
    command = "qemu-system-x86_64 -accel kvm -cpu host -machine q35 -m 32 -nodefaults -display none -no-reboot"
    try:
        done = subprocess.run([*command.split(), "-boot", "reboot-timeout=0"], capture_output=True, timeout=8)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def test_who_is_killed_leaves_no_trial_machine(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "machine.xml").write_text(hanging_machine())
    script = (
        "import sys, pathlib; from talosmith.providers.libvirt.trial import try_out; "
        "try_out(sys.argv[1], pathlib.Path(sys.argv[2]).read_text(), to_run=600)"
    )
    process = subprocess.Popen([sys.executable, "-c", script, daemon.uri, tmp_path / "machine.xml"])
    try:
        until(lambda: bool(left(daemon)))
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    until(lambda: not left(daemon))


def test_a_trial_machine_is_nobodys_machine() -> None:
    described = read(trial_machine(EMULATED, OWNER))
    assert not described.tags and not described.is_of(OWNER)
    assert not described.disks and not described.link
