"""`up` with ten add-ons, killed at its events, with calls that fail, and with answers that get lost."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from talosmith.kube import KubeClient, recorded
from tests.lab.up.addon_folders import own_charts
from tests.lab.up.killing import GROUPS, Places, at_every_event, killed_twice
from tests.lab.up.outcomes import converged
from tests.lab.up.places import UP, Here

pytestmark = pytest.mark.slow

NAMES = [f"app-{number}" for number in range(10)]


def with_ten(here: Here) -> None:
    settings = {"app-0": "stage: cloud", "app-1": "stage: dns", "app-9": "after: [app-2]"}
    here.write(1, 0, more=own_charts(here, NAMES, crds=["app-2", "app-3"], **settings))


def installed_once(here: Here) -> None:
    """Every add-on whole, recorded, and nothing besides."""

    async def look() -> dict[str, set[str]]:
        async with KubeClient.from_bundle(here.kit.bundle, [here.machines()["cp-1"]["address"]]) as kube:
            sets = await recorded(kube)
            listed = await kube.list("apps/v1", "Deployment")
            ready = {item["metadata"]["name"]: item["status"].get("availableReplicas") for item in listed.items}
        assert {name: ready.get(name) for name in NAMES} == dict.fromkeys(NAMES, 1), ready
        return {name: {ref.kind for ref in one.digests} for name, one in sets.items()}

    found: Mapping[str, Any] = asyncio.run(look())
    crds = {name: {"CustomResourceDefinition"} for name in ("app-2", "app-3")}
    assert found == {name: {"Deployment", "ConfigMap"} | crds.get(name, set()) for name in NAMES}
    converged(here, ["cp-1"])


# Every event in the real tier, every thirty-second in the first: each scenario installs ten add-ons three times.
EVERY = pytest.mark.parametrize(
    ("group", "every"), [(0, 8), *(pytest.param(group, 1, marks=pytest.mark.real) for group in range(GROUPS))]
)


@EVERY
def test_ten_addons_killed_at_every_event(places: Places, group: int, every: int) -> None:
    def scenario(here: Here, number: int) -> bool:
        with_ten(here)
        killed = killed_twice(here, *UP, number=number)
        again = here.up()
        assert again.code == 0, (number, again.said)
        installed_once(here)
        return killed

    assert at_every_event(places, group, scenario, every=every) >= 1


def test_one_call_of_the_kubernetes_api_in_ten_is_sent_away(here: Here) -> None:
    with_ten(here)
    lab = here.make_lab(seed=3)
    lab.add_fault("kube-busy", percent=10)
    lab.add_fault("watch-cut", percent=30)
    ended = here.up()
    assert ended.code == 0, ended.said
    lab.clear_faults()
    installed_once(here)


@pytest.mark.real  # for its length alone: each lost answer is waited for
def test_the_answers_to_some_applies_are_lost(here: Here) -> None:
    """The server has applied the object, and talosmith cannot know: it applies the object again, and nothing else."""
    with_ten(here)
    lab = here.make_lab(seed=3)
    for method in ("patch deployments", "patch configmaps", "patch customresourcedefinitions"):
        lab.add_fault("kube-time-out", times=2, method=method)
    ended = here.up()
    assert ended.code == 0, ended.said
    installed_once(here)


def test_the_api_server_restarts_while_addons_are_applied(here: Here) -> None:
    with_ten(here)
    reached, go = here.root / "reached", here.root / "go"
    at = {"kind": "step-started", "step": "addon/app-5", "reached": str(reached), "go": str(go)}
    with here.start(*UP, before=("tests.lab.up.hooks:wait_at", at)) as running:
        running.until(reached.exists)
        here.lab.add_fault("kube-down")
        go.touch()
        running.until(lambda: "connection refused" in running.err)
        here.lab.clear_faults()
        ended = running.wait()
    assert ended.code == 0, ended.said
    installed_once(here)
