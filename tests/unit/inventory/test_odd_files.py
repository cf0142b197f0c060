"""Links that lead nowhere or round in circles, pipes and folders instead of files: named, never waited for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from talosmith.desired.secrets_file import has_secrets, read_secrets
from talosmith.errors import SecretsError, UsageError
from talosmith.inventory import check
from talosmith.inventory.sources import find
from talosmith.session import Session

GOOD = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\n"


def _link(path: Path) -> None:
    path.symlink_to("nowhere.yaml")


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "folder": (Path.mkdir, "is a folder, not a regular file"),
    "pipe": (os.mkfifo, "is a named pipe (FIFO), not a regular file"),
    "link": (_link, "is a symbolic link to nowhere.yaml, which does not exist"),
    "loop": (_loop, "is a symbolic link in a loop (Too many levels of symbolic links)"),
    "device": (lambda path: path.symlink_to("/dev/null"), "is a device, not a regular file"),
}
odd = pytest.mark.parametrize(("make", "said"), ODD.values(), ids=ODD)


@odd
def test_the_inventory_itself(make: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    """Also when only the folder is given: that something has the name is not the same as nothing."""
    make(tmp_path / "cluster.yaml")
    for given in (tmp_path, tmp_path / "cluster.yaml"):
        assert [problem.what for problem in check(given).problems] == [f"the file {said}"]


@odd
def test_what_an_inventory_extends(make: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    for name in ("base", "env"):
        (tmp_path / name).mkdir()
    make(tmp_path / "base/cluster.yaml")
    (tmp_path / "env/cluster.yaml").write_text("extends: ../base\n" + GOOD)
    assert [problem.what for problem in check(tmp_path / "env").problems] == [f"the file {said}"]


@odd
def test_a_patch(make: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(GOOD + "patches: [named.yaml]\n")
    (tmp_path / "patches/global").mkdir(parents=True)
    make(tmp_path / "named.yaml")
    found = [problem.what for problem in check(tmp_path).problems]
    leads_out = said.startswith("is a device")
    assert found == ["the patch `named.yaml` is not inside the inventory's folder" if leads_out else
                     f"the patch `named.yaml` {said}"]  # fmt: skip


@pytest.mark.parametrize("name", ["patches/global/a.yaml", "patches/a", "patches/controlplan", "patches/global"])
def test_a_link_that_leads_nowhere_is_not_silent(name: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(GOOD)
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).symlink_to("nowhere")
    (problem,) = check(tmp_path).problems
    assert problem.file.endswith(name)
    assert problem.what == "the patch is a symbolic link to nowhere, which does not exist"


def test_no_folder_of_patches(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(GOOD)
    (tmp_path / "patches").symlink_to("nowhere")
    (problem,) = check(tmp_path).problems
    assert problem.what == "the folder of patches is a symbolic link to nowhere, which does not exist"


def test_linked_folders_are_read_and_circles_are_not_walked(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(GOOD)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/a.yaml").write_text("machine: {}\n")
    (tmp_path / "shared/round").symlink_to("..")
    (tmp_path / "patches").mkdir()
    (tmp_path / "patches/global").symlink_to("../shared")
    report = check(tmp_path)
    assert not report.problems
    assert [Path(patch.source).name for patch in report.cluster.patches] == ["a.yaml"]


@odd
def test_secrets(make: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    """New secrets are made only where nothing has the name: with others the cluster would be another."""
    (tmp_path / "cluster.yaml").write_text(GOOD)
    make(tmp_path / "secrets.sops.yaml")
    assert has_secrets(tmp_path)
    with pytest.raises(SecretsError) as caught:
        read_secrets(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'secrets.sops.yaml'} {said}"
    with pytest.raises(SecretsError):
        Session.open(tmp_path, new_secrets=True)


def test_nothing_there_is_still_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no cluster.yaml in"):
        find(tmp_path)
