"""What every command has, on a cluster in the lab: -v, --log-format json, -i for lab commands, completion."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import datetime

import pytest

from talosmith.providers.lab import lab_name
from tests.lab.up.places import Here
from tests.lab.up.test_up_secrets import canaries

pytestmark = pytest.mark.slow


def complete(here: Here, *words: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-m", "talosmith", "__complete", *words],
        capture_output=True,
        text=True,
        env=here.env,
        check=True,
    )
    return [line.partition("\t")[0] for line in done.stdout.splitlines()]


def test_verbose_prints_calls_with_durations_and_no_secret(here: Here) -> None:
    here.write()
    ended = here.up("-v", "--log-format", "json")
    assert ended.code == 0, ended.said
    records = [json.loads(line) for line in ended.err.splitlines()]
    for record in records:
        assert {"time", "level", "msg"} <= record.keys() <= {"time", "level", "msg", "fix"}
        assert record["time"].endswith("Z")
        datetime.fromisoformat(record["time"])
    calls = [record["msg"] for record in records if record["level"] == "debug"]
    for wanted in (
        rf"lab {lab_name(here.owner)} machine\.create \d+\.\d{{3}}s",
        r"talos .+ ApplyConfiguration \d+\.\d{3}s",
        r"talos .+ Bootstrap \d+\.\d{3}s",
        r"kubernetes .+ GET /\S+ \d+\.\d{3}s",
    ):
        assert any(re.fullmatch(wanted, call) for call in calls), wanted
    assert {"debug", "info"} <= {record["level"] for record in records}
    assert "\x1b" not in ended.err
    printed = ended.said.encode()
    assert not [secret for secret in canaries(here) if secret in printed]

    calls = [line for line in here.run("plan", "-v").err.splitlines() if line.startswith("debug: ")]
    assert any(re.fullmatch(r"debug: talos .+ \w+ \d+\.\d{3}s", call) for call in calls)
    assert not [line for line in here.run("plan").err.splitlines() if "debug" in line]


def test_lab_commands_find_the_lab_of_an_inventory(here: Here) -> None:
    here.write()
    where = ("-i", str(here.folder))
    ended = here.run("lab", "status", *where)
    assert ended.code == 64
    assert ended.err == (
        f"error: cluster mine has no lab yet: lab {lab_name(here.owner)} does not exist\n"
        f"  fix: talosmith up -i {here.folder}\n"
    )
    here.make_lab()
    here.lab.create_machine("cp-1")
    ended = here.run("lab", "machine", "list", *where, "-o", "json")
    assert [one["name"] for one in json.loads(ended.out)["machines"]] == ["cp-1"]
    ended = here.run("lab", "fault", "add", "slow", "cp-1", "--by", "1m30s", *where, "-o", "json")
    (fault,) = json.loads(ended.out)["faults"]
    assert fault["seconds"] == 90
    both = here.run("lab", "fault", "list", "--lab", "x", *where)
    assert (both.code, both.err.splitlines()[0]) == (64, "error: both a lab (x) and an inventory are given")
    aside = here.run("lab", "status", *where, env={"TALOSMITH_LAB": "other"})
    assert aside.out.startswith(lab_name(here.owner))

    assert complete(here, "lab", "status", "") == [lab_name(here.owner)]
    assert complete(here, "lab", "machine", "wipe", *where, "") == ["cp-1"]
    assert complete(here, "lab", "machine", "wipe", "--lab", lab_name(here.owner), "") == ["cp-1"]
    assert complete(here, "lab", "machine", "wipe", "cp-1", *where, "") == []
    assert complete(here, "lab", "fault", "clear", *where, "") == [fault["id"]]
    assert complete(here, "node", "console", *where, "") == ["cp-1", "w-1"]

    assert here.run("lab", "stop", *where).code == 0
    assert here.run("lab", "status", *where).out == f"{lab_name(here.owner)}: stopped\n"
    assert complete(here, "lab", "machine", "wipe", *where, "") == []
