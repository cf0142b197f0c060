"""A changed `cluster_name` beside existing secrets: a question, and never a second cluster."""

from __future__ import annotations

import shutil

import pytest

from tests.lab.up.places import Here

pytestmark = pytest.mark.slow


def rename(here: Here, before: str, after: str) -> None:
    path = here.folder / "cluster.yaml"
    path.write_text(path.read_text().replace(f"cluster_name: {before}", f"cluster_name: {after}"))


@pytest.mark.parametrize("traces", [True, False], ids=["here", "on another computer"])
def test_machines_of_the_former_name_block_the_plan(here: Here, traces: bool) -> None:
    """On another computer there are neither client files nor recorded runs; the provider has the machines."""
    here.write(1, 1)
    assert here.up().code == 0
    if not traces:
        shutil.rmtree(here.state_folder)
        for name in ("talosconfig", "kubeconfig"):
            (here.folder / name).unlink()
    lab = here.lab
    calls = lab.call("calls")
    rename(here, "mine", "yours")
    planned = here.run("plan")
    assert planned.code == 6, planned.said
    assert "cluster_name changed from mine to yours" in planned.said
    assert "cp-1, w-1" in planned.said
    assert "set `cluster_name: mine` back" in planned.said
    for arguments in (("up", "--yes"), ("up", "--confirm", "yours")):
        refused = here.run(*arguments)
        assert refused.code == 6, refused.said
    assert not here.lab_folder.exists(), "no second lab"
    assert {key: one for key, one in lab.call("calls").items() if "create" in key} == {
        key: one for key, one in calls.items() if "create" in key
    }
    rename(here, "yours", "mine")
    assert here.run("plan").code == (0 if traces else 2)


def test_a_new_name_is_confirmed_once_the_former_machines_are_gone(here: Here) -> None:
    here.write(1, 0)
    assert here.up().code == 0
    here.run("lab", "stop", here.lab_folder.name, "--delete")  # by hand, so that no destroy is recorded
    rename(here, "mine", "yours")
    planned = here.run("plan")
    assert planned.code == 2, planned.said
    assert "no machine of mine was found" in planned.said
    refused = here.up()
    assert refused.code == 64, refused.said
    assert "cluster_name changed from mine to yours" in refused.err
    ended = here.run("up", "--confirm", "yours")
    assert ended.code == 0, ended.said
    assert here.steps() == []
    for name in ("talosconfig", "kubeconfig"):
        assert "yours" in (here.folder / name).read_text() and "mine" not in (here.folder / name).read_text()


def test_after_a_destroy_another_name_is_no_question(here: Here) -> None:
    here.write(1, 0)
    assert here.up().code == 0
    assert here.destroy().code == 0
    rename(here, "mine", "yours")
    ended = here.up()
    assert ended.code == 0, ended.said
