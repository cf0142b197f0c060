"""How the parts of a node are built: what is changed in sources, what the cache goes by, and what is missed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.real.talos.lab import Lab, LabUnavailable, check_machine
from tools.peers import packages
from tools.peers.build import change
from tools.peers.node_recipes import RUNC
from tools.peers.patches import KUBELET_KEEPS_SYSCTLS as PATCH
from tools.peers.recipe import PeerUnavailable
from tools.peers.talos_recipes import MACHINED, TALOSCTL


def test_a_changed_source_is_another_build() -> None:
    assert dataclasses.replace(RUNC, patches=(PATCH,)).digest != dataclasses.replace(RUNC, patches=()).digest
    assert dataclasses.replace(MACHINED, add={}).digest != MACHINED.digest
    assert dataclasses.replace(TALOSCTL).digest == TALOSCTL.digest


@pytest.mark.parametrize("times", [0, 2])
def test_a_moved_source_is_noticed(times: int, tmp_path: Path) -> None:
    file = tmp_path / "source.go"
    file.write_text(f"{PATCH.old}\n" * times)
    with pytest.raises(PeerUnavailable, match=f"{times} times"):
        change(PATCH, file)


def test_a_source_is_changed(tmp_path: Path) -> None:
    file = tmp_path / "source.go"
    file.write_text(f"before\n{PATCH.old}\nafter\n")
    change(PATCH, file)
    assert file.read_text() == f"before\n{PATCH.new}\nafter\n"


def test_packages_are_not_missed_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(PeerUnavailable, match="libseccomp-dev"):
        packages.ensure(packages.C_COMPILER)


def test_real_nodes_need_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(LabUnavailable, match="root"):
        check_machine()


def test_real_nodes_need_a_recent_kernel(talos_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked where real nodes can run, so that nothing else is missing."""
    monkeypatch.setattr("os.uname", lambda: SimpleNamespace(release="6.14.0-1017-azure"))
    with pytest.raises(LabUnavailable, match=r"Linux 6\.15; this is 6\.14\.0"):
        check_machine()
