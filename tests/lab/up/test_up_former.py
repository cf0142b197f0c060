"""A node that the inventory no longer has, on machines that nobody lists: found by what the cluster knows of it."""

from __future__ import annotations

import asyncio

import pytest
import yaml

from talosmith.kube import KubeClient
from tests.lab.up.outcomes import one_etcd
from tests.lab.up.places import Ended, Here

pytestmark = pytest.mark.slow

CONFIRMED = ("--confirm", "mine")


def as_metal(here: Here, *names: str) -> None:
    """The same cluster, from an inventory that only lists the machines. It was made by the lab's provider before."""
    addresses = {name: machine["address"] for name, machine in here.machines().items()}
    nodes = {
        role: [
            {"name": name, "ip": addresses[name], "disk": "/dev/sda", "interface": "eth0"}
            for name in names
            if name.startswith(prefix)
        ]
        for role, prefix in (("controlplane", "cp-"), ("workers", "w-"))
    }
    text = yaml.safe_load((here.folder / "cluster.yaml").read_text())
    del text["lab"]
    text["network"]["vip"] = here.network.replace(".0/24", ".99")
    (here.folder / "cluster.yaml").write_text(yaml.safe_dump({**text, "metal": {}, **nodes}))


def works(ended: Ended) -> None:
    assert ended.code == 0, ended.said


def stages(here: Here) -> dict[str, str]:
    """Of the lab in which they all are; its own inventory is gone by now."""
    return {machine["name"]: machine["stage"] for machine in here.lab.machines()}


def test_it_is_emptied_taken_out_and_erased(here: Here) -> None:
    here.write(3, 2)
    works(here.up())
    as_metal(here, "cp-1", "cp-2", "w-1")
    removed = [f"node/{name}/{what}" for name in ("cp-3", "w-2") for what in ("drain", "reset", "deleted")]
    steps = here.steps()
    assert [step for step in steps if step in removed] == removed
    assert steps.index("node/cp-3/drain") < steps.index("etcd/cp-3/leave") < steps.index("node/cp-3/reset")
    refused = here.up()  # with --yes
    assert refused.code == 64 and "--confirm mine" in refused.said, refused.said
    assert set(stages(here).values()) == {"running"}
    works(here.up(*CONFIRMED))
    assert {name for name, stage in stages(here).items() if stage == "maintenance"} == {"cp-3", "w-2"}
    one_etcd(here, ["cp-1", "cp-2"])
    assert here.steps() == []


@pytest.mark.real  # for its length alone
def test_killed_after_it_was_erased(here: Here) -> None:
    here.write(1, 2)
    works(here.up())
    as_metal(here, "cp-1", "w-1")
    works(here.up("--only", "node/*/config"))
    works(here.up(*CONFIRMED, "--skip", "node/w-2/deleted"))
    assert stages(here)["w-2"] == "maintenance"
    assert here.steps() == ["node/w-2/deleted", "cluster/health"]
    works(here.up(*CONFIRMED))
    assert here.steps() == []


def test_who_answers_under_another_name_is_left_alone(here: Here) -> None:
    here.write(1, 2)
    works(here.up())
    elsewhere = here.machines()["w-2"]["address"]
    as_metal(here, "cp-1", "w-1")
    works(here.up("--only", "node/*/config"))
    asyncio.run(register(here, "ghost", elsewhere))
    plan = here.plan()
    assert [step["key"] for step in plan["steps"] if "ghost" in step["key"]] == []
    assert any(note.startswith("ghost is not in the inventory") and "`w-2`" in note for note in plan["notes"]), plan


async def register(here: Here, name: str, address: str) -> None:
    """A node that only Kubernetes has."""
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"addresses": [{"type": "InternalIP", "address": address}]},
    }
    async with KubeClient.from_bundle(here.kit.bundle, [here.machines()["cp-1"]["address"]]) as kube:
        await kube.caller.ask("POST", "/api/v1/nodes", body=node)
