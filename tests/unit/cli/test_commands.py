"""The commands as a person types them: what they print where, and how they end."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from talosmith import __version__
from talosmith.cli.app import run
from talosmith.cli.commands import COMMANDS
from talosmith.model.cluster import ENDPOINT_TO_COME

EXAMPLES = Path(__file__).parents[3] / "examples"
GOOD = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\ncontrolplane: 1\n"
Talosmith = Callable[..., tuple[int, str, str]]


@pytest.fixture
def talosmith(capsys: pytest.CaptureFixture[str]) -> Talosmith:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def docker(tmp_path: Path) -> Path:
    """An inventory whose provider is not built."""
    (tmp_path / "cluster.yaml").write_text(GOOD + "docker: {}\n")
    return tmp_path


def test_version_and_help(talosmith: Talosmith) -> None:
    version = subprocess.run(
        [sys.executable, "-m", "talosmith", "--version"], capture_output=True, text=True, check=True
    )
    assert version.stdout.split()[:4] == ["talosmith", __version__, "Python", platform.python_version()]
    code, out, _ = talosmith("--help")
    assert code == 0
    assert all(f"  {name}" in out for name in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(command: str, talosmith: Talosmith) -> None:
    code, out, _ = talosmith(command, "--help")
    assert code == 0
    assert out.startswith(f"Usage: talosmith {command}")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shwo"], "no such command: shwo\n  fix: did you mean `talosmith show`?"),
        (["--frobnicate"], "no such option before a command: --frobnicate"),
        (["show", "--frobnicate"], "no such option: --frobnicate"),
        (["show", "-o", "xml"], "--output: 'xml' is not one of text, json, yaml"),
        (["-i"], "-i needs a value"),
        (["show", "-i", str(EXAMPLES / "aws")], "choose one with -e: base, production, sandbox, staging"),
        (["show", "-i", str(EXAMPLES / "aws"), "-e", "../.."], "`../..` is not the name of an environment"),
    ],
)
def test_wrong_usage_ends_with_64(arguments: list[str], said: str, talosmith: Talosmith) -> None:
    code, out, err = talosmith(*arguments)
    assert (code, out) == (64, "")
    assert said in err


def test_validate_says_yes_on_stdout_and_warnings_on_stderr(talosmith: Talosmith) -> None:
    code, out, err = talosmith("validate", "-i", EXAMPLES / "homelab")
    assert code == 0
    assert "is valid: kubernetes, 3 + 1 nodes on metal (2 warnings)" in out
    assert "warning: `repository` is not built yet: the repository is neither read nor written\n" in err


def test_a_provider_that_is_not_built_fails_validate_and_what_works_with_machines(
    docker: Path, talosmith: Talosmith
) -> None:
    for command in ("validate", "plan", "up", "status", "health", "doctor", "destroy"):
        code, out, err = talosmith(command, "-i", docker)
        assert (code, out) == (65, ""), command
        assert "cluster.yaml:5:1: error: provider `docker` is not built yet\n" in err
        assert "fix: use `metal` with machines that you create yourself, or `lab` to try things out" in err


def test_configs_of_a_provider_that_is_not_built_are_shown(docker: Path, talosmith: Talosmith) -> None:
    code, out, err = talosmith("show", "-i", docker)
    assert code == 0 and "on docker" in out
    assert "warning:" in err and "provider `docker` is not built yet" in err


def test_all_environments_of_aws_are_valid_without_a_warning(talosmith: Talosmith) -> None:
    for environment, nodes in {"sandbox": "1 + 1", "staging": "3 + 2", "production": "3 + 6"}.items():
        code, out, err = talosmith("-e", environment, "validate", "-i", EXAMPLES / "aws")
        assert (code, err) == (0, "") and f"is valid: talos-{environment}, {nodes} nodes on aws\n" in out


TO_COME = "the load balancer's own name, known once the load balancer exists"


def test_an_endpoint_that_is_known_with_its_load_balancer_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talosmith: Talosmith
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", "")
    folder = tmp_path / "aws"
    folder.mkdir()
    (folder / "cluster.yaml").write_text(GOOD + "aws: {region: eu-west-1, azs: [eu-west-1a]}\n")
    code, out, err = talosmith("show", "-i", folder)
    assert (code, err) == (0, "") and f"API       {TO_COME}\n" in out
    code, out, _ = talosmith("graph", "topology", "-i", folder)
    assert "own name" in out and ".invalid" not in out
    assert talosmith("secrets", "init", "-i", folder)[0] == 0
    code, out, err = talosmith("render", "configs", "-i", folder)
    placeholder = f"https://{ENDPOINT_TO_COME}:6443"
    assert code == 0 and f"endpoint: {placeholder}" in out
    assert f"note: the endpoint of the Kubernetes API is {TO_COME}" in err and f"placeholder {placeholder}\n" in err
    code, _, err = talosmith("render", "configs", "-i", folder, "--out", tmp_path / "rendered")
    assert code == 0 and placeholder in err
    (folder / "cluster.yaml").write_text(GOOD + "aws: {region: eu-west-1, azs: [eu-west-1a], domain: example.org}\n")
    code, out, err = talosmith("render", "configs", "-i", folder)
    assert (code, err) == (0, "") and "endpoint: https://k8s.example.org:6443" in out


@pytest.mark.slow
def test_plan_and_up_repeat_the_warnings_of_the_inventory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talosmith: Talosmith
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SOPS_AGE_KEY_FILE", str(tmp_path / "age.txt"))
    (tmp_path / "cluster.yaml").write_text(GOOD + "repository: {url: 'https://git.example.org/a/b'}\n")
    for command in (["plan", "--new-secrets"], ["up", "--new-secrets"]):
        _, _, err = talosmith(*command, "-i", tmp_path)
        assert "cluster.yaml:5:1: `repository` is not built yet: the repository is neither read nor written" in err
    _, out, _ = talosmith("plan", "--new-secrets", "-o", "json", "-i", tmp_path)
    (warning,) = json.loads(out)["warnings"]
    assert (warning["severity"], warning["line"]) == ("warning", 5)
    _, out, _ = talosmith("plan", "--new-secrets", "-o", "markdown", "-i", tmp_path)
    assert "cluster.yaml:5:1: `repository` is not built yet" in out


def test_validate_shows_the_line_and_ends_with_65(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talosmith: Talosmith
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cluster.yaml").write_text(GOOD + "network: {pod_cidr: 10.244.0.5/16}\nnetwrok: 1\n")
    code, out, err = talosmith("validate", "-i", tmp_path)
    assert (code, out) == (65, "")
    assert "cluster.yaml:5:21: error: network.pod_cidr: `10.244.0.5/16` is an address" in err
    assert "  5 | network: {pod_cidr: 10.244.0.5/16}\n    |                     ^\n" in err
    assert "fix: did you mean 10.244.0.0/16?" in err
    assert "the inventory cannot be used: 2 errors" in err


@pytest.mark.parametrize("command", ["validate", "show"])
@pytest.mark.parametrize("form", ["json", "yaml"])
def test_errors_as_data(command: str, form: str, tmp_path: Path, talosmith: Talosmith) -> None:
    (tmp_path / "cluster.yaml").write_text(GOOD + "netwrok: 1\n")
    code, out, err = talosmith(command, "-i", tmp_path, "-o", form)
    assert (code, err) == (65, "")
    problem = yaml.safe_load(out)["problems"][0]
    assert (problem["line"], problem["column"], problem["message"]) == (5, 1, "unknown key `netwrok`")


def test_a_secret_is_never_shown(tmp_path: Path, talosmith: Talosmith) -> None:
    canary = "hunter2-canary"
    texts = [
        f"dns: {{provider: cloudflare, token: {canary}}}\n",
        f"proxmox: {{node: pve, token_secret: {canary}, tokens: 1}}\n",
        f"proxmox:\n  node: pve\n  password: {canary}\n",
        f"unifi: {{api_key: '{canary}'}}\n",
        f"backup: {{etcd: {{secret_key: {canary}, access_key: {canary}}}}}\n",
        f"dns:\n  token: {canary}\n token: x\n",
    ]
    for text in texts:
        (tmp_path / "cluster.yaml").write_text(GOOD + text)
        for form in ("text", "json", "yaml"):
            code, out, err = talosmith("validate", "-i", tmp_path, "-o", form)
            assert code == 65
            assert canary not in out + err


def test_show_lists_every_node(talosmith: Talosmith) -> None:
    code, out, _ = talosmith("show", "-i", EXAMPLES / "libvirt-ha")
    assert code == 0
    assert "talos-cp-3  controlplane  10.0.0.72  52:54:00:c1:00:03" in out
    assert "https://10.0.0.100:6443" in out


def test_show_as_data_is_the_same_in_json_and_yaml(talosmith: Talosmith) -> None:
    from_json = json.loads(talosmith("show", "-i", EXAMPLES / "homelab", "-o", "json")[1])
    assert from_json == yaml.safe_load(talosmith("-o", "yaml", "show", "-i", EXAMPLES / "homelab")[1])
    assert from_json["nodes"][3]["taints"] == ["example.org/gpu=true:NoSchedule"]
    assert from_json["services"]["dns"]["token"] == "sops:cloudflare.token"
    assert from_json["endpoint"] == {"host": "192.168.1.100", "port": 6443}


def test_origin_tells_file_default_and_derivation(talosmith: Talosmith) -> None:
    _, out, _ = talosmith("show", "-i", EXAMPLES / "aws", "-e", "production", "--origin", "-o", "json")
    origin = {entry["name"]: (entry["value"], entry["source"]) for entry in json.loads(out)["origins"]}
    base, own = (os.path.relpath(EXAMPLES / "aws" / name / "cluster.yaml") for name in ("base", "production"))
    assert origin["cluster_name"] == ("talos-production", f"{own}:2")
    assert origin["talos_version"] == ("v1.14.1", f"{base}:7")
    assert origin["network.pod_cidr"] == ("10.244.0.0/16", "default")
    assert origin["nodes.cp-1.disk_mib"] == (51200, f"{base}:35")
    assert origin["nodes.w-6.instance_type"][1] == "from aws.instance_type"
    assert origin["nodes.w-6.ip"][1].startswith("derived: ")
    _, out, _ = talosmith("show", "-i", EXAMPLES / "homelab", "--origin", "-o", "json")
    origin = {entry["name"]: (entry["value"], entry["source"]) for entry in json.loads(out)["origins"]}
    nodes = os.path.relpath(EXAMPLES / "homelab" / "nodes.yaml")
    assert origin["nodes.k8s-gpu.install_disk"] == ("/dev/nvme0n1", f"{nodes}:20")
    assert origin["nodes.k8s-gpu.mtu"] == (9000, f"{nodes}:21")


def test_every_value_of_every_example_has_an_origin(talosmith: Talosmith) -> None:
    for example in ("lab", "libvirt-ha", "proxmox", "proxmox-inventory", "homelab", "aws/staging"):
        _, out, _ = talosmith("show", "-i", EXAMPLES / example, "--origin", "-o", "json")
        assert all(entry["source"] for entry in json.loads(out)["origins"])


def test_schema_for_both_files(talosmith: Talosmith) -> None:
    cluster = json.loads(talosmith("schema")[1])
    nodes = json.loads(talosmith("schema", "nodes")[1])
    assert {"cluster_name", "network", "proxmox"} <= cluster["properties"].keys()
    assert nodes["properties"].keys() == {"controlplane", "workers"}
    assert cluster["properties"]["mac_index"]["description"].startswith("fifth byte")


def test_the_inventory_is_found_from_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talosmith: Talosmith
) -> None:
    (tmp_path / "cluster.yaml").write_text(GOOD)
    (tmp_path / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "down")
    assert talosmith("validate")[0] == 0
    monkeypatch.setenv("TALOSMITH_INVENTORY", str(EXAMPLES / "lab"))
    assert "lab, 3 + 2 nodes" in talosmith("validate")[1]


def test_environments_are_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talosmith: Talosmith
) -> None:
    for name in ("dev", "prod"):
        (tmp_path / "inventory" / name).mkdir(parents=True)
        (tmp_path / "inventory" / name / "cluster.yaml").write_text(GOOD.replace("dev", name))
    monkeypatch.chdir(tmp_path)
    assert "choose one with -e: dev, prod" in talosmith("validate")[2]
    assert "valid: prod" in talosmith("-e", "prod", "validate")[1]
    monkeypatch.chdir(tmp_path / "inventory" / "dev")
    assert "valid: dev" in talosmith("validate")[1]
    assert "valid: prod" in talosmith("validate", "-e", "prod")[1]
    assert "valid: prod" in talosmith("validate", "-i", ".", "-e", "prod")[1]


def test_no_inventory_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talosmith: Talosmith) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = talosmith("validate")
    assert code == 64
    assert "create one with `talosmith init`" in err


def test_a_closed_pipe_is_no_traceback() -> None:
    command = [sys.executable, "-m", "talosmith", "show", "-i", str(EXAMPLES / "homelab"), "-o", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait(timeout=120)
