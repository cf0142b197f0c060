"""Add-ons in a real API server with its controllers: in sync without a question, changed, pruned, contested."""

from __future__ import annotations

from typing import Any

import pytest

from talosmith.kube import Ref
from talosmith.kube.client import HELM_MANAGER
from talosmith.kube.objects import labels, metadata, spec
from tests.real.addons import rich_chart
from tests.real.addons.real_addons import RealAddons, calls, eventually, keys, notes, settings

WEBHOOK = "admissionregistration.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io/v1"


@pytest.fixture
async def rich(addons: RealAddons) -> RealAddons:
    addons.chart("web", rich_chart.files(addons.unique), values=rich_chart.VALUES)
    addons.write(web={})
    return addons


def deployment(addons: RealAddons) -> Ref:
    return addons.ref("apps/v1", "Deployment", "web", "web")


async def container(addons: RealAddons) -> Any:
    found = await addons.client.get(deployment(addons))
    return spec(found)["template"]["spec"]["containers"][0]


async def in_sync(addons: RealAddons) -> None:
    """The plan is empty, says nothing, and has asked nothing but lists and objects."""
    with calls() as made:
        plan = await addons.plan()
    assert (keys(plan), settings(plan), plan.notes, plan.blocked) == ([], [], (), ())
    assert {call.partition(" ")[0] for call in made if "/pods" not in call} == {"GET"}, made


async def test_from_nothing_to_in_sync_whatever_the_server_and_others_make_of_it(rich: RealAddons) -> None:
    name = rich.name("web")
    async with rich.pods_run():
        assert keys(await rich.plan()) == [f"addon/{name}/crds", f"addon/{name}", f"addon/{name}/ready"]
        await rich.must_up()
        widget = await rich.client.get(rich.ref(f"{rich.unique}.example.org/v1", "Widget", "first", "web"))
        assert spec(widget) == {
            "size": "large",
            "port": "80",
            "labels": {},
            "parts": [{"name": "a", "count": 2}, {"name": "b", "count": 3}],
        }
        resources = (await container(rich))["resources"]
        assert resources["requests"]["cpu"] == "1", "the server has stored what was 1000m in its own form"

        # Controllers and other programs fill in what is not the chart's.
        role = Ref(RBAC, "ClusterRole", f"all-{rich.unique}")
        await eventually(lambda: rich.client.get(role), lambda found: found.get("rules"))
        hook = Ref(WEBHOOK, "ValidatingWebhookConfiguration", f"web-{rich.unique}")
        patch = [{"op": "add", "path": f"/webhooks/{one}/clientConfig/caBundle", "value": "Cg=="} for one in (0, 1)]
        rich.kubectl("patch", "validatingwebhookconfiguration", hook.name, "--type=json", f"--patch={patch}")
        password = (await rich.client.get(rich.ref("v1", "Secret", "generated", "web")))["data"]
        await in_sync(rich)

        # Applied anew for another reason, all of that stays.
        rich.write(web={"values": {"log": "debug"}})
        await rich.must_up()
        assert (await rich.client.get(role))["rules"]
        assert all(one["clientConfig"]["caBundle"] == "Cg==" for one in (await rich.client.get(hook))["webhooks"])
        assert (await rich.client.get(rich.ref("v1", "Secret", "generated", "web")))["data"] == password
        await in_sync(rich)


async def test_changed_and_removed_fields_and_objects(rich: RealAddons) -> None:
    await rich.must_up(selection=rich.unwaited)
    assert {one["name"] for one in (await container(rich))["env"]} == {"LOG", "EMPTY", "EXTRA"}
    rich.write(web={"values": {"cpu": "500m", "extra": False, "args": ["--one"]}})
    (rich.folder / "charts" / "web" / "templates" / "small.yaml").write_text("")
    plan = await rich.plan(selection=rich.unwaited)
    about = f"Deployment {rich.name('web')}/web spec.template.spec.containers[main]"
    shown = settings(plan)
    assert f"{about}.resources.requests.cpu: 1 → 500m" in shown
    assert f"{about}.workingDir: /tmp → None" in shown
    assert f"Service {rich.name('web')}/web: exists → None" in shown
    assert f"PersistentVolumeClaim {rich.name('web')}/data is left alone" in notes(plan)
    await rich.must_up(selection=rich.unwaited)
    found = await container(rich)
    assert {one["name"] for one in found["env"]} == {"LOG", "EMPTY"}
    assert "workingDir" not in found and found["args"] == ["--one"]
    assert await rich.client.find(rich.ref("v1", "Service", "web", "web")) is None
    assert await rich.client.find(rich.ref("v1", "PersistentVolumeClaim", "data", "web")) is not None
    assert keys(await rich.plan(selection=rich.unwaited)) == []

    rich.write()
    plan = await rich.plan()
    assert keys(plan) == [f"addon/{rich.name('web')}/remove"] and "is removed" in plan.confirm[0]
    await rich.must_up()
    assert await rich.client.find(deployment(rich)) is None
    definition = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"widgets.{rich.unique}.example.org")
    assert await rich.client.find(definition) is not None, "objects of others would go with it"
    await rich.must_up(prune=("crds", "claims"))
    assert await rich.client.find(definition) is None
    assert (await rich.plan()).notes == ()


async def test_what_kubectl_and_an_autoscaler_have_set_is_theirs_until_it_is_taken_over(rich: RealAddons) -> None:
    name = rich.name("web")
    async with rich.pods_run():
        await rich.must_up()
        # An autoscaler without metrics still keeps the least number of replicas.
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        scaler = {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "theirs", "namespace": name},
            "spec": {"minReplicas": 3, "maxReplicas": 4, "scaleTargetRef": target},
        }
        await rich.client.create(scaler)
        await eventually(lambda: rich.client.get(deployment(rich)), lambda found: spec(found)["replicas"] == 3)
        plan = await rich.plan(selection=rich.unwaited)
        assert keys(plan) == []
        assert notes(plan) == (
            f"add-on {name}: Deployment {name}/web is left alone: another field manager owns .spec.replicas"
            f" (kube-controller-manager); to overwrite it: talosmith up --take-over {name}"
        )
        # The rest of the Deployment does not have to wait for that.
        rich.write(web={"values": {"log": "debug"}})
        plan = await rich.plan(selection=rich.unwaited)
        assert keys(plan) == [f"addon/{name}"] and ".spec.replicas (kube-controller-manager)" in notes(plan)
        await rich.must_up()
        assert (await container(rich))["env"][0] == {"name": "LOG", "value": "debug"}
        assert spec(await rich.client.get(deployment(rich)))["replicas"] == 3
        assert ".spec.replicas (kube-controller-manager)" in notes(await rich.plan())
        await rich.client.delete(Ref("autoscaling/v2", "HorizontalPodAutoscaler", "theirs", name))

        # What was edited by hand may not fit the rest: all of the object stays.
        rich.kubectl("set", "env", "deployment/web", "LOG=trace", "-n", name)
        rich.write(web={"values": {"log": "warning", "args": []}})
        await rich.must_up(selection=rich.unwaited)
        found = await container(rich)
        assert (found["env"][0]["value"], found["args"]) == ("trace", ["--one", "--two"])
        told = notes(await rich.plan(selection=rich.unwaited))
        assert 'containers[name="main"].env[name="LOG"].value (kubectl-set)' in told

        await rich.must_up(take_over=(name,))
        found = await rich.client.get(deployment(rich))
        assert (await container(rich))["env"][0]["value"] == "warning" and spec(found)["replicas"] == 1
        await in_sync(rich)


async def test_objects_of_somebody_else_are_not_touched(rich: RealAddons) -> None:
    name = rich.name("web")
    rich.kubectl("create", "namespace", name)
    rich.kubectl("create", "configmap", "web", "-n", name, "--from-literal=text=theirs")
    plan = await rich.plan()
    assert keys(plan) == []
    assert f"ConfigMap {name}/web exists, and talosmith did not create it" in notes(plan)
    await rich.must_up(take_over=(name,), selection=rich.unwaited)
    found = await rich.client.get(rich.ref("v1", "ConfigMap", "web", "web"))
    assert labels(found)["talosmith.dev/set"] == name and found["data"] == {"text": "theirs"}
    assert HELM_MANAGER in {one["manager"] for one in metadata(found)["managedFields"]}
    assert keys(await rich.plan(selection=rich.unwaited)) == []
