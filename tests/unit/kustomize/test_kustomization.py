"""Kustomizations: what they do to objects, what they may read, and which of them need kustomize itself."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from talosmith.kustomize import ManifestError, binary, load_manifests, read_manifests
from tests.unit.kustomize.conftest import Write, config_map

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    spec:
      containers:
        - {name: web, image: "nginx:1", envFrom: [{configMapRef: {name: settings}}]}
        - {name: side, image: side}
"""


def built(folder: Path, root: Path | None = None) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in read_manifests(folder, root=root)}


def test_an_overlay_changes_its_base(write: Write, tmp_path: Path) -> None:
    write("base", kustomization_yaml="resources: [web.yaml]", web_yaml=DEPLOYMENT)
    overlay = write(
        "overlays/prod",
        kustomization_yaml="""
resources: [../../base]
namespace: prod
namePrefix: p-
labels: [{pairs: {team: a}, includeTemplates: true}]
images: [{name: nginx, newTag: "2"}]
replicas: [{name: web, count: 3}]
configMapGenerator: [{name: settings, literals: [MODE=on]}]
patches: [{path: patch.yaml}]
""",
        patch_yaml="{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, "
        "spec: {template: {spec: {containers: [{name: web, tty: true}, {name: side, $patch: delete}]}}}}",
    )
    found = built(overlay, tmp_path)
    name = "p-settings-ccd8mfgktt"  # as kustomize 5.8.2 names it
    assert found["ConfigMap"]["metadata"] == {"name": name, "namespace": "prod", "labels": {"team": "a"}}
    assert found["Deployment"]["metadata"] == {"name": "p-web", "namespace": "prod", "labels": {"team": "a"}}
    assert found["Deployment"]["spec"] == {
        "replicas": 3,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"team": "a"}},
            "spec": {
                "containers": [
                    {"name": "web", "image": "nginx:2", "tty": True, "envFrom": [{"configMapRef": {"name": name}}]}
                ]
            },
        },
    }


def test_a_directive_for_a_list_that_does_not_exist_is_no_element(write: Write) -> None:
    """kustomize leaves `$patch` in its output here, which no API server takes."""
    patch = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {volumes: [{$patch: replace}, {name: v, emptyDir: {}}]}}}
"""
    folder = write(
        kustomization_yaml="resources: [a.yaml]\npatches: [{path: p.yaml}]", a_yaml=DEPLOYMENT, p_yaml=patch
    )
    assert built(folder)["Deployment"]["spec"]["template"]["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/a.yaml",
        "github.com/org/repo//base?ref=v1",
        "git@example.com:org/repo.git",
        "ssh://git@example.com/x",
        "git::https://example.com/x",
        "example.com/org/repo?ref=main",
    ],
)
def test_urls_are_refused_at_any_level(url: str, write: Write, no_tools: Path) -> None:
    tool(no_tools, "raise SystemExit('a tool must not be asked')")
    folder = write(
        kustomization_yaml="vars: [{name: x}]\nresources: [sub]",
        sub__kustomization_yaml=f"namePrefix: x\nresources:\n  - {url}\n",
    )
    with pytest.raises(ManifestError, match=r"sub/kustomization\.yaml:2: .* is a URL") as wrong:
        read_manifests(folder)
    assert "vendor it" in wrong.value.hint


def test_bases_stay_within_the_work_tree(write: Write, tmp_path: Path) -> None:
    write("outside", kustomization_yaml="resources: [a.yaml]", a_yaml=config_map())
    folder = write("repo/app", kustomization_yaml="resources: [../../outside]")
    with pytest.raises(ManifestError, match=r"kustomization\.yaml: .*outside leads out of .*repo"):
        read_manifests(folder)
    assert read_manifests(folder, root=tmp_path)
    (tmp_path / "repo" / ".git").mkdir()
    with pytest.raises(ManifestError, match="leads out of"):
        read_manifests(folder, root=tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "resources: [../x.yaml]",
        "resources: [/etc/hostname]",
        "configMapGenerator: [{name: a, files: [../x.yaml]}]",
        "secretGenerator: [{name: a, envs: [link]}]",
        "resources: [a.yaml]\npatches: [{path: ../x.yaml}]",
    ],
)
def test_files_stay_within_the_folder(text: str, write: Write, tmp_path: Path) -> None:
    write(".", x_yaml=config_map("x"))
    folder = write(kustomization_yaml=text, a_yaml=config_map())
    (folder / "link").symlink_to("../x.yaml")
    with pytest.raises(ManifestError, match="leads out of"):
        read_manifests(folder, root=tmp_path)


def test_kustomizations_have_a_limit(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("talosmith.kustomize.build._MAX_KUSTOMIZATIONS", 3)
    folder = write(kustomization_yaml="resources: [../b, ../b, ../b]")
    write("b", kustomization_yaml="namePrefix: x")
    with pytest.raises(ManifestError, match="more than 3 kustomizations"):
        read_manifests(folder)


@pytest.mark.parametrize("field", ["replacements", "vars", "transformers", "generators", "crds", "openapi"])
def test_what_needs_kustomize_says_so(field: str, write: Write) -> None:
    with pytest.raises(ManifestError, match=rf"kustomization\.yaml:2: {field} needs kustomize itself") as wrong:
        read_manifests(write(kustomization_yaml=f"namePrefix: x\n{field}: [x]\n"))
    assert "`kubectl`" in wrong.value.hint


def test_charts_belong_to_add_ons_of_their_own(write: Write, no_tools: Path) -> None:
    tool(no_tools, "raise SystemExit('a tool must not be asked')")
    with pytest.raises(ManifestError, match="helmCharts is not supported") as wrong:
        read_manifests(write(kustomization_yaml="helmCharts: [{name: x}]"))
    assert "`chart:`" in wrong.value.hint


def tool(folder: Path, code: str, name: str = "kustomize") -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{code}\n")
    path.chmod(0o755)
    return path


def test_a_tool_on_path_builds_it_without_our_secrets(
    write: Write, no_tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOPS_AGE_KEY", "s3cret")
    monkeypatch.setenv("PLAIN", "kept")
    code = """
import json, os, sys
data = {"arguments": " ".join(sys.argv[1:]), "key": os.environ.get("SOPS_AGE_KEY", ""), "plain": os.environ["PLAIN"]}
print(json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data}))
"""
    folder = write(kustomization_yaml="vars: [{name: x}]")
    kubectl = tool(no_tools, code, "kubectl")
    manifests = load_manifests(folder)
    assert manifests.objects[0]["data"] == {"arguments": f"kustomize {folder}", "key": "", "plain": "kept"}
    assert manifests.note.startswith(f"built by {kubectl}: ")
    assert "vars needs kustomize itself" in manifests.note
    tool(no_tools, code)
    assert load_manifests(folder).objects[0]["data"]["arguments"] == f"build {folder}"


def test_a_tool_that_fails_or_hangs(write: Write, no_tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(kustomization_yaml="vars: [{name: x}]")
    tool(no_tools, "import sys\nprint('Error: \\x1b[31mno', file=sys.stderr)\nsys.exit(1)")
    with pytest.raises(ManifestError, match=r"kustomize: Error: \\x1b\[31mno"):
        read_manifests(folder)
    monkeypatch.setattr(binary, "_DEADLINE", 0.2)
    tool(no_tools, "import time\ntime.sleep(60)")
    with pytest.raises(ManifestError, match="did not end within"):
        read_manifests(folder)
    tool(no_tools, "print('no object')")
    monkeypatch.setattr(binary, "_DEADLINE", 60)
    with pytest.raises(ManifestError, match="is not a Kubernetes object"):
        read_manifests(folder)


def test_errors_hold_no_secret_values(write: Write) -> None:
    for literals in ("[s3cret]", "[12345]"):
        folder = write(kustomization_yaml=f"secretGenerator: [{{name: a, literals: {literals}}}]")
        with pytest.raises(ManifestError) as wrong:
            read_manifests(folder)
        assert literals.strip("[]") not in f"{wrong.value} {wrong.value.hint}"


def test_objects_of_the_result_are_not_shared(write: Write) -> None:
    patch = "{kind: X, metadata: {name: x}, data: {more: [1]}}"
    text = f"resources: [a.yaml]\npatches: [{{target: {{kind: ConfigMap}}, patch: '{patch}'}}]"
    folder = write(kustomization_yaml=text, a_yaml=f"{config_map('a')}---\n{config_map('b')}")
    first, second = read_manifests(folder)
    first["data"]["more"].append(2)
    assert second["data"]["more"] == [1]


def test_the_working_directory_does_not_matter(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(kustomization_yaml="resources: [a.yaml]", a_yaml=config_map())
    monkeypatch.chdir(folder)
    assert read_manifests(Path()) == read_manifests(folder)
    monkeypatch.chdir("/")
    assert read_manifests(Path(os.path.relpath(folder))) == read_manifests(folder)
