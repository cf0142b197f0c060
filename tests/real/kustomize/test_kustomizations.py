"""talosmith builds the objects that the real kustomize builds, and refuses what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.kustomize import ManifestError, load_manifests
from tests.real.kustomize.kustomize_peer import Case, by_kustomize, cases, named, run_kustomize

REPLACEMENTS = """
resources: [a.yaml]
configMapGenerator: [{name: generated, literals: [a=1]}]
replacements:
  - source: {kind: ConfigMap, name: a, fieldPath: data.from}
    targets: [{select: {kind: ConfigMap, name: a}, fieldPaths: [data.to]}]
"""
OBJECT = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {from: x, to: y}}"


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_the_objects_are_equal(case: Case, peer: Callable[[str], Path], tmp_path: Path) -> None:
    folder = case.write(tmp_path)
    expected = by_kustomize(peer("kustomize"), folder)
    manifests = load_manifests(folder, root=tmp_path)
    assert manifests.note == ""
    got = named(manifests.objects)
    assert sorted(got) == sorted(expected)
    for name, content in expected.items():
        assert got[name] == content, name


@pytest.mark.parametrize("case", cases("refused"), ids=lambda case: case.name)
def test_both_refuse(case: Case, peer: Callable[[str], Path], tmp_path: Path) -> None:
    folder = case.write(tmp_path)
    assert run_kustomize(peer("kustomize"), folder).returncode != 0
    with pytest.raises(ManifestError, match=case.files["says"]):
        load_manifests(folder, root=tmp_path)


@pytest.mark.parametrize("tool", ["kustomize", "kubectl"])
def test_a_tool_on_path_builds_the_rest(
    tool: str, peer: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = peer(tool)
    path = tmp_path / "bin"
    path.mkdir()
    (path / tool).symlink_to(program)
    monkeypatch.setenv("PATH", str(path))
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "kustomization.yaml").write_text(REPLACEMENTS)
    (folder / "a.yaml").write_text(OBJECT)
    manifests = load_manifests(folder)
    assert {one["metadata"]["name"]: one["data"] for one in manifests.objects} == {
        "a": {"from": "x", "to": "x"},
        "generated-h29d89cmmt": {"a": "1"},
    }
    assert manifests.note.startswith(f"built by {path / tool}: ")
    assert "kustomization.yaml:4: replacements needs kustomize itself" in manifests.note
    (folder / "a.yaml").write_text(OBJECT.replace("x", "z"))
    assert load_manifests(folder).digest != manifests.digest


def test_an_error_of_the_tool_is_shown(
    peer: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(peer("kustomize").parent))
    (tmp_path / "kustomization.yaml").write_text("transformers: [gone.yaml]\n")
    with pytest.raises(ManifestError, match=r"kustomize: .*gone\.yaml"):
        load_manifests(tmp_path)
