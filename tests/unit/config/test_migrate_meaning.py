"""Every setting that has two forms, as a patch of an inventory: the migrated patch means the same, by the proof."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from talosmith.desired.config.migrate.edited import edited_cluster
from talosmith.desired.config.migrate.inventory import InventoryMigration, migrate_inventory
from talosmith.desired.config.migrate.proof import NodeProof, prove
from talosmith.inventory import load
from talosmith.inventory.sources import find, read
from tests.unit.config.config_pairs import PAIRS, UNREAD_PAIRS, Pair
from tests.unit.config.test_migrate_inventory import inventory

# Secrets of the cluster itself come from its secrets file, and Talos before 1.14 has a HostnameConfig, too.
NOT_IN_PATCHES = ("encryption of secrets keeps its key names", "hostname")


def migrated(folder: Path) -> tuple[InventoryMigration, list[NodeProof]]:
    cluster, sources = load(folder), read(find(folder))
    found = migrate_inventory(cluster, sources)
    return found, list(prove(cluster, edited_cluster(sources, found.changes, "cluster.yaml")))


def text(pair: Pair) -> str:
    return yaml.safe_dump({"machine": pair.machine, "cluster": pair.cluster})


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["global", "controlplane"])
@pytest.mark.parametrize(
    "pair", [pair for pair in (*PAIRS, *UNREAD_PAIRS) if pair.name not in NOT_IN_PATCHES], ids=str
)
def test_a_migrated_setting_means_the_same(pair: Pair, scope: str, tmp_path: Path) -> None:
    if pair.section == "talos_api_access":  # Talos refuses the old field on workers
        scope = "controlplane"
    folder = inventory(tmp_path, {f"{scope}/pair.yaml": text(pair)})
    file = folder / "cluster.yaml"
    file.write_text(file.read_text().replace("count: 3", "count: 1").replace("count: 2", "count: 1"))
    found, proofs = migrated(folder)
    assert {one.node for one in proofs} == {"cp-1", "w-1"} and found.blocking == []
    assert [(one.node, one.error, one.differences) for one in proofs if not one.equal] == []
    if pair.machine or pair.cluster:
        assert found.changes
    left = yaml.safe_dump_all(
        [document for change in found.changes for document in yaml.safe_load_all(change.after or "")]
    )
    assert "cluster:\n" not in left or pair.section == "files"


def test_patches_of_an_extended_inventory_stay_in_its_folder(tmp_path: Path) -> None:
    base, own = tmp_path / "base", tmp_path / "home"
    base.mkdir()
    own.mkdir()
    inventory(base, {"global/scheduler.yaml": "cluster:\n  scheduler: {extraArgs: {v: '2'}}\n"})
    (own / "cluster.yaml").write_text("extends: ../base\ncluster_name: home\n")
    found, proofs = migrated(own)
    assert [Path(change.path).resolve() for change in found.changes] == [
        base / "patches/controlplane/scheduler.yaml",
        base / "patches/global/scheduler.yaml",
    ]
    assert all(one.equal for one in proofs)


def test_entries_of_single_nodes_are_rewritten_where_they_stand(tmp_path: Path) -> None:
    folder = inventory(tmp_path, {})
    cluster = folder / "cluster.yaml"
    nodes = """\
workers:
  - name: w-1
    ip: 10.20.0.21
    disk: /dev/vda
    interface: eth0
    patches:
      - machine:
          nodeLabels: {a/b: c} # of this one
      - machine:
          sysctls: {a.b: "1"}
  - name: w-2
    ip: 10.20.0.22
    disk: /dev/vda
    interface: eth0
    patches:
      - machine:
          nodeLabels: {a/b: c} # of the other
"""
    cluster.write_text(cluster.read_text().replace("workers: {count: 2, disk: /dev/vda, interface: eth0}\n", nodes))
    found, proofs = migrated(folder)
    (change,) = found.changes
    assert change.after is not None
    for comment in ("# of this one", "# of the other"):
        assert f"        kind: KubeNodeConfig\n        labels: {comment}\n          a/b: c\n" in change.after
    assert "        kind: SysctlConfig\n" in change.after
    assert "machine:" not in change.after
    assert all(one.equal for one in proofs)


def test_entries_in_braces_are_named_and_not_rewritten(tmp_path: Path) -> None:
    folder = inventory(tmp_path, {}, more="patches: [{machine: {sysctls: {a.b: '1'}}}]\n")
    found, _ = migrated(folder)
    assert found.changes == ()
    assert [(kept.old, kept.blocking) for _, kept in found.kept] == [("machine.sysctls", True)]
