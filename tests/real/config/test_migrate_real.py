"""Migrated patches beside the real tools: talosctl of Talos 1.14 takes them, and its library reads the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith.cli.app import run
from talosmith.desired.config.compare import differing_paths
from talosmith.desired.config.load import load
from talosmith.desired.config.meaning.meaning import CONTROLPLANE_SECTIONS
from talosmith.desired.config.migrate import migrate_patch
from talosmith.desired.config.patch.apply import apply_patches, load_patch
from tests.real.config.meaning_oracle import read
from tests.real.config_peer import Talosctl
from tests.unit.config.test_migrate_inventory import GLOBAL, inventory
from tests.unit.config.test_migrate_patch import CASES, scope

ENDPOINT = "https://192.0.2.1:6443"
FLAGS = ("demo", ENDPOINT, "--kubernetes-version", "1.37.0", "--install-disk", "/dev/sda")
MIGRATED = [case for case in CASES if not case.get("blocking") and not case["old"].startswith("- ")]
# Both forms exist, and both are of a fresh config with the taint.
COMPARED = [case for case in MIGRATED if case.get("tainted") is not False and not case.get("refused_before")]


@pytest.fixture(scope="module")
def talosctl(peer: Callable[[str], Path]) -> Talosctl:
    return Talosctl(peer("talosctl"))


@pytest.fixture(scope="module")
def fresh(talosctl: Talosctl) -> dict[str, dict[str, str]]:
    """Configs of each role in both forms, by the real talosctl, of the same secrets."""
    secrets = yaml.safe_dump(talosctl.secrets())
    return {
        form: talosctl.gen_config(secrets, (*FLAGS, "--talos-version", version))
        for form, version in (("old", "v1.13"), ("new", "v1.14"))
    }


def roles_of(case: dict[str, Any]) -> list[str]:
    return [str(role) for role in case.get("roles", ["controlplane", "worker"])]


@pytest.mark.parametrize("case", MIGRATED, ids=lambda case: str(case["name"]))
def test_the_real_one_patches_as_we_do(case: dict[str, Any], talosctl: Talosctl, fresh: dict[str, Any]) -> None:
    migration = migrate_patch(case["old"], "p.yaml", scope(case))
    for role in roles_of(case):
        patches = [migration.text, *([migration.controlplane] if role == "controlplane" else [])]
        given = [patch for patch in patches if patch]
        config = fresh["new"][role]
        theirs = talosctl.patch(config, given)
        assert theirs is not None, "talosctl refuses the migrated patch"
        assert talosctl.validate(theirs, "metal", strict=False)
        ours = apply_patches(load(config), [load_patch(patch) for patch in given])
        assert differing_paths(load(theirs), ours) == ()


@pytest.mark.parametrize("case", COMPARED, ids=lambda case: str(case["name"]))
def test_the_library_reads_the_same_out_of_both(
    case: dict[str, Any], talosctl: Talosctl, fresh: dict[str, Any], peer: Callable[[str], Path]
) -> None:
    """Apart from what a fresh config of 1.14 says otherwise, section by section."""
    migration = migrate_patch(case["old"], "p.yaml", scope(case))
    for role in roles_of(case):
        new = [migration.text, *([migration.controlplane] if role == "controlplane" else [])]
        before = talosctl.patch(fresh["old"][role], [case["old"]])
        after = talosctl.patch(fresh["new"][role], [patch for patch in new if patch])
        assert before is not None
        assert after is not None
        plain_old, plain_new, old, changed = read(
            peer("talos-machinery"), [fresh["old"][role], fresh["new"][role], before, after]
        )
        for section, value in changed.items():
            ignored = role == "worker" and section in CONTROLPLANE_SECTIONS
            if plain_old[section] == plain_new[section] and not ignored:
                assert value == old[section], f"{role}: {section}"


def test_the_command_asks_the_real_talosctl(
    peer: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = inventory(tmp_path, {"global/all.yaml": GLOBAL})
    assert run(["config", "migrate", "-i", str(folder), "--write", "--talosctl", str(peer("talosctl"))]) == 0
    out = capsys.readouterr().out
    assert "both forms mean the same, by talosmith and talosctl v1.14" in out


def test_an_older_talosctl_is_refused(
    peer: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = inventory(tmp_path, {"global/all.yaml": GLOBAL})
    assert run(["config", "migrate", "-i", str(folder), "--talosctl", str(peer("talosctl-1.13"))]) == 1
    assert "is v1.13" in capsys.readouterr().err
