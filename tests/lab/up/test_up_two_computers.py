"""Two computers at once: same inventory and secrets, state folders of their own, so no lock keeps them apart.

Both runs come to the end of their one attempt, and what the other run has done is waited for, not done again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.lab.up.outcomes import one_etcd
from tests.lab.up.places import UP, Here
from tests.waiting import until

pytestmark = pytest.mark.slow

CONTROLPLANES = ("cp-1", "cp-2", "cp-3")
NAMES = (*CONTROLPLANES, "w-1")
JSON = (*UP, "-o", "json")

# What the first run says when the second begins; each is another stretch of the way for the second to meet it on.
MEETINGS = {
    "simultaneous": "",
    "first-config": '"type": "step-started", "step": "node/cp-1/config"',
    "waiting": '"type": "step-progress"',
    "one-configured": '"type": "step-done", "step": "node/cp-1/config"',
    "bootstrap": '"type": "step-started", "step": "etcd/bootstrap"',
    "joining": '"type": "step-done", "step": "etcd/bootstrap"',
}
LONG = ("waiting", "one-configured", "joining")  # in the real tier for their length alone


@pytest.fixture
def computers(here: Here) -> Iterator[tuple[Here, Here]]:
    """Only the lab is shared; it stands for the machines, which are where they are."""
    labs = here.state / "talosmith" / "labs"
    labs.mkdir(parents=True)
    second = Here(here.kit, Path(tempfile.mkdtemp(dir=here.root.parent)), here.network)
    (second.state / "talosmith").mkdir(parents=True)
    (second.state / "talosmith" / "labs").symlink_to(labs)
    try:
        yield here, second
    finally:
        shutil.rmtree(second.root)


def same_inventory(first: Here, second: Here) -> None:
    shutil.copy(first.folder / "cluster.yaml", second.folder)


def machines_that_wait(first: Here) -> None:
    """Machines in maintenance mode, and an inventory that lists them with their fingerprints."""
    first.write(3, 1, clock="fast")
    lab = first.make_lab(clock="fast")
    address = {name: first.network.replace(".0/24", f".{10 + number}") for number, name in enumerate(NAMES)}
    for name in NAMES:
        lab.create_machine(name, address=address[name])
    until(lambda: all(machine["stage"] == "maintenance" for machine in lab.machines()), told=lab.machines)
    listed = [
        {
            "name": name,
            "ip": address[name],
            "disk": "/dev/vda",
            "interface": "eth0",
            "fingerprint": lab.machine(name)["fingerprint"],
        }
        for name in NAMES
    ]
    text = yaml.safe_load((first.folder / "cluster.yaml").read_text())
    del text["lab"]
    text["network"]["vip"] = first.network.replace(".0/24", ".99")
    text |= {"metal": {}, "controlplane": listed[:3], "workers": listed[3:]}
    (first.folder / "cluster.yaml").write_text(yaml.safe_dump(text))


def met(text: str, first: str) -> bool:
    """Whether the first run has said so; events name their type first and their step later."""
    parts = text.split(", ")
    return any(all(part in line for part in parts) for line in first.splitlines()) if text else True


def one_cluster(here: Here) -> None:
    assert sorted(machine["name"] for machine in here.lab.machines()) == sorted(NAMES)
    assert all(machine["ready"] for machine in here.lab.machines()), here.lab.machines()
    assert here.done("Bootstrap") == 1
    one_etcd(here, CONTROLPLANES)


@pytest.mark.parametrize(
    ("provider", "meeting"),
    [
        *(pytest.param("metal", name, marks=[pytest.mark.real] if name in LONG else []) for name in MEETINGS),
        *(("lab", name) for name in ("simultaneous", "first-config", "waiting")),
    ],
)
def test_both_runs_end_well_wherever_they_meet(computers: tuple[Here, Here], provider: str, meeting: str) -> None:
    first, second = computers
    if provider == "metal":
        machines_that_wait(first)
    else:
        first.write(3, 1, clock="fast")
    same_inventory(first, second)
    with first.start(*JSON) as one:
        one.until(lambda: met(MEETINGS[meeting], one.out))
        with second.start(*JSON) as other:
            late = other.wait()
        early = one.wait()
    assert early.code == 0, early.said
    assert late.code == 0, late.said
    one_cluster(first)
    if provider == "lab":
        assert [first.calls()[f"{name} machine.create"]["done"] for name in NAMES] == [1] * len(NAMES)
    assert first.steps() == second.steps() == []


def test_a_machine_that_another_run_reboots_is_waited_for(computers: tuple[Here, Here]) -> None:
    first, second = computers
    machines_that_wait(first)
    same_inventory(first, second)
    files = {"reached": str(first.root / "reached"), "go": str(first.root / "go")}
    at = {"kind": "step-done", "step": "node/cp-1/config", **files}
    with first.start(*JSON, before=("tests.lab.up.hooks:wait_at", at)) as one:
        one.until((first.root / "reached").exists)
        first.lab.add_fault("refuse", machines=["cp-2"])  # as long as its reboot takes
        with second.start(*JSON) as other:
            other.until(lambda: "booting, or being configured by another run" in other.err)
            assert "cp-2 at" in other.err and "waiting (up to 300 s)" in other.err
            first.lab.clear_faults()
            (first.root / "go").write_text("")
            late = other.wait()
        early = one.wait()
    assert (early.code, late.code) == (0, 0), early.said + late.said
    assert "configured as a node of this cluster" in late.err
    one_cluster(first)


def test_a_machine_that_stays_away_is_told_when_the_wait_is_over(here: Here) -> None:
    machines_that_wait(here)
    here.lab.add_fault("refuse", machines=["cp-2"])
    refused = here.up("--limit", "1")
    assert refused.code == 1 and "waiting (up to 1 s)" in refused.err, refused.said
    assert "no connection to port 50000; connection refused" in refused.err
    assert here.done("ApplyConfiguration") == 0
