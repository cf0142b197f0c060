"""Patches in the older form on Talos 1.14, migrated: the running cluster is in sync before and after."""

from __future__ import annotations

import pytest

from tests.lab.up.places import Here

pytestmark = pytest.mark.slow

OLD = """\
machine:
  sysctls:
    vm.max_map_count: "262144"  # for a search engine
  kernel:
    modules:
      - name: drbd
        parameters: [usermode_helper=disabled]
  udev:
    rules: ['SUBSYSTEM=="drm", MODE="0660"']
"""
MANIFEST = """\
cluster:
  inlineManifests:
    - name: ns
      contents: |
        apiVersion: v1
        kind: Namespace
"""


def test_a_migrated_inventory_plans_nothing(here: Here) -> None:
    here.write(1, 1)
    for name, text in (("global/node.yaml", OLD), ("controlplane/manifest.yaml", MANIFEST)):
        path = here.folder / "patches" / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    assert (ended := here.up()).code == 0, ended.said
    shown = here.run("config", "migrate")
    assert (
        shown.code == 2
        and "-    modules:" in shown.out
        and (here.folder / "patches/global/node.yaml").read_text() == OLD
    )
    assert (written := here.run("config", "migrate", "--write")).code == 0, written.said
    migrated = (here.folder / "patches/global/node.yaml").read_text()
    assert "kind: SysctlConfig" in migrated and "# for a search engine" in migrated and "machine:" not in migrated
    assert here.steps() == []
    plan, status = here.run("plan"), here.run("status")
    assert (plan.code, status.code) == (0, 0), plan.said + status.said
    assert here.run("config", "migrate").code == 0  # nothing is left to do


def test_a_change_after_the_migration_is_planned_alone(here: Here) -> None:
    here.write(1, 0, more="patches: [{machine: {sysctls: {a.b: '1'}}}]\n")
    assert (ended := here.up()).code == 0, ended.said
    document = "{{apiVersion: v1alpha1, kind: SysctlConfig, params: {{a.b: '{0}'}}}}"
    here.write(1, 0, more=f"patches: [{document.format(1)}]\n")
    assert here.steps() == []
    here.write(1, 0, more=f"patches: [{document.format(2)}]\n")
    assert "node/cp-1/config" in here.steps()
