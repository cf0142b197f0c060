"""Add-ons by `up`: installed, changed, repaired, pruned, removed, left alone; with secrets that nothing shows."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from talosmith.desired.secrets_file import set_secret
from talosmith.kube import KubeClient, Ref
from talosmith.model.secret import Secret
from tests.lab.up.addon_folders import own_charts, write_chart
from tests.lab.up.places import Here

pytestmark = pytest.mark.slow

DEPLOYMENT = Ref("apps/v1", "Deployment", "web", "web")
CONFIG = Ref("v1", "ConfigMap", "web", "web")
PASSWORD = "correct-horse-battery-staple"


@asynccontextmanager
async def kube_of(here: Here) -> AsyncIterator[KubeClient]:
    async with KubeClient.from_bundle(here.kit.bundle, [here.machines()["cp-1"]["address"]]) as kube:
        yield kube


def with_web(here: Here, settings: str = "") -> None:
    here.write(1, 0, more=own_charts(here, ["web"], **({"web": settings} if settings else {})))


async def test_installed_changed_and_repaired(here: Here) -> None:
    with_web(here)
    assert [key for key in here.steps() if key.startswith("addon/")] == ["addon/web", "addon/web/ready"]
    assert "✓ add-ons are ready" in here.must("up", "--yes")
    assert here.steps() == []
    async with kube_of(here) as kube:
        found = await kube.get(DEPLOYMENT)
        assert found["status"]["availableReplicas"] == 1
        assert found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"
        assert found["metadata"]["annotations"] == {
            "meta.helm.sh/release-name": "web",
            "meta.helm.sh/release-namespace": "web",
            "deployment.kubernetes.io/revision": "1",
        }

        with_web(here, "values: {replicas: 2, text: bye}")
        said = here.must("plan", code=2)
        assert (
            "~ Deployment web/web spec.replicas: 1 → 2" in said
            and "~ ConfigMap web/web data.text: hello → bye" in said
        )
        here.must("up", "--yes")
        assert (await kube.get(DEPLOYMENT))["spec"]["replicas"] == 2

        await kube.delete(CONFIG)
        (step,) = [one for one in here.plan()["steps"] if one["key"] == "addon/web"]
        assert step["reason"] == "1 object missing"
        here.must("up", "--yes")
        assert (await kube.get(CONFIG))["data"] == {"text": "bye"}
        assert here.steps() == []


async def test_what_others_own_is_left_alone_and_named(here: Here) -> None:
    with_web(here)
    here.must("up", "--yes")
    async with kube_of(here) as kube:
        await kube.patch(DEPLOYMENT, {"spec": {"replicas": 3}})  # as the same manager, by another operation
        found = here.plan()
        assert (
            found["steps"] == [] and "is left alone: another field manager owns .spec.replicas" in found["notes"][0]
        )
        here.must("up", "--yes")
        assert (await kube.get(DEPLOYMENT))["spec"]["replicas"] == 3
        here.must("up", "--yes", "--take-over", "web")
        assert (await kube.get(DEPLOYMENT))["spec"]["replicas"] == 1

        labels = {"helm.toolkit.fluxcd.io/name": "web", "helm.toolkit.fluxcd.io/namespace": "web"}
        await kube.patch(DEPLOYMENT, {"metadata": {"labels": labels}})
        with_web(here, "values: {replicas: 5}")
        found = here.plan()
        assert found["steps"] == []
        assert "add-on web is managed by Flux (HelmRelease web/web), and differs" in found["notes"][0]
        assert "web managed by Flux (HelmRelease web/web)" in here.must("status")
        # A tool of GitOps would undo it: it is not taken over, whatever is asked for.
        here.must("up", "--yes", "--take-over", "web")
        assert (await kube.get(DEPLOYMENT))["spec"]["replicas"] == 1


async def test_what_somebody_else_installed_is_not_touched(here: Here) -> None:
    here.write(1, 0)
    here.must("up", "--yes")
    async with kube_of(here) as kube:
        await kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "web"}})
        theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": "web"}}
        await kube.create({**theirs, "data": {"text": "theirs"}})
        with_web(here)
        found = here.plan()
        assert found["steps"] == []
        assert "ConfigMap web/web exists, and talosmith did not create it" in found["notes"][0]
        here.must("up", "--yes")
        assert await kube.find(DEPLOYMENT) is None
        here.must("up", "--yes", "--take-over", "web")
        assert (await kube.get(CONFIG))["data"] == {"text": "hello"}


async def test_objects_and_addons_that_go_are_pruned_and_what_holds_data_stays(here: Here) -> None:
    here.write(1, 0, more=own_charts(here, ["web", "other"], crds=["web"]))
    write_chart(here, "web", crd=True, extra="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n")
    here.must("up", "--yes")
    crd = Ref("apiextensions.k8s.io/v1", "CustomResourceDefinition", "webs.web.example.org")
    async with kube_of(here) as kube:
        assert await kube.find(Ref("v1", "ConfigMap", "extra", "web"))
        (here.folder / "charts" / "web" / "templates" / "extra.yaml").unlink()
        assert "- ConfigMap web/extra" in here.must("plan", code=2)
        here.must("up", "--yes")
        assert await kube.find(Ref("v1", "ConfigMap", "extra", "web")) is None

        here.write(1, 0, more=own_charts(here, ["other"]))
        refused = here.run("up", "--yes")
        assert refused.code == 64 and "add-on web is removed" in refused.said, refused.said
        assert await kube.find(DEPLOYMENT)
        here.must("up", "--yes", "--confirm", "mine")
        assert await kube.find(DEPLOYMENT) is None and await kube.find(CONFIG) is None
        assert await kube.find(crd), "a CRD goes with all of its objects, and never unasked"
        assert "to delete it: talosmith up --prune crds" in here.plan()["notes"][0]
        here.must("up", "--yes", "--confirm", "mine", "--prune", "crds")
        assert await kube.find(crd) is None
        assert here.plan()["notes"] == []
        assert await kube.find(Ref("apps/v1", "Deployment", "other", "other"))


async def test_secrets_reach_the_cluster_and_nothing_else(here: Here) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: {{ .Values.password }}}\n"
    args = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: careless}\ndata: {url: "u:{{ .Values.password }}@x"}\n'
    here.write(1, 0, more="addons: {web: {chart: ./charts/web, values: {password: 'sops:web.password'}}}\n")
    write_chart(here, "web", secret=secret, careless=args)
    blocked = here.run("plan")
    assert blocked.code == 6 and "sops:web.password: secrets.sops.yaml has no text at web.password" in blocked.said
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", here.env["XDG_CONFIG_HOME"])
        set_secret(here.folder, "web.password", Secret(PASSWORD))
    said = [here.must("plan", code=2), here.must("up", "--yes"), here.must("plan", "-o", "json")]
    async with kube_of(here) as kube:
        found = await kube.get(Ref("v1", "Secret", "login", "web"))
        assert found["data"]["password"]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_CONFIG_HOME", here.env["XDG_CONFIG_HOME"])
            set_secret(here.folder, "web.password", Secret(PASSWORD + "2"))
        said += [here.must("plan", code=2), here.must("addons", "diff", code=2), here.must("addons", "show", "web")]
        assert "Secret web/login data.password: *** → ***" in said[3] and "u:***@x" in said[3]
        said.append(here.must("up", "--yes", "-o", "json"))
        assert (await kube.get(Ref("v1", "Secret", "login", "web")))["data"] != found["data"]
    written = [path for path in here.root.rglob("*") if path.is_file() and "labs" not in path.parts]
    texts = [*said, *(path.read_text(errors="replace") for path in written)]
    for text in texts:
        assert PASSWORD not in text
    assert here.steps() == []


async def test_generated_values_are_generated_once(here: Here) -> None:
    generated = (
        '{{ $ca := genCA "web" 365 }}\napiVersion: v1\nkind: Secret\nmetadata: {name: ca}\n'
        "data: {crt: {{ $ca.Cert | b64enc }}, fixed: {{ .Values.text | b64enc }}}\n"
    )
    with_web(here)
    write_chart(here, "web", ca=generated)
    here.must("up", "--yes")
    ref = Ref("v1", "Secret", "ca", "web")
    async with kube_of(here) as kube:
        before = (await kube.get(ref))["data"]
        assert here.steps() == []
        with_web(here, "values: {text: bye}")
        write_chart(here, "web", ca=generated)
        here.must("up", "--yes")
        after = (await kube.get(ref))["data"]
        assert after["crt"] == before["crt"] and after["fixed"] != before["fixed"]


async def test_hooks_run_in_order_and_one_that_fails_ends_the_step(here: Here) -> None:
    hook = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: before
  annotations: {{helm.sh/hook: pre-install, helm.sh/hook-delete-policy: "{policy}"}}
spec: {{template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: "x:1"}}]}}}}}}
"""
    with_web(here)
    write_chart(here, "web", hook=hook.format(policy="before-hook-creation"))
    here.must("up", "--yes")
    job = Ref("batch/v1", "Job", "before", "web")
    async with kube_of(here) as kube:
        first = await kube.get(job)
        assert first["status"]["succeeded"] == 1
        assert here.steps() == [], "a hook is no object of the add-on"
        with_web(here, "values: {replicas: 2}")
        write_chart(here, "web", hook=hook.format(policy="before-hook-creation,hook-succeeded"))
        here.must("up", "--yes")
        assert await kube.find(job) is None


def test_each_addon_that_cannot_be_rendered_is_named_and_nothing_is_touched(here: Here) -> None:
    write_chart(here, "broken", bad='{{ fail "text is missing" }}')
    write_chart(
        here, "elsewhere", away="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: kube-system}\n"
    )
    write_chart(here, "picky")
    schema = {"type": "object", "properties": {"replicas": {"type": "integer", "maximum": 3}}}
    (here.folder / "charts" / "picky" / "values.schema.json").write_text(json.dumps(schema))
    names = "".join(
        f"  {name}: {{chart: ./charts/{name}, values: {{replicas: 9}}}}\n" for name in ("broken", "picky")
    )
    more = "  elsewhere: {chart: ./charts/elsewhere}\n  gone: {chart: ./charts/gone}\n  files: {manifests: ./files}\n"
    here.write(1, 0, more=f"addons:\n{names}{more}")
    found = here.plan()
    causes = {one["cause"].split(":")[0]: one["cause"] for one in found["blocked"]}
    assert set(causes) == {f"add-on {name}" for name in ("broken", "picky", "elsewhere", "gone", "files")}
    assert "templates/bad.yaml:1" in causes["add-on broken"] and "text is missing" in causes["add-on broken"]
    assert "picky: replicas: must meet maximum: 3" in causes["add-on picky"]
    assert "ConfigMap kube-system/x is outside of the add-on's namespace elsewhere" in causes["add-on elsewhere"]
    ended = here.up()
    assert ended.code == 6 and not (here.state / "talosmith" / "labs").exists(), ended.said


def test_a_chart_that_cannot_be_reached_blocks_before_anything_is_touched(here: Here) -> None:
    here.write(1, 0, more="addons: {web: {chart: 'oci://127.0.0.1:1/web', version: 1.0.0}}\n")
    (cause,) = here.plan()["blocked"]
    assert "add-on web: " in cause["cause"] and "Connection refused" in cause["cause"] and "bundle" in cause["fix"]


async def test_a_change_that_the_api_refuses_is_named_before_anything_is_touched(here: Here) -> None:
    with_web(here)
    here.must("up", "--yes")
    template = here.folder / "charts" / "web" / "templates" / "deployment.yaml"
    template.write_text(template.read_text().replace("app: {{ .Release.Name }}", "app: other"))
    (cause,) = here.plan()["blocked"]
    assert "add-on web: the Kubernetes API refuses Deployment web/web" in cause["cause"], cause
    assert "immutable" in cause["cause"]


async def test_where_the_api_was_silent_the_step_looks_before_it_changes_anything(here: Here) -> None:
    with_web(here)
    here.must("up", "--yes")
    async with kube_of(here) as kube:
        labels = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
        await kube.patch(DEPLOYMENT, {"metadata": {"labels": labels}})
        with_web(here, "values: {replicas: 4}")
        here.lab.add_fault("kube-down")
        reached, go = here.root / "reached", here.root / "go"
        at = {"kind": "step-started", "step": "cluster/controlplane", "reached": str(reached), "go": str(go)}
        with here.start("up", "--yes", before=("tests.lab.up.hooks:wait_at", at)) as running:
            running.until(reached.exists)
            here.lab.clear_faults()
            go.touch()
            ended = running.wait()
        assert ended.code == 1, ended.said
        assert "add-ons are compared once the Kubernetes API answers" in ended.said
        assert "web is managed by Flux (Kustomization flux-system/apps): left alone" in ended.said
        assert (await kube.get(DEPLOYMENT))["spec"]["replicas"] == 1
        assert "is managed by Flux" in here.must("up", "--yes"), "with the API there, the plan leaves it alone"
