"""Add-ons of charts and the real Helm 4: each takes over from the other, as things are, without being forced."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from talosmith.kube import Object, Ref
from talosmith.kube.inventory import unmarked
from talosmith.kube.objects import spec
from talosmith.observed.addons import place
from tests.real.addons import rich_chart
from tests.real.addons.real_addons import RealAddons, keys, notes, settings, without_bookkeeping
from tests.real.helm.module_charts import published

VALUES: Mapping[str, Any] = {
    "own": {},
    "metrics-server": {"replicas": 2, "args": ["--kubelet-insecure-tls"]},
    "cert-manager": {"crds": {"enabled": True}, "startupapicheck": {"enabled": False}},
}


@dataclass
class Released:
    """An add-on `web`, and the release of the same name."""

    addons: RealAddons
    helm_path: Path
    chart: Path

    @property
    def name(self) -> str:
        return self.addons.name("web")

    def helm(self, values: Mapping[str, Any], *options: str) -> str:
        """As a person types it: neither --take-ownership nor --force-conflicts."""
        command = ("upgrade", "--install", self.name, self.chart, "--namespace", self.name, "--values", "-")
        return self.addons.tool(self.helm_path, *command, *options, given=json.dumps(values))

    async def objects(self) -> dict[Ref, Object]:
        placed = await place(self.addons.client, self.addons.desired().addons[self.name])
        return {Ref.of(one): await self.addons.client.get(Ref.of(one)) for one in placed.everything}


@pytest.fixture(params=[*VALUES])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
async def released(addons: RealAddons, helm: Path, kind: str, tmp_path: Path) -> AsyncIterator[Released]:
    """Of the inventory, and not installed yet."""
    chart = addons.folder / "charts" / "web"
    if kind == "own":
        files = rich_chart.files(addons.unique)
        # Helm makes another password each time; and it has no way around the owner of rules that are aggregated.
        files["small.yaml"] = files["small.yaml"].replace("{{ randAlphaNum 20 }}", "fixed")
        files["rights.yaml"] = files["rights.yaml"].replace("rules: []\n", "")
        addons.chart("web", files, values=rich_chart.VALUES)
    else:
        shutil.copytree(published(kind, tmp_path / "published")[0], chart)
    addons.write(web={"values": VALUES[kind]})
    yield Released(addons, helm, chart)
    if kind == "metrics-server":  # an API without a server behind it is everybody's trouble
        await addons.client.delete(Ref("apiregistration.k8s.io/v1", "APIService", "v1beta1.metrics.k8s.io"))


async def test_helm_takes_an_addon_over_and_talosmith_takes_it_back(released: Released, kind: str) -> None:
    addons, name = released.addons, released.name
    await addons.must_up(selection=addons.unwaited)
    before = await released.objects()
    released.helm(VALUES[kind])
    after = await released.objects()
    for ref, item in before.items():  # its label is how talosmith knows what is its own
        assert without_bookkeeping(after[ref]) == without_bookkeeping(unmarked(item)), ref

    plan = await addons.plan(selection=addons.unwaited)
    assert keys(plan) == []
    assert notes(plan) == (
        f"add-on {name} is managed by Helm (release {name}/{name}): left alone;"
        f" to take it over: talosmith up --take-over {name}"
    )
    plan = await addons.plan(selection=addons.unwaited, take_over=(name,))
    assert f"addon/{name}" in keys(plan) and all("metadata.labels" in one for one in settings(plan)), settings(plan)
    await addons.must_up(selection=addons.unwaited, take_over=(name,))
    plan = await addons.plan(selection=addons.unwaited)
    assert (keys(plan), plan.notes) == ([], ())
    back = await released.objects()
    for ref, item in before.items():
        assert without_bookkeeping(back[ref]) == without_bookkeeping(item), ref


@pytest.mark.parametrize("kind", ["own"])
@pytest.mark.parametrize(
    ("first", "how"),
    [("helm", "--server-side=true"), ("helm", "--server-side=false"), ("talosmith", "--server-side=false")],
    ids=["installed by Helm 4", "installed as by Helm 3", "upgraded as by Helm 3"],
)
async def test_what_helm_has_made_of_it_is_helms_until_it_is_taken_over(
    released: Released, first: str, how: str
) -> None:
    addons, name = released.addons, released.name
    if first == "talosmith":
        await addons.must_up(selection=addons.unwaited)
    released.helm({}, how, "--create-namespace")
    released.helm({"log": "trace", "args": ["--other"]}, how)

    async def container() -> Any:
        found = await addons.client.get(addons.ref("apps/v1", "Deployment", "web", "web"))
        return spec(found)["template"]["spec"]["containers"][0]

    def env(found: Any) -> dict[str, str]:
        return {one["name"]: one.get("value", "") for one in found["env"]}

    theirs = await container()
    assert env(theirs) == {"LOG": "trace", "EMPTY": "", "EXTRA": "1"}
    told = notes(await addons.plan(selection=addons.unwaited))
    assert f"managed by Helm (release {name}/{name}), and differs from the inventory: left alone" in told
    await addons.must_up(selection=addons.unwaited)
    assert await container() == theirs

    addons.write(web={"values": {"extra": False}})
    await addons.must_up(selection=addons.unwaited, take_over=(name,))
    ours = await container()
    assert env(ours) == {"LOG": "info", "EMPTY": ""} and ours["args"] == ["--one", "--two"]
    assert "workingDir" not in ours, "all of Helm's fields are talosmith's now, so those that are not wanted go"
    plan = await addons.plan(selection=addons.unwaited)
    assert (keys(plan), plan.notes) == ([], ())


@pytest.mark.parametrize("kind", ["own"])
async def test_helm_goes_on_with_all_of_it(released: Released) -> None:
    addons = released.addons
    await addons.must_up(selection=addons.unwaited)
    released.helm({"extra": False})
    found = await addons.client.get(addons.ref("apps/v1", "Deployment", "web", "web"))
    container = spec(found)["template"]["spec"]["containers"][0]
    assert {one["name"] for one in container["env"]} == {"LOG", "EMPTY"} and "workingDir" not in container
    # The inventory no longer has it: what is Helm's stays, without a word in every plan to come.
    addons.write()
    plan = await addons.plan()
    assert (keys(plan), plan.notes) == ([], ())
