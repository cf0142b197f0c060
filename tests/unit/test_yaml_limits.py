"""Every YAML reader refuses the same bombs with the same words, and takes anchors of ordinary use."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from talosmith.desired.bundle import Bundle
from talosmith.desired.config.load import load as load_config
from talosmith.desired.config.nodes import compose, plain
from talosmith.desired.secrets_file import create_secrets
from talosmith.errors import TalosmithError
from talosmith.helm import yaml_in
from talosmith.inventory.parse import Unreadable, parse
from talosmith.kube.manifests import read as read_manifests
from talosmith.sops.yaml_reader import read_yaml
from talosmith.steps.merging import merge_kubeconfig
from talosmith.yaml.limits import MAX_ALIASED, TOO_MANY_ALIASED, LimitExceeded, check_limits
from tests.unit.inventory.test_bad_input import BOMB, MERGE_BOMB, _measured

READERS: dict[str, Callable[[str], Any]] = {
    "inventory": lambda text: parse(text.encode(), "f"),
    "SOPS": lambda text: read_yaml(text, "f"),
    "machine config": lambda text: load_config(text, "f"),
    "what a node runs with": lambda text: [plain(node) for node in compose(text, "f")],
    "manifests": lambda text: read_manifests(text, "f"),
    "chart": lambda text: yaml_in.as_values(yaml_in.load(text)),
}
REFUSALS = (TalosmithError, Unreadable)
SMALL = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 8))
SMALL_EMPTY = SMALL.replace("[x]", "[]")
SMALL_MERGE = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}], k{n}: 1}}\n" for n in range(1, 7)
)
FEW = "common: &common {cpu: 1, ram: 4G}\nnodes: [" + ", ".join(["*common"] * 1000) + "]\n"


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("bomb", [SMALL, SMALL_EMPTY, SMALL_MERGE], ids=["aliases", "empty", "merges"])
def test_a_bomb_is_refused_in_the_same_words(reader: str, bomb: str) -> None:
    """Small enough to end some time without the limit, so that this fails then instead of running for hours."""
    with pytest.raises(REFUSALS) as refused:
        READERS[reader](bomb)
    assert TOO_MANY_ALIASED in str(refused.value)


@pytest.mark.parametrize("reader", READERS)
def test_what_is_nested_without_end_is_refused(reader: str) -> None:
    with pytest.raises(REFUSALS, match="nested"):
        READERS[reader]("a: " + "[" * 2_000 + "]" * 2_000)


@pytest.mark.parametrize("reader", READERS)
def test_an_alias_of_what_it_stands_in_is_refused(reader: str) -> None:
    with pytest.raises(REFUSALS, match=r"\*x"):
        READERS[reader]("a: &x {b: *x}\n")


@pytest.mark.parametrize("reader", ["inventory", "SOPS", "what a node runs with", "chart"])
def test_anchors_of_ordinary_use_are_read(reader: str) -> None:
    READERS[reader](FEW)


def test_a_machine_config_with_anchors_is_read() -> None:
    shared = ", ".join(["*common"] * 300)
    text = f"machine: {{type: worker, kubelet: {{extraConfig: {{a: &common {{b: [1, 2]}}, c: [{shared}]}}}}}}\n"
    config = load_config(text)[0]
    assert config["machine"]["kubelet"]["extraConfig"]["c"] == [{"b": [1, 2]}] * 300


def test_manifests_with_anchors_are_read() -> None:
    shared = ", ".join(["*common"] * 300)
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\na: &common {{b: [1, 2]}}\nc: [{shared}]\n"
    assert read_manifests(text)[0]["c"] == [{"b": [1, 2]}] * 300


def test_the_limit_is_for_all_documents_together_and_exact() -> None:
    one = "a: &a x\nb: [" + "*a, " * (MAX_ALIASED // 2) + "]\n"
    check_limits(f"{one}---\n{one}")
    with pytest.raises(LimitExceeded, match="too many values") as refused:
        check_limits(f"{one}---\n{one}---\na: &a x\nb: *a\n")
    assert refused.value.line == 8


def test_an_anchor_named_twice_means_the_last_one() -> None:
    check_limits("a: &x [&x y, *x]\n")
    with pytest.raises(LimitExceeded, match="stands inside"):
        check_limits("a: &x y\nb: &x [*x]\n")


def test_the_users_own_kubeconfig_is_no_way_in(tmp_path: Path) -> None:
    """Merging unfolds `<<`, which PyYAML does without a limit."""
    made, own = tmp_path / "kubeconfig", tmp_path / "config"
    made.write_text(
        yaml.safe_dump({name: [{"name": "a", name[:-1]: {}}] for name in ("clusters", "users", "contexts")})
    )
    own.write_text(SMALL_MERGE)
    with pytest.raises(TalosmithError, match="cannot be read"):
        merge_kubeconfig(made, own)
    assert own.read_text() == SMALL_MERGE


MIB = 1024 * 1024
HOSTILE = {
    "alias bomb": (BOMB, ":6: error: the aliases"),
    "merge bomb": (b"machine: {}\n" + MERGE_BOMB, "error: the aliases"),
    "nesting, flow": (b"machine: " + b"[" * 200_000, ":1: error: nested deeper than 50 levels"),
    "many values": (b"machine: [" + b"x," * MIB + b"]", "error: more than 250,000 values"),
    "50 MB": (b"#" * 50_000_000, "error: the file is larger than 4 MiB"),
    "Latin-1": ("machine: ä\n".encode("latin-1"), ":1:10: error: byte 0xe4 is not UTF-8"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_diff_of_a_hostile_machine_config(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, said = HOSTILE[name]
    for variable in [one for one in os.environ if one.startswith(("SOPS_", "TALOSMITH_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder, configs = tmp_path / "inventory", tmp_path / "configs"
    folder.mkdir()
    configs.mkdir()
    (folder / "cluster.yaml").write_text(
        "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\n"
    )
    create_secrets(folder, Bundle.generate())
    (configs / "cp-1.yaml").write_bytes(content)
    done, seconds, mib = _diff(folder, configs)
    assert done.returncode == 65, done.stderr
    assert "cp-1.yaml" in done.stderr and said in done.stderr
    assert "Traceback" not in done.stderr
    assert mib < 200
    (configs / "cp-1.yaml").unlink()
    assert seconds < 1.0 or seconds < 3 * _diff(folder, configs)[1]  # soon, also where everything takes long


def _diff(folder: Path, configs: Path) -> tuple[subprocess.CompletedProcess[str], float, float]:
    return _measured([sys.executable, "-m", "talosmith", "diff", str(configs), "-i", str(folder)])
