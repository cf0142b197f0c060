"""Add-ons while a real API server cannot take them: a webhook that is not up yet, and a server that restarts."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from talosmith.events import Event
from talosmith.kube import Ref
from tests.real.addons.admission_server import AdmissionServer
from tests.real.addons.real_addons import RealAddons, calls, keys, notes, patient
from tests.real.kube.apiserver import kill

WEBHOOKS = "admissionregistration.k8s.io/v1"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {text: {{ .Values.text }}}\n"
MANY = """\
{{- range until 150 }}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: many-{{ . }}}
data: {text: {{ $.Values.text }}}
{{- end }}
"""
REFUSED = 'failed calling webhook "check.example.org"'


async def test_a_webhook_that_is_not_up_yet_is_waited_for(addons: RealAddons) -> None:
    name, hook, running = addons.name("web"), AdmissionServer(addons.folder), ExitStack()
    addons.chart("web", {"config.yaml": CONFIG}, values="text: one\n")
    addons.write(web={})

    def start(event: Event) -> None:
        if event.kind == "step-retrying":
            running.enter_context(hook.up())

    addons.listeners.append(start)
    await addons.client.create(hook.configuration(name, name))
    # The client tries several times itself, which takes seconds; what comes after that is of interest.
    async with patient(addons.server, attempts=1) as addons.client:
        try:
            await addons.must_up()
            (waited,) = addons.said("step-retrying")
            assert f"ConfigMap {name}/web" in waited and REFUSED in waited and "connection refused" in waited
            assert hook.asked == ["CREATE web"]
            assert keys(await addons.plan()) == []

            # Down again while a field changes: the plan shows the change although no dry run is possible.
            running.close()
            addons.write(web={"values": {"text": "two"}})
            plan = await addons.plan()
            assert keys(plan) == [f"addon/{name}"]
            assert f"ConfigMap {name}/web: not checked by the server" in notes(plan) and REFUSED in notes(plan)
            await addons.must_up()
            assert REFUSED in addons.said("step-retrying")[0]
            assert hook.asked[1:] == ["UPDATE web"]
            found = await addons.client.get(addons.ref("v1", "ConfigMap", "web", "web"))
            assert found["data"] == {"text": "two"}
        finally:
            running.close()
            await addons.client.delete(Ref(WEBHOOKS, "ValidatingWebhookConfiguration", name))


async def test_an_apply_goes_on_when_the_api_server_has_restarted(addons: RealAddons, alone: None) -> None:
    name = addons.name("web")
    addons.chart("web", {"many.yaml": MANY}, values="text: one\n")
    addons.write(web={})

    async def applied() -> int:
        return len((await addons.client.list("v1", "ConfigMap", name)).items)

    async def kill_in_between() -> int:
        while (count := await applied()) < 10:
            await asyncio.sleep(0)
        kill(addons.server)
        return count

    with calls() as made:
        async with asyncio.TaskGroup() as group:
            group.create_task(addons.must_up())
            killed = group.create_task(kill_in_between())
    assert killed.result() < 150, "there was nothing left to apply"
    assert any(call.startswith("PATCH") and " failed after " in call for call in made)
    assert await applied() == 150
    assert keys(await addons.plan()) == []
