"""`talosmith init`: what it writes is valid, explains itself, and never replaces anything."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from talosmith import load
from talosmith.cli.app import run
from talosmith.model import PROVIDERS
from talosmith.model.cluster import ENDPOINT_TO_COME
from talosmith.model.providers import Aws, Proxmox
from talosmith.providers.libvirt import default_network as libvirt_network
from talosmith.providers.libvirt.default_network import address_in

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


def test_proxmox_with_every_comment_taken_at_its_word_is_valid(tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / "new"), "--no-input", "--provider", "proxmox", *FLAGS["proxmox"]]) == 0
    path = tmp_path / "new" / "cluster.yaml"
    text = path.read_text()
    for key in ("token_id", "token_secret", "fingerprint", "boot"):
        assert text.count(f"  # {key}: ") == 1
        text = text.replace(f"  # {key}: ", f"  {key}: ")
    path.write_text(text.replace("AA:BB:…", "AB" * 32))
    section = load(tmp_path / "new").provider
    assert isinstance(section, Proxmox)
    assert (section.node, section.url, section.boot) == ("hydra", "https://192.168.1.10:8006", "image")
    assert section.token_id == "talosmith@pve!cluster" and section.token_secret is not None


def test_aws_with_every_comment_taken_at_its_word_is_valid(tmp_path: Path) -> None:
    """Without a domain: the API is at the load balancer's own name."""
    assert run(["init", str(tmp_path / "new"), "--no-input", "--provider", "aws", "--region", "us-east-1"]) == 0
    assert load(tmp_path / "new").endpoint.to_come
    path = tmp_path / "new" / "cluster.yaml"
    text = path.read_text()
    for key in ("account_id", "profile", "domain", "admin_cidrs", "iam"):
        assert text.count(f"  # {key}: ") == 1
        text = text.replace(f"  # {key}: ", f"  {key}: ")
    path.write_text(text)
    cluster = load(tmp_path / "new")
    assert isinstance(cluster.provider, Aws)
    assert (cluster.provider.account_id, cluster.endpoint.host) == ("123456789012", "k8s.example.org")
    assert cluster.provider.iam.workers == ["ecr-read-only"]


def test_the_address_of_the_proxmox_host_is_left_to_it(tmp_path: Path) -> None:
    for number, host in enumerate(("10", "21", "2", "200")):
        flags = ["--provider", "proxmox", "--node-cidr", "192.168.1.0/24"]
        url = ["--proxmox-url", f"https://192.168.1.{host}:8006"]
        assert run(["init", str(tmp_path / str(number)), "--no-input", *flags, *url]) == 0
        offset = 30 if number < 2 else 10
        assert str(load(tmp_path / str(number)).nodes[0].ip) == f"192.168.1.{offset}"


def test_nothing_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "nodes.yaml").write_text("mine\n")
    assert run(["init", str(tmp_path), "--no-input"]) == 1
    assert "nodes.yaml already exists" in capsys.readouterr().err
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


@pytest.mark.slow
def test_questions_at_a_terminal(tmp_path: Path) -> None:
    """A real terminal: only there are questions asked."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "talosmith", "init", str(tmp_path / "new")],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path / "config"), "SOPS_AGE_KEY_FILE": ""},
    )
    os.close(terminal)
    answers = ["Not A Name", "home", "nowhere", "metal", "2", "3", "0", "10.0.0.7/24", "10.0.0.0/24"]
    answers += ["10.0.1.5", "10.0.0.10", "10.0.0.100", "sda", "", "", "y"]
    os.write(controller, "".join(f"{answer}\n" for answer in answers).encode())
    out, err = process.communicate(timeout=300)
    os.close(controller)
    assert process.returncode == 0, err
    asked = [
        "Cluster name [new]",
        "did you mean `not-a-name`?",
        "`nowhere` is not a provider",
        "2 control planes tolerate no more failures than 1",
        "`10.0.0.7/24` is an address inside a network",
        "the VIP 10.0.1.5 is outside of `network.node_cidr` 10.0.0.0/24",
        "the VIP 10.0.0.10 is the address of `cp-1`",
        "did you mean /dev/sda?",
        "Create secrets now? [Y/n]",
    ]
    assert [err.index(one) for one in asked] == sorted(err.index(one) for one in asked)
    for name, section in PROVIDERS.items():
        line = next(line for line in err.splitlines() if line.strip().startswith(f"{name} "))
        assert line.endswith("(not built yet: configs only)") == (not section.built)
    assert out.splitlines()[-1] == f"Next: talosmith plan -i {tmp_path / 'new'}"
    assert (tmp_path / "new" / "secrets.sops.yaml").exists()
    cluster = load(tmp_path / "new")
    assert (cluster.name, cluster.provider.name, len(cluster.nodes)) == ("home", "metal", 3)
    assert (str(cluster.nodes[0].install_disk), cluster.nodes[0].interface) == ("/dev/sda", "eth0")


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "host"), [("", ENDPOINT_TO_COME), ("dev.example.org", "k8s.dev.example.org")])
def test_the_domain_of_aws_may_be_left_out_at_a_terminal(answer: str, host: str, tmp_path: Path) -> None:
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "talosmith", "init", str(tmp_path / "new"), "--provider", "aws", "--no-secrets"],
        stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    os.close(terminal)
    os.write(controller, "".join(f"{one}\n" for one in ("", "3", "1", "eu-west-1", answer)).encode())
    _, err = process.communicate(timeout=300)
    os.close(controller)
    assert process.returncode == 0, err
    assert "none: at the load balancer's own name [none]" in err
    assert load(tmp_path / "new").endpoint.host == host


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--vip", "10.0.1.5"], "--vip: the VIP 10.0.1.5 is outside of --node-cidr 10.0.0.0/24"),
        (["--gateway", "10.0.1.1"], "--gateway: the gateway 10.0.1.1 is outside of --node-cidr 10.0.0.0/24"),
        (["--controlplanes", "3"], "--vip: 3 control planes need a VIP for the Kubernetes API"),
        (["--controlplanes", "0"], "--controlplanes: a cluster needs at least 1 control plane"),
        (["--workers", "-1"], "--workers: -1 is not a number of workers"),
        (["--provider", "vmware"], "--provider: `vmware` is not a provider"),
        (["--libvirt-uri", "qemu+tcp://host/system"], "--libvirt-uri: the transport `tcp` is not allowed"),
        (["--talos-version", "v1.0.0"], "--talos-version: Talos v1.0.0 is not"),
        (["--kubernetes-version", "v1.2.3"], "--kubernetes-version: Kubernetes v1.2.3 does not run on Talos"),
        (["--provider", "metal", "--disk", "/dev/sda"], "--interface: required for metal"),
        (["--provider", "metal", "--disk", "sda", "--interface", "e0"], "--disk: `sda` is neither a size"),
        (
            ["--provider", "aws", "--region", "here", "--domain", "example.org"],
            "--region: `here` has an invalid format",
        ),
        (["--provider", "proxmox", "--proxmox-url", "pve"], "--proxmox-url: `pve` is not the address"),
    ],
)
def test_a_wrong_flag_is_named(
    flags: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    libvirt = ["--provider", "libvirt", "--node-cidr", "10.0.0.0/24"]
    assert run(["init", str(tmp_path / "new"), "--no-input", *libvirt, *flags]) == 64
    assert said in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("folder", "name"), [("My Home_2", "my-home-2"), ("...", "demo"), ("k" * 70, "k" * 63)])
def test_the_cluster_is_named_after_its_folder(folder: str, name: str, tmp_path: Path) -> None:
    assert run(["init", str(tmp_path / folder), "--no-input"]) == 0
    assert load(tmp_path / folder).name == name


XML = "<network><name>default</name><ip family='ipv6' address='fd00::1' prefix='64'/>{}</network>"


@pytest.mark.parametrize(
    ("ip", "network", "gateway", "written"),
    [
        ("", "192.168.122.0/24", "192.168.122.1", False),
        ("<ip address='192.168.7.1' netmask='255.255.255.0'/>", "192.168.7.0/24", "192.168.7.1", False),
        ("<ip address='192.168.7.254' prefix='24'/>", "192.168.7.0/24", "192.168.7.254", True),
    ],
)
def test_libvirts_default_network_is_known(
    ip: str, network: str, gateway: str, written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libvirt_network, "_read", lambda uri: address_in(XML.format(ip)))
    libvirt_network.default_network.cache_clear()
    assert run(["init", str(tmp_path / "new"), "--no-input", "--provider", "libvirt"]) == 0
    found = load(tmp_path / "new").network
    assert (str(found.node_cidr), str(found.gateway)) == (network, gateway)
    assert ("gateway:" in (tmp_path / "new" / "cluster.yaml").read_text()) == written


def test_a_libvirt_that_is_remote_or_silent_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libvirt_network, "_read", lambda uri: time.sleep(5) or address_in(XML.format("")))
    monkeypatch.setattr(libvirt_network, "_PATIENCE", 0.01)
    libvirt_network.default_network.cache_clear()
    began = time.monotonic()
    assert libvirt_network.default_network("qemu+ssh://host/system") is None, "which may ask for a password"
    assert libvirt_network.default_network("qemu:///system") is None
    assert time.monotonic() - began < 4
    libvirt_network.default_network.cache_clear()


@pytest.mark.parametrize(
    ("flags", "following"),
    [
        ([], "talosmith secrets init -i new"),
        (["--secrets"], "talosmith plan -i new"),
        (["--secrets", "--provider", "docker"], "talosmith render configs -i new --out rendered"),
    ],
)
def test_it_ends_with_the_next_command(
    flags: list[str],
    following: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert run(["init", "new", "--no-input", *flags]) == 0
    said = capsys.readouterr()
    assert said.out.endswith(f"\nNext: {following}\n")
    assert (tmp_path / "new" / "secrets.sops.yaml").exists() == ("--secrets" in flags)
    assert ("warning: new/cluster.yaml" in said.err) == ("docker" in flags)
    assert run(following.replace("talosmith ", "").split()) != 64, "it can be typed as it is"


def test_help_marks_providers_that_are_not_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "lab, libvirt, proxmox, aws, metal; not built yet: configs only: docker" in said
