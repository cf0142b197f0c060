"""`talosmith config migrate` on whole inventories: files, the proof, what is refused."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from talosmith.cli.app import run
from talosmith.desired.config.migrate.edited import edited_cluster
from talosmith.desired.config.migrate.inventory import migrate_inventory
from talosmith.desired.config.migrate.proof import prove
from talosmith.desired.machine.check import check_configs
from talosmith.inventory import load
from talosmith.inventory.sources import find, read
from talosmith.report.config_migration import masked
from tests.output_schemas import assert_output

Talosmith = Callable[..., tuple[int, str, str]]

INVENTORY = """\
cluster_name: demo
talos_version: {talos}
kubernetes_version: {kubernetes}
network: {{node_cidr: 10.20.0.0/24, vip: 10.20.0.5}}
controlplane: {{count: 3, disk: /dev/sda, interface: eth0}}
workers: {{count: 2, disk: /dev/vda, interface: eth0}}
metal: {{search: false}}
{more}"""

GLOBAL = """\
# for every node
machine:
  kubelet:
    extraArgs: {v: "4"} # noisy
    nodeIP:
      validSubnets: [10.20.0.0/24]
  sysctls: {net.core.somaxconn: "1024"}
  time: {servers: [time.example.org]}
  registries:
    mirrors:
      docker.io: {endpoints: [https://mirror.example.org]}
  network:
    nameservers: [10.20.0.2]
    searchDomains: [example.org]
cluster:
  allowSchedulingOnControlPlanes: true
  apiServer:
    extraArgs: {audit-log-maxage: "9"}
  controllerManager:
    extraArgs: {bind-address: 0.0.0.0}
  network:
    cni: {name: none}
  proxy: {disabled: true}
  coreDNS: {disabled: true}
  discovery:
    registries: {service: {endpoint: "https://discovery.example.org"}}
"""


def inventory(
    folder: Path, files: dict[str, str], *, talos: str = "1.14.1", kubernetes: str = "1.37.0", more: str = ""
) -> Path:
    (folder / "cluster.yaml").write_text(INVENTORY.format(talos=talos, kubernetes=kubernetes, more=more))
    for name, text in files.items():
        path = folder / "patches" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in sorted(folder.rglob("*.yaml"))}


def report(talosmith: Talosmith, *words: object) -> tuple[int, dict[str, Any]]:
    code, out, _ = talosmith("config", "migrate", *words, "-o", "json")
    (found,) = assert_output("config migrate", out, "json")
    return code, found


@pytest.fixture
def talosmith(capsys: pytest.CaptureFixture[str]) -> Talosmith:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture(autouse=True)
def no_talosctl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")


def test_a_dry_run_shows_and_changes_nothing(talosmith: Talosmith, tmp_path: Path) -> None:
    folder = inventory(tmp_path, {"global/all.yaml": GLOBAL})
    before = texts(folder)
    code, found = report(talosmith, "-i", folder)
    assert code == 2
    assert [(os.path.relpath(one["path"], folder), one["change"]) for one in found["files"]] == [
        ("patches/controlplane/all.yaml", "create"),
        ("patches/global/all.yaml", "update"),
    ]
    assert {one["node"]: (one["equal"], one["differences"]) for one in found["proof"]} == {
        name: (True, []) for name in ("cp-1", "cp-2", "cp-3", "w-1", "w-2")
    }
    assert found["talosctl"] is None
    assert texts(folder) == before


def test_written_files_are_valid_and_have_nothing_left_to_move(talosmith: Talosmith, tmp_path: Path) -> None:
    folder = inventory(tmp_path, {"global/all.yaml": GLOBAL})
    (folder / "patches/global/all.yaml").chmod(0o640)
    assert any(problem.severity == "error" for problem in check_configs(load(folder))), "Talos refuses the old form"
    code, found = report(talosmith, "-i", folder, "--write")
    assert (code, found["written"]) == (0, True)
    assert [problem for problem in check_configs(load(folder)) if problem.severity == "error"] == []
    assert (folder / "patches/global/all.yaml").stat().st_mode & 0o777 == 0o640
    after = texts(folder)
    assert "# noisy" in after["patches/global/all.yaml"]
    assert "KubeAPIServerConfig" in after["patches/controlplane/all.yaml"]
    assert "KubeAPIServerConfig" not in after["patches/global/all.yaml"]
    code, found = report(talosmith, "-i", folder, "--write")
    assert (code, found["files"], found["written"]) == (0, [], False)
    assert texts(folder) == after


def test_a_file_whose_content_is_all_of_control_planes_moves(talosmith: Talosmith, tmp_path: Path) -> None:
    patch = "cluster:\n  scheduler: {extraArgs: {v: '2'}}\n"
    folder = inventory(
        tmp_path, {"global/scheduler.yaml": patch, "controlplane/scheduler.yaml": "machine: {sysctls: {a: '1'}}\n"}
    )
    assert report(talosmith, "-i", folder, "--write")[0] == 0
    assert sorted(texts(folder)) == [
        "cluster.yaml",
        "patches/controlplane/scheduler-2.yaml",
        "patches/controlplane/scheduler.yaml",
    ]


def test_entries_of_the_inventory_are_rewritten_in_place(talosmith: Talosmith, tmp_path: Path) -> None:
    more = """\
patches:
  # clocks
  - machine:
      time: {servers: [time.example.org]}
    cluster:
      scheduler: {extraArgs: {v: "2"}}
  - patches/named.yaml
  - machine:
      env: {A: b} # a proxy
# the end
"""
    folder = inventory(tmp_path, {"named.yaml": "cluster:\n  coreDNS: {disabled: true}\n"}, more=more)
    assert report(talosmith, "-i", folder, "--write")[0] == 0
    after = texts(folder)
    assert after["cluster.yaml"].endswith("""\
patches:
  # clocks
  - apiVersion: v1alpha1
    kind: TimeSyncConfig
    ntp:
      servers: [time.example.org]
  - patches/named.yaml
  - apiVersion: v1alpha1
    kind: EnvironmentConfig
    variables: # a proxy
      A: b
# the end
""")
    assert "KubeSchedulerConfig" in after["patches/controlplane/cluster.yaml"]
    assert "KubeCoreDNSConfig" in after["patches/controlplane/named.yaml"]
    assert "patches/controlplane/named.yaml" in after["patches/named.yaml"]  # it is named, so it stays
    assert [problem for problem in check_configs(load(folder)) if problem.severity == "error"] == []


def test_an_inventory_before_1_14_is_shown_and_not_written(talosmith: Talosmith, tmp_path: Path) -> None:
    folder = inventory(tmp_path, {"global/all.yaml": GLOBAL}, talos="1.13.9", kubernetes="1.36.1")
    before = texts(folder)
    code, _, err = talosmith("config", "migrate", "-i", folder)
    assert code == 2
    assert "nodes of v1.13.9 refuse them" in err
    code, out, err = talosmith("config", "migrate", "-i", folder, "--write")
    assert code == 1
    assert "nothing was written: the inventory pins Talos v1.13.9" in err
    assert "both forms mean the same" in out
    assert texts(folder) == before


def test_what_has_no_equal_keeps_everything_from_being_written(talosmith: Talosmith, tmp_path: Path) -> None:
    mount = "{destination: /var/x, type: bind, source: /var/x}"
    mounts = f"machine:\n  kubelet:\n    extraMounts: [{mount}]\n    extraArgs: {{v: '4'}}\n"
    folder = inventory(tmp_path, {"worker/mounts.yaml": mounts})
    before = texts(folder)
    code, out, err = talosmith("config", "migrate", "-i", folder, "--write")
    assert code == 1
    assert "mounts.yaml:3: machine.kubelet.extraMounts" in out
    assert "nothing was written: Talos 1.14 has no equal for machine.kubelet.extraMounts" in err
    assert texts(folder) == before


def test_a_wrong_migration_is_found_by_the_proof(tmp_path: Path) -> None:
    folder = inventory(tmp_path, {"global/a.yaml": "machine:\n  env: {A: b}\n"})
    cluster = load(folder)
    sources = read(find(folder))
    found = migrate_inventory(cluster, sources)
    changed = [
        type(one)(one.path, one.before, (one.after or "").replace("A: b", "A: c")) for one in found.changes
    ]  # as a wrong migration would
    after = edited_cluster(sources, changed, "cluster.yaml")
    proofs = list(prove(cluster, after))
    assert [one.equal for one in proofs] == [False] * 5
    assert [change.name for change in proofs[0].differences] == ["environment.A"]


def test_documents_that_only_1_14_knows_do_not_hinder_the_proof(talosmith: Talosmith, tmp_path: Path) -> None:
    mixed = "machine:\n  sysctls: {a.b: '1'}\n---\napiVersion: v1alpha1\nkind: KubeletConfig\nextraArgs: {v: '4'}\n"
    folder = inventory(tmp_path, {"global/mixed.yaml": mixed})
    code, found = report(talosmith, "-i", folder, "--write")
    assert code == 0, found["proof"]
    assert texts(folder)["patches/global/mixed.yaml"].count("kind:") == 2


def test_each_move_is_explained(talosmith: Talosmith, tmp_path: Path) -> None:
    folder = inventory(tmp_path, {"global/all.yaml": GLOBAL})
    _, out, _ = talosmith("config", "migrate", "-i", folder, "--explain")
    assert "machine.kubelet.nodeIP → KubeNodeConfig.nodeIP" in out
    assert "cluster.network.cni.name → delete KubeFlannelCNIConfig" in out
    assert "changes of Talos 1.14 itself" in out


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("  password: hunter2", "  password: ***"),
        ('  - "identityToken": abc', '  - "identityToken": ***'),
        ("  privateKey: |", "  privateKey: |"),
        ("    MIIBRDCB96ADAgECAhAgd1dv6CgQHRtXyRhxdaeFMAUGAytlcDATMREw", "    ***"),
        ("  name: kubelet", "  name: kubelet"),
    ],
)
def test_secrets_are_not_in_the_diff(line: str, shown: str) -> None:
    assert masked(line) == shown
