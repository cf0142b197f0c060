"""Looking into nodes with the command line: logs, kernel messages, services, events; nodes that are off, too."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest
import yaml

from tests.lab.up.places import Ended, Here, Running
from tests.waiting import until

pytestmark = pytest.mark.slow


def told(ended: Ended) -> list[dict[str, Any]]:
    assert ended.code == 0, ended.said
    return [json.loads(line) for line in ended.out.splitlines()]


def brought_up(here: Here, controlplanes: int = 1, workers: int = 1) -> Here:
    here.write(controlplanes, workers)
    ended = here.up()
    assert ended.code == 0, ended.said
    return here


def interrupted(running: Running) -> Ended:
    running.signal(signal.SIGINT)
    return running.wait()


def test_logs_kernel_messages_and_services_of_a_node(here: Here) -> None:
    brought_up(here)
    log = here.run("node", "logs", "cp-1", "etcd")
    assert log.code == 0 and "Started task etcd" in log.out, log.said
    assert "Started task kubelet" not in log.out
    (last,) = told(here.run("node", "logs", "cp-1", "etcd", "--tail", "1", "-o", "json"))
    assert (last["kind"], last["node"], last["service"]) == ("LogLine", "cp-1", "etcd")
    assert last["line"] == log.out.splitlines()[-1]

    every = here.run("node", "logs", "w-1", "--tail", "1")
    assert every.code == 0, every.said
    assert {line.partition("|")[0].strip() for line in every.out.splitlines()} >= {"kubelet", "machined", "apid"}

    container = here.run("node", "logs", "-k", "cp-1", "apiserver")
    assert container.code == 0 and container.out.endswith("started\n"), container.said

    kernel = here.run("node", "dmesg", "w-1")
    assert "Linux version" in kernel.out and "boot sequence: done" in kernel.out, kernel.said
    assert {one["kind"] for one in told(here.run("node", "dmesg", "w-1", "-o", "json"))} == {"KernelMessage"}

    services = json.loads(here.run("node", "services", "cp-1", "-o", "json").out)
    etcd = next(one for one in services["services"] if one["service"] == "etcd")
    assert (services["kind"], etcd["state"], etcd["health"]) == ("Services", "Running", "healthy")
    table = here.run("node", "services", "cp-1").out
    assert table.startswith("SERVICE") and "etcd " in table


def test_typing_errors_are_met_with_what_exists(here: Here) -> None:
    brought_up(here)
    node = here.run("node", "dmesg", "cp1")
    assert node.code == 64 and "did you mean `cp-1`?" in node.err, node.said
    service = here.run("node", "logs", "cp-1", "kublet")
    assert service.code == 64 and "did you mean `kubelet`?" in service.err, service.said
    unknown = here.run("node", "logs", "cp-1", "zzz")
    assert unknown.code == 64 and "services: apid," in unknown.err, unknown.said
    container = here.run("node", "logs", "-k", "cp-1", "zzz")
    assert container.code == 64 and "kube-apiserver-cp-1" in container.err, container.said


def test_a_node_that_is_off_or_in_maintenance_mode(here: Here) -> None:
    brought_up(here)
    here.lab.power_off("w-1")
    for command in (("logs", "w-1"), ("dmesg", "w-1"), ("services", "w-1")):
        off = here.run("node", *command)
        assert off.code == 1 and "w-1: the machine is powered off" in off.err, off.said
        assert f"`talosmith node console -i {here.folder} w-1`" in off.err
    here.lab.wipe("w-1")
    here.lab.power_on("w-1")
    until(lambda: here.run("node", "services", "w-1").code == 0)
    for command, expected in ((("dmesg", "w-1"), "Linux version"), (("logs", "w-1", "machined"), "Started task")):
        maintenance = here.run("node", *command)
        assert maintenance.code == 0 and expected in maintenance.out, maintenance.said
        assert "w-1 is in maintenance mode" in maintenance.err


def test_events_of_all_nodes_in_time_order(here: Here) -> None:
    brought_up(here)
    events = told(here.run("events", "-o", "json"))
    assert {one["node"] for one in events} == {"cp-1", "w-1"}
    assert {one["kind"] for one in events} == {"MachineEvent"}
    assert {"MachineStatusEvent", "ServiceStateEvent", "SequenceEvent"} <= {one["type"] for one in events}
    assert [one["time"] for one in events] == sorted(one["time"] for one in events)
    ready = {one["node"] for one in events if one["message"] == "running, ready"}
    assert ready == {"cp-1", "w-1"}
    two = ("events", "-n", "w-1", "--tail", "2")
    assert len(told(here.run(*two, "-o", "json"))) == 2
    assert list(yaml.safe_load_all(here.run(*two, "-o", "yaml").out)) == told(here.run(*two, "-o", "json"))

    here.lab.power_off("w-1")
    some = here.run("events", "--tail", "1")
    assert some.code == 1 and len(some.out.splitlines()) == 1, some.said
    assert "cp-1" in some.out and "w-1: the machine is powered off" in some.err


def test_following_goes_on_after_a_reboot(here: Here) -> None:
    brought_up(here)
    with (
        here.start("events", "-f", "--tail", "1", "-n", "w-1", "-o", "json") as events,
        here.start("node", "logs", "w-1", "kubelet", "-f", "--tail", "1") as logs,
        here.start("node", "dmesg", "w-1", "-f") as kernel,
    ):
        events.until(lambda: bool(events.out))
        logs.until(lambda: bool(logs.out))
        kernel.until(lambda: "boot sequence: done" in kernel.out)
        here.lab.reboot("w-1")
        logs.until(lambda: "Started task kubelet" in logs.out)
        kernel.until(lambda: kernel.out.count("Linux version") == 2)
        events.until(lambda: '"message": "running, ready"' in events.out)
        ended = [interrupted(one) for one in (events, logs, kernel)]
    assert [one.code for one in ended] == [130, 130, 130]
    assert all("reconnecting" in one.err for one in ended), [one.err for one in ended]
    seen = [json.loads(line)["id"] for line in ended[0].out.splitlines()]
    assert len(seen) == len(set(seen))
