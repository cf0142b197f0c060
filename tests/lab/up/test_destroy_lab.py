"""`destroy` asks in proportion, has a plan of its own, and leaves no file that opens a cluster which is gone."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.lab.up.places import Here
from tests.lab.up.test_up_stopped import Terminal

pytestmark = pytest.mark.slow


def test_the_whole_cluster_takes_its_name(here: Here) -> None:
    here.write(1, 1)
    assert here.up().code == 0
    for arguments in ((), ("--yes",), ("--confirm", "other"), ("--yes", "--confirm", "other")):
        refused = here.run("destroy", *arguments)
        assert refused.code == 64, refused.said
        assert "--confirm mine" in refused.err
    assert sorted(here.machines()) == ["cp-1", "w-1"]
    assert "etcd data of cp-1 is lost" in refused.err
    worker = here.run("destroy", "--node", "w-1", "--yes")
    assert worker.code == 0, worker.said
    assert sorted(here.machines()) == ["cp-1"]
    last = here.run("destroy", "--node", "cp-1", "--yes")
    assert last.code == 64
    assert "all control planes are destroyed" in last.err
    assert here.run("destroy", "--confirm", "mine").code == 0
    assert not here.lab_folder.exists()


def test_a_name_is_typed_at_a_terminal(here: Here) -> None:
    here.write(1, 0)
    assert here.up().code == 0
    for typed, code, left in ((b"other\n", 1, True), (b"mine\n", 0, False)):
        terminal = Terminal()
        try:
            with here.start("destroy", tty=terminal.path) as running:
                running.until(
                    lambda terminal=terminal: "Type the cluster's name (mine) to continue" in terminal.shown
                )
                terminal.press(typed)
                assert running.wait().code == code, terminal.shown
        finally:
            terminal.close()
        assert here.lab_folder.exists() == left


def test_destroy_has_a_plan_that_changes_nothing(here: Here) -> None:
    here.write(1, 1)
    nothing = here.run("plan", "--destroy")
    assert (nothing.code, "nothing to do" in nothing.out) == (0, True), nothing.said
    assert here.up().code == 0
    text = here.run("plan", "--destroy")
    assert text.code == 2, text.said
    assert "delete machine and disks" in text.out and "delete kubeconfig" in text.out
    data = json.loads(here.run("plan", "--destroy", "-o", "json").out)
    assert data["operation"] == "destroy"
    assert {step["key"] for step in data["steps"]} == {
        "machine/cp-1/destroy",
        "machine/w-1/destroy",
        "files/delete-talosconfig",
        "files/delete-kubeconfig",
    }
    assert yaml.safe_load(here.run("plan", "--destroy", "-o", "yaml").out)["steps"] == data["steps"]
    assert sorted(here.machines()) == ["cp-1", "w-1"]
    assert here.run("plan", "--destroy", "--new-secrets").code == 64


def test_client_files_are_deleted_and_those_of_other_clusters_stay(here: Here) -> None:
    here.write(1, 0)
    assert here.up("--merge", env={"HOME": str(here.root)}).code == 0
    other = (
        "apiVersion: v1\nkind: Config\nclusters: [{name: other, cluster: {certificate-authority-data: b3RoZXI=}}]\n"
    )
    (here.folder / "kubeconfig").write_text(other)
    ended = here.destroy(env={"HOME": str(here.root)})
    assert ended.code == 0, ended.said
    assert not (here.folder / "talosconfig").exists()
    assert (here.folder / "kubeconfig").read_text() == other
    assert (here.folder / "secrets.sops.yaml").exists()
    for command in ("talosctl config remove mine --noconfirm", "kubectl config delete-context admin@mine"):
        assert f"still has a context of this cluster; delete it: {command}" in ended.err
    own = yaml.safe_load((here.root / ".kube" / "config").read_text())
    assert own["current-context"] == "admin@mine", "the user's own file is the user's"


@pytest.mark.parametrize("node", ["cp-1", "w-1"])
def test_files_stay_while_the_cluster_continues(here: Here, node: str) -> None:
    here.write(3, 1)
    assert here.up().code == 0
    assert here.destroy("--node", node).code == 0
    assert all((here.folder / name).exists() for name in ("talosconfig", "kubeconfig"))
