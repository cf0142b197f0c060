"""Every command of the real `talosctl` against a running lab: what works, what is refused, what is not there."""

from __future__ import annotations

import re
import shlex
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith.model.versions import Version, line_text
from tests.real.lab.lab_cluster import PATIENCE, LabCluster

COMMANDS: dict[str, Any] = yaml.safe_load(Path(__file__).with_name("commands.yaml").read_text(encoding="utf-8"))


def parts(command: str) -> list[str]:
    """Words, but JSON stays in one piece."""
    head, brace, tail = command.partition(" -p ")
    return [*shlex.split(head), *(["-p", tail] if brace else [])]


def problem_with(running: LabCluster, entry: dict[str, Any]) -> str:
    said = running.ctl(*parts(entry["run"]))
    expected = entry.get("ends", 0)
    if said.code != expected:
        return f"{entry['run']} ended with {said.code}: {said.all}"
    for pattern in entry["says"]:
        if not re.search(running.filled(pattern), said.all, re.MULTILINE):
            return f"{entry['run']} does not say {pattern!r}: {said.all}"
    return ""


def about(lab: LabCluster, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that are about the version that the lab's nodes run."""
    line = line_text(Version.parse(lab.talos).line)
    return [entry for entry in entries if entry.get("only", line) == line]


@pytest.mark.parametrize("group", COMMANDS["works"])
def test_works(either: LabCluster, group: str) -> None:
    problems = [problem_with(either, entry) for entry in about(either, COMMANDS["works"][group])]
    assert not list(filter(None, problems))


def test_is_refused(either: LabCluster) -> None:
    for entry in about(either, COMMANDS["refuses"]):
        said = either.ctl(*parts(entry["run"]))
        assert said.code != 0, entry["run"]
        assert re.search(entry["says"], said.all), f"{entry['run']}: {said.all}"


def test_is_not_there(either: LabCluster) -> None:
    for entry in about(either, COMMANDS["cannot"]):
        said = either.ctl(*parts(entry["run"]))
        assert entry["why"]
        assert said.code in entry.get("ends", [1]), f"{entry['run']} works now"
        assert re.search(either.filled(entry["says"]), said.all), f"{entry['run']}: {said.all}"


def test_what_was_fetched_is_good(running: LabCluster) -> None:
    running.done("kubeconfig", "<folder>/fetched")
    fetched = yaml.safe_load((running.folder / "fetched").read_text(encoding="utf-8"))
    assert fetched["current-context"] == f"admin@{running.name}"
    assert fetched["clusters"][0]["cluster"]["server"] == running.cluster.endpoint.url
    running.done("copy", "/etc/hostname", "<folder>/copied-name")
    (copied,) = (running.folder / "copied-name").iterdir()
    assert copied.read_text(encoding="utf-8") == "cp-1\n"


def test_a_reader_reads_and_nothing_else(running: LabCluster) -> None:
    running.done("config", "new", "<folder>/only-reads", "--roles", "os:reader", "--crt-ttl", "1h")
    reader = ("--talosconfig", "<folder>/only-reads", "-e", "<cp-1>", "-n", "<w-1>")
    assert running.talos in running.done("version", *reader)
    running.done("get", "members", *reader)
    for denied in (["reboot", "--wait=false"], ["get", "machineconfig"], ["read", "/etc/hostname"]):
        said = running.ctl(*denied, *reader)
        assert said.code != 0 and "PermissionDenied" in said.all, said.all


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["events", "-n", "<w-2>"], "Service finished successfully"),
        (["get", "services", "-w", "-n", "<w-2>"], "kubelet +\\d+ +false"),
        (["dmesg", "--follow", "--tail", "-n", "<w-2>"], "service\\[kubelet\\]\\(Finished\\)"),
        (["logs", "kubelet", "--follow", "-n", "<w-2>"], "Service finished successfully"),
    ],
    ids=["events", "watch", "dmesg", "logs"],
)
def test_what_happens_is_told_as_it_happens(running: LabCluster, command: list[str], expected: str) -> None:
    watcher = running.watching(*command)
    killer = threading.Timer(PATIENCE, watcher.kill)
    killer.start()
    told = threading.Event()

    def restart() -> None:
        """Again and again: not all of them say when they have begun to listen."""
        while not told.wait(1):
            running.ctl("service", "kubelet", "restart", "-n", "<w-2>")

    restarting = threading.Thread(target=restart)
    restarting.start()
    try:
        assert watcher.stdout is not None
        lines = []
        for line in watcher.stdout:
            lines.append(line)
            if re.search(expected, line):
                return
        pytest.fail("".join(lines))
    finally:
        told.set()
        restarting.join()
        killer.cancel()
        watcher.kill()
        watcher.wait()
