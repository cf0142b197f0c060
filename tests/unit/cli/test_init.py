"""`talosmith init`: what it writes is valid, explains itself, and never replaces anything."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from talosmith import load
from talosmith.cli.app import run
from talosmith.model import PROVIDERS

FLAGS = {
    "lab": [],
    "libvirt": ["--node-cidr", "10.0.0.0/24", "--controlplanes", "3", "--vip", "10.0.0.100", "--bridge", "br0"],
    "proxmox": ["--node-cidr", "192.168.1.0/24", "--gateway", "192.168.1.3", "--proxmox-node", "hydra",
                "--proxmox-url", "https://192.168.1.10:8006"],
    "aws": ["--region", "us-east-1", "--domain", "example.org", "--controlplanes", "3"],
    "docker": [],
    "metal": ["--node-cidr", "10.0.0.0/24", "--disk", "/dev/nvme0n1", "--interface", "eno1"],
}  # fmt: skip


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_written_is_valid(provider: str, tmp_path: Path) -> None:
    code = run(
        ["init", str(tmp_path / "new"), "--no-input", "--name", "mine", "--provider", provider, *FLAGS[provider]]
    )
    assert code == 0
    cluster = load(tmp_path / "new")
    assert (cluster.name, cluster.provider.name) == ("mine", provider)
    text = (tmp_path / "new" / "cluster.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=./.talosmith/cluster.schema.json\n")
    assert (tmp_path / "new" / ".talosmith" / "cluster.schema.json").exists()
    assert text.count("# renovate: datasource=") == 2


def test_nothing_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nodes.yaml").write_text("mine\n")
    assert run(["init", str(tmp_path), "--no-input"]) == 1
    assert "nodes.yaml is already there" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["nodes.yaml"]
    assert (tmp_path / "nodes.yaml").read_text() == "mine\n"


def test_wrong_answers_write_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--provider", "libvirt", "--node-cidr", "10.0.0.7/24", "--name", "Not A Name"]
    assert run(["init", str(tmp_path / "new"), "--no-input", *flags]) == 64
    error = capsys.readouterr().err
    assert "did you mean 10.0.0.0/24?" in error and "did you mean `not-a-name`?" in error
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["a: b", "x'y", 'x"y', "{a}", "*a", "yes\n- z", "#c"])
def test_answers_cannot_become_yaml(name: str, tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "new"), "--no-input", "--name", name]) == 64
    assert not (tmp_path / "new").exists()


def test_gitignore_keeps_what_is_there_and_covers_keys(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("node_modules\nkubeconfig")
    assert run(["init", str(tmp_path), "--no-input"]) == 0
    lines = (tmp_path / ".gitignore").read_text().splitlines()
    assert lines[:2] == ["node_modules", "kubeconfig"]
    assert lines.count("kubeconfig") == 1
    for name in (
        "talosconfig",
        "kubeconfig",
        "age.key",
        "secrets.yaml",
        "rendered/cp-1.yaml",
        "keys.txt",
        "my.agekey",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("secret")
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    staged = subprocess.run([*git, "ls-files"], check=True, capture_output=True, text=True).stdout.split()
    assert sorted(staged) == [
        ".gitignore", ".talosmith/cluster.schema.json", ".talosmith/nodes.schema.json", "cluster.yaml", "nodes.yaml"
    ]  # fmt: skip


def test_questions_at_a_terminal(tmp_path: Path) -> None:
    """A real terminal: only there are questions asked."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "talosmith", "init", str(tmp_path / "new")],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(terminal)
    os.write(controller, b"home\nnowhere\nmetal\n3\n0\n10.0.0.0/24\n10.0.0.100\n\n\n")
    out, err = process.communicate(timeout=300)
    os.close(controller)
    assert process.returncode == 0, err
    assert "Name of the cluster [demo]" in err and "Next: talosmith validate" in out
    cluster = load(tmp_path / "new")
    assert (cluster.name, cluster.provider.name, len(cluster.nodes)) == ("home", "metal", 3)
    assert (str(cluster.nodes[0].install_disk), cluster.nodes[0].interface) == ("/dev/sda", "eth0")
