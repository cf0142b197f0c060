"""A talconfig for Talos 1.14: its patches are documents in the inventory, and the inventory is valid."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from talconfigs import save, talconfig

from talosmith import load
from talosmith.cli.app import run
from talosmith.desired.machine.check import check_configs

PATCH = """\
machine:
  # more pods
  kubelet:
    extraConfig: {maxPods: 200}
  sysctls: {vm.max_map_count: "262144"}
cluster:
  coreDNS: {disabled: true}
"""


@pytest.mark.parametrize(("version", "kubernetes"), [("v1.14.1", "v1.37.0"), ("v1.13.9", "v1.36.1")])
def test_patches_have_the_form_of_the_talos_version(version: str, kubernetes: str, tmp_path: Path) -> None:
    save(tmp_path, talconfig(talosVersion=version, kubernetesVersion=kubernetes, patches=[PATCH]))
    assert run(["import", "talconfig", str(tmp_path / "talconfig.yaml"), "--into", str(tmp_path / "new")]) == 0
    found = {path.name: path.read_text() for path in sorted((tmp_path / "new/patches").rglob("*.yaml"))}
    text = "".join(found.values())
    assert ("kind: KubeletConfig" in text) == (version == "v1.14.1")
    assert ("kubelet:" in text) == (version == "v1.13.9")
    assert "# more pods" in text
    problems = check_configs(load(tmp_path / "new"))
    assert [problem.what for problem in problems if problem.severity == "error"] == []


def test_what_has_no_equal_stays_with_a_remark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mounts = "machine:\n  kubelet:\n    extraMounts: [{destination: /var/x, type: bind, source: /var/x}]\n"
    save(tmp_path, talconfig(talosVersion="v1.14.1", kubernetesVersion="v1.37.0", patches=[mounts, PATCH]))
    run(["import", "talconfig", str(tmp_path / "talconfig.yaml"), "--into", str(tmp_path / "new")])
    said = capsys.readouterr().err
    assert "patches are in v1alpha1 form" in said
    assert "machine.kubelet.extraMounts stays in v1alpha1 form" in said
    texts = "".join(path.read_text() for path in (tmp_path / "new/patches").rglob("*.yaml"))
    assert "extraMounts" in texts


def test_the_working_directory_may_be_beside_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where files are named as `../file`."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    save(tmp_path, talconfig(talosVersion="v1.14.1", kubernetesVersion="v1.37.0", patches=[PATCH]))
    assert run(["import", "talconfig", "../talconfig.yaml", "--into", "new"]) == 0
    texts = [path.read_text() for path in Path("new/patches").rglob("*.yaml")]
    assert any("kind: KubeletConfig" in text for text in texts)
