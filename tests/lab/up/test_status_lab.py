"""`status` of a lab cluster: exit codes, the VIP's holder, and `--watch` while a machine is powered off and on."""

from __future__ import annotations

import json
import signal
from typing import Any

import pytest

from tests.lab.up.places import Here

pytestmark = pytest.mark.slow


def read(here: Here) -> tuple[int, dict[str, Any]]:
    ended = here.run("status", "-o", "json")
    return ended.code, json.loads(ended.out)


def test_exit_codes_and_header(here: Here) -> None:
    here.write(3, 1)
    code, found = read(here)
    assert (code, found["kind"], found["healthy"]) == (2, "Status", False)
    assert [node["phase"] for node in found["nodes"]] == ["no-machine"] * 4
    assert here.up().code == 0
    code, found = read(here)
    assert (code, found["in_sync"], found["healthy"]) == (0, True, True), found
    assert {node["phase"] for node in found["nodes"]} == {"ready"} and found["observed_at"].endswith("Z")
    assert sorted(node["etcd"] for node in found["nodes"]) == ["leader", "member", "member", "none"]
    (vip,) = here.lab.status()["virtual_addresses"].items()
    assert found["vip"] == {"address": vip[0], "holder": vip[1]}
    config = here.folder / "cluster.yaml"
    config.write_text(config.read_text().replace("v1.14.1", "v1.14.0"))
    code, found = read(here)
    assert (code, found["in_sync"], found["healthy"]) == (2, False, True)
    assert {"kind": "talos-version", "live": "v1.14.1", "wanted": "v1.14.0"} in found["nodes"][0]["drift"]
    here.lab.power_off("w-1")
    code, found = read(here)
    assert (code, found["nodes"][3]["phase"]) == (5, "off"), "an unhealthy node wins over drift"


def test_watching_a_cluster_that_changes(here: Here) -> None:
    here.write(1, 1)
    assert here.up().code == 0
    with here.start("status", "--watch") as running:
        running.until(lambda: "mine: in sync, healthy" in running.out)
        here.lab.power_off("w-1")
        running.until(lambda: "machine is powered off" in running.out)
        here.lab.power_on("w-1")
        running.until(lambda: running.out.rpartition("observed ")[2].count("Ready") == 2)
        running.signal(signal.SIGINT)
        ended = running.wait()
    assert ended.err == ""
    assert any(line.startswith("* w-1") for line in ended.out.splitlines())
    assert ended.code == 0, "of the state that was observed last"
