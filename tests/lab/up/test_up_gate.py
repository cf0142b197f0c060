"""What the gate holds back, before an act and after it; and what a removal that did not finish leaves behind."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from talosmith.kube import KubeClient
from talosmith.kube.nodes import CORDON_ANNOTATION
from tests.lab.up.outcomes import converged, one_etcd
from tests.lab.up.places import DESTROY, Here, in_vain
from tests.lab.up.test_up_deaths import names_the_trouble, struck

pytestmark = pytest.mark.slow

ONE = (*DESTROY, "--node", "cp-2")
NAMES = ["cp-1", "cp-2", "cp-3"]
NEEDS_REBOOT = "patches: [{machine: {env: {A: b}}}]\n"


def brought_up(here: Here, workers: int = 0) -> None:
    here.write(3, workers)
    ended = here.up()
    assert ended.code == 0, ended.said


async def kube_node(here: Here, name: str) -> dict[str, Any]:
    """The Node object, by the API of the first control plane."""
    async with KubeClient.from_bundle(here.kit.bundle, [here.machines()["cp-1"]["address"]]) as kube:
        answer = await kube.caller.ask("GET", f"/api/v1/nodes/{name}")
        return answer.item


async def is_cordoned(here: Here, name: str) -> bool:
    return bool((await kube_node(here, name))["spec"].get("unschedulable"))


async def test_a_control_plane_that_etcd_needs_is_refused_with_nothing_changed(here: Here) -> None:
    brought_up(here)
    here.lab.power_off("cp-3")
    before = here.calls()
    ended = here.run(*ONE)
    assert ended.code == 6 and "without `cp-2`, 1 of 2 members are healthy; 2 are needed" in ended.said, ended.said
    changing = ("EtcdLeaveCluster", "EtcdForfeitLeadership", "Reset", "machine.destroy")
    assert {key: one for key, one in here.calls().items() if key.endswith(changing)} == {
        key: one for key, one in before.items() if key.endswith(changing)
    }
    assert not await is_cordoned(here, "cp-2")
    (etcd,) = here.etcd()
    assert etcd["quorum"] and etcd["size"] == 3
    again = here.up()
    assert again.code == 0, again.said
    converged(here, NAMES)


async def test_a_control_plane_is_not_drained_if_its_removal_is_refused_by_then(here: Here) -> None:
    """etcd loses a member between the plan and the act."""
    brought_up(here)
    strike = partial(here.lab.add_fault, "power-loss", ["cp-3"])
    ended = await asyncio.to_thread(
        partial(struck, here, "step-started", "node/cp-2/drain", strike, trouble="not allowed yet", command=ONE)
    )
    assert ended.code == 1 and "1 of 2 members are healthy" in ended.said, ended.said
    assert not await is_cordoned(here, "cp-2")


async def test_a_removal_that_does_not_finish_is_undone_by_up(here: Here) -> None:
    """Drained, and then etcd needs it: it stays cordoned, marked as ours, and the next `up` ends that."""
    brought_up(here)
    strike = partial(here.lab.add_fault, "power-loss", ["cp-3"])
    ended = await asyncio.to_thread(
        partial(struck, here, "step-done", "node/cp-2/drain", strike, trouble="not allowed yet", command=ONE)
    )
    assert ended.code == 1, ended.said
    assert (await kube_node(here, "cp-2"))["metadata"]["annotations"][CORDON_ANNOTATION]
    assert await is_cordoned(here, "cp-2")
    again = here.up()
    assert again.code == 0 and "uncordon" in again.said, again.said
    node = await kube_node(here, "cp-2")
    assert not node["spec"].get("unschedulable")
    assert CORDON_ANNOTATION not in (node["metadata"].get("annotations") or {})
    converged(here, NAMES)


async def test_a_cordon_of_an_administrator_is_named_and_left(here: Here) -> None:
    brought_up(here, workers=1)
    async with KubeClient.from_bundle(here.kit.bundle, [here.machines()["cp-1"]["address"]]) as kube:
        await kube.caller.ask(
            "PATCH",
            "/api/v1/nodes/w-1",
            body={"spec": {"unschedulable": True}},
            content_type="application/merge-patch+json",
        )
    here.write(3, 1, more="patches: [{machine: {sysctls: {vm.swappiness: '10'}}}]\n")
    ended = here.up()
    assert ended.code == 0 and "w-1 is cordoned, not by talosmith" in ended.said, ended.said
    assert await is_cordoned(here, "w-1")


def test_no_control_plane_is_disturbed_while_the_api_of_another_is_down(here: Here) -> None:
    brought_up(here)
    here.write(3, 0, more=NEEDS_REBOOT)
    here.lab.add_fault("kube-down", ["cp-3"])
    ended = here.up("--limit", "100", "--node", "cp-1", before=in_vain("not allowed yet"))
    assert ended.code == 1 and "the Kubernetes API of `cp-3` is not ready" in ended.said, ended.said
    assert here.done("Reboot") == 0


def test_a_control_plane_whose_api_does_not_come_back_ends_the_run_by_name(here: Here) -> None:
    """etcd and Talos are back; without the look after the act the next control plane would be rebooted."""
    brought_up(here)
    here.write(3, 0, more=NEEDS_REBOOT)
    first = next(step for step in here.steps() if step.endswith("/config"))
    node = first.split("/")[1]
    ended = struck(
        here,
        "step-progress",
        first,
        lambda: here.lab.add_fault("kube-down", [node]),
        "--only",
        "node/*",
        trouble="has not come back yet: the Kubernetes API",
    )
    names_the_trouble(ended, node)
    assert here.done("Reboot") == 1, "the others were left alone"
    one_etcd(here, NAMES)
    here.lab.clear_faults()
    again = here.up()
    assert again.code == 0, again.said
    converged(here, NAMES)


def test_a_flag_of_the_api_server_is_changed_on_one_control_plane_at_a_time(here: Here) -> None:
    """It restarts without a reboot. While the API of another one is down, that waits, and nothing is applied."""
    brought_up(here)
    document = "{apiVersion: v1alpha1, kind: KubeAPIServerConfig, extraArgs: {v: '2'}}"
    here.write(3, 0, more=f"patches: [{document}]\n")
    here.lab.add_fault("kube-down", ["cp-3"])
    applied = here.done("ApplyConfiguration")
    ended = here.up("--limit", "100", "--node", "cp-1", before=in_vain("not allowed yet"))
    assert ended.code == 1 and "the Kubernetes API of `cp-3` is not ready" in ended.said, ended.said
    assert here.done("ApplyConfiguration") == applied
    here.lab.clear_faults()
    again = here.up()
    assert again.code == 0 and "3 restarts" in again.said, again.said
    assert here.done("Reboot") == 0
    converged(here, NAMES)
