"""Labs in the background: started, found again, side by side, stopped."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from talosmith.errors import Permanent, Temporary, UsageError
from talosmith.providers.lab import process
from talosmith.providers.lab.process import Made, Place
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def state(tmp_path: Path, network: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Labs of this test's own, with networks that are not the first of all others, too."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(process, "FIRST_NETWORK", int(network.split(".")[1]) - 10)
    yield tmp_path / "state"
    for place in process.labs():
        process.stop(place.name, delete=True)


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "talosmith", "lab", *arguments], capture_output=True, text=True, timeout=PATIENCE
    )


def test_a_lab_is_started_once_and_stays_as_it_was_made(state: Path) -> None:
    with ThreadPoolExecutor() as threads:  # two people at once
        first, second = threads.map(lambda _: process.start("one", Made(clock="instant", seed=5)), range(2))
    assert (first.host, first.port) == (second.host, second.port)
    assert first.status()["seed"] == 5
    with pytest.raises(UsageError, match="was created with clock instant"):
        process.start("one", Made(clock="fast"))
    folder = Place("one").folder
    assert folder.stat().st_mode & 0o777 == 0o700
    for file in folder.iterdir():
        assert file.stat().st_mode & 0o077 == 0, file
    assert first.token.reveal() in Place("one").running_file.read_text(encoding="utf-8")
    assert first.token.reveal() not in repr(first)
    process.stop("one")
    assert not Place("one").runs() and Place("one").exists()
    with pytest.raises(UsageError, match="lab 'one' is stopped"):
        Place("one").client()
    again = process.start("one")
    assert again.status()["seed"] == 5 and again.token != first.token
    with pytest.raises((Permanent, Temporary)):
        first.status()


def test_two_labs_side_by_side_have_networks_of_their_own() -> None:
    one, two = (process.start(name, Made(clock="instant")) for name in ("one", "two"))
    machines = [lab.create_machine("cp-1") for lab in (one, two)]
    assert one.status()["network"] != two.status()["network"]
    assert machines[0]["address"] != machines[1]["address"]
    one.delete("cp-1")
    assert one.machines() == [] and len(two.machines()) == 1
    assert [place.name for place in process.labs()] == ["one", "two"]
    assert process.stop("one", delete=True) and not process.stop("one", delete=True)
    assert [place.name for place in process.labs()] == ["two"]


def test_two_labs_that_are_made_at_once_have_networks_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    choose, both = process._network, threading.Barrier(2)

    def watched(wanted: str) -> str:
        chosen = choose(wanted)
        with suppress(threading.BrokenBarrierError):
            both.wait(1)  # the other one chooses in the same moment, if it can
        return chosen

    monkeypatch.setattr(process, "_network", watched)
    with ThreadPoolExecutor() as threads:
        labs = list(threads.map(lambda name: process.start(name, Made(clock="instant")), ("one", "two")))
    assert len({lab.status()["network"] for lab in labs}) == 2


def test_a_lab_that_is_gone_is_not_started_again() -> None:
    assert process.start_again("one") is None
    assert not process.labs_folder().exists()
    process.start("one", Made(clock="instant", seed=5))
    process.stop("one")
    again = process.start_again("one")
    assert again is not None and again.status()["seed"] == 5
    process.stop("one", delete=True)
    assert process.start_again("one") is None and process.labs() == []


def test_a_lab_that_was_killed_is_found_to_be_dead_and_comes_back() -> None:
    lab = process.start("one", Made(clock="instant"))
    lab.create_machine("cp-1", tags={"cluster": "a"})
    data = json.loads(Place("one").running_file.read_text(encoding="utf-8"))
    os.kill(data["pid"], signal.SIGKILL)
    until(lambda: not Place("one").runs())
    # What it wrote about itself is still there, and says nothing.
    assert Place("one").running_file.exists()
    assert json.loads(command("status", "one", "-o", "json").stdout)["labs"][0]["state"] == "stopped"
    (machine,) = process.start("one").machines()
    assert machine["name"] == "cp-1" and machine["tags"] == {"cluster": "a"}


def test_a_lab_that_does_not_listen_is_stopped_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    process.start("one", Made(clock="instant"))
    data = json.loads(Place("one").running_file.read_text(encoding="utf-8"))
    monkeypatch.setattr(process, "_STOP", 1.0)
    monkeypatch.setattr("talosmith.providers.lab.client._PATIENCE", 0.5)
    os.kill(data["pid"], signal.SIGSTOP)
    until(lambda: process_state(data["pid"]) == "T")
    with pytest.raises(Temporary):
        Place("one").client().status()
    assert process.stop("one")
    assert not Place("one").runs()


def test_a_lab_that_ends_while_it_is_stopped_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    process.start("one", Made(clock="instant"))
    process.stop("one")
    runs, ran = Place.runs, iter([True])  # when it was asked first
    monkeypatch.setattr(Place, "runs", lambda place: next(ran, runs(place)))
    assert process.stop("one", delete=True)
    assert process.labs() == []


def test_a_lab_whose_folder_is_deleted_by_hand_ends() -> None:
    process.start("one", Made(clock="instant"))
    folder = Place("one").folder
    pid = json.loads(Place("one").running_file.read_text())["pid"]
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)  # a lab that ends in this moment takes away some of it itself
    until(lambda: process_state(pid) in "Z")  # it may wait for who has started it to take note
    assert not folder.exists()


def process_state(pid: int) -> str:
    """One letter; empty if there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_who_looks_is_not_taken_for_the_lab(monkeypatch: pytest.MonkeyPatch) -> None:
    process.start("one", Made(clock="instant"))
    process.stop("one")
    lock, others = process._lock, list[bool]()

    def watched(*arguments: int) -> bool:
        got = lock(*arguments)
        monkeypatch.setattr(process, "_lock", lock)
        others.append(Place("one").runs())  # somebody else looks in the same moment
        return got

    monkeypatch.setattr(process, "_lock", watched)
    assert not Place("one").runs()
    assert others == [False]


def test_a_lab_that_cannot_start_says_why() -> None:
    process.start("one", Made(clock="instant"))
    process.stop("one")
    (Place("one").folder / "world.db").write_bytes(b"not a database, but long enough to be one" * 100)
    with pytest.raises(Permanent, match=r"did not start: .*not a database"):
        process.start("one")


def test_what_people_get_wrong() -> None:
    for arguments, code, message in (
        (("stop", "nothing"), 64, "lab 'nothing' does not exist"),
        (("status", "nothing"), 64, "lab 'nothing' does not exist"),
        (("start", "../up"), 64, "is not a valid name of a lab"),
        (("start", "one", "--network", "192.0.2.0/24"), 64, "is not a part of 127.0.0.0/8"),
        (("start", "one", "--clock", "slow"), 64, "one of instant, fast, realistic"),
        (("machine", "list"), 64, "does not exist"),
        (("fault", "add"), 64, "KIND"),
    ):
        said = command(*arguments)
        assert said.returncode == code, said.stderr
        assert message in said.stderr


def test_the_commands_end_to_end(network: str) -> None:
    assert network in command("start", "lab", "--clock", "instant", "--network", network).stdout
    made = command("machine", "create", "cp-1", "w-1", "--disk", "10", "--disk", "5", "--tag", "rack=a", "-o", "json")
    assert [len(one["disks"]) for one in json.loads(made.stdout)["machines"]] == [2, 2]
    until(lambda: command("machine", "list").stdout.count("maintenance") == 2)
    assert command("machine", "create", "cp-1").returncode == 1
    assert "hang on w-1" in command("fault", "add", "hang", "w-1").stdout
    assert command("fault", "add", "hang", "w-9").returncode == 1
    assert "hang on w-1" in command("fault", "list").stdout
    assert "1 faults" in command("status").stdout
    assert command("fault", "clear").returncode == 0
    assert "off" in command("machine", "power-off", "w-1").stdout
    assert "booting" in command("machine", "power-on", "w-1").stdout
    assert command("machine", "reboot", "w-1").returncode == 0
    assert "off" in command("machine", "wipe", "w-1").stdout
    assert "deleted: w-1" in command("machine", "delete", "w-1").stdout
    assert command("stop", "lab", "--delete").returncode == 0
    assert "no labs" in command("status").stdout
