"""Where the programs of a real Kubernetes are looked for, and what is said when they are not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from talosmith.errors import UsageError
from talosmith.providers.lab import process
from talosmith.providers.lab.binaries import find_binaries

NEEDED = ("etcd", "kube-apiserver", "kube-controller-manager")


def _folder(path: Path, *names: str) -> Path:
    path.mkdir()
    for name in names:
        (path / name).write_text("#!/bin/sh\n")
        (path / name).chmod(0o755)
    return path


def test_folders_that_are_named_come_first_then_assets_then_path(tmp_path: Path) -> None:
    named = _folder(tmp_path / "named", "etcd")
    assets = _folder(tmp_path / "assets", "etcd", "kube-apiserver")
    path = _folder(tmp_path / "path", *NEEDED, "kube-scheduler")
    found = find_binaries(str(named), {"KUBEBUILDER_ASSETS": str(assets), "PATH": str(path)})
    assert found.etcd == named / "etcd"
    assert found.apiserver == assets / "kube-apiserver"
    assert found.controller_manager == path / "kube-controller-manager"
    assert found.scheduler == path / "kube-scheduler"


def test_a_scheduler_is_not_needed(tmp_path: Path) -> None:
    path = _folder(tmp_path / "path", *NEEDED)
    assert find_binaries("", {"PATH": str(path)}).scheduler is None


def test_what_is_missing_is_named_with_a_way_out(tmp_path: Path) -> None:
    path = _folder(tmp_path / "path", "etcd")
    with pytest.raises(UsageError) as wrong:
        find_binaries("", {"PATH": str(path)})
    assert "kube-apiserver, kube-controller-manager" in str(wrong.value)
    assert "etcd" not in str(wrong.value)
    assert "--kubernetes-binaries" in wrong.value.hint


def test_no_lab_is_made_if_they_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with pytest.raises(UsageError, match="kube-apiserver"):
        process.start("without", process.Made(kubernetes="real"))
    assert process.labs() == []
