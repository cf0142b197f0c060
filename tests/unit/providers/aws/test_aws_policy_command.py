"""`talosmith render aws-policy`: prints the IAM policy of a cluster, also without secrets and without boto3."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from talosmith import load
from talosmith.cli.app import run
from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import create_secrets, read_secrets
from talosmith.desired.target import owner_of
from talosmith.model.machines import ID_TAG
from talosmith.model.providers import Aws
from talosmith.providers.aws import settings_of
from talosmith.providers.aws.permissions import policy

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    text = "cluster_name: dev\ntalos_version: v1.13.9\nkubernetes_version: v1.36.3\n"
    text += "aws: {region: eu-central-1, azs: [eu-central-1a], domain: example.org}\n"
    (tmp_path / "cluster.yaml").write_text(
        text + "controlplane: {count: 1, disk: 40G}\nworkers: {count: 1, disk: 40G}\n"
    )
    return tmp_path


def test_the_command_prints_the_policy_of_the_cluster(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    create_secrets(folder, Bundle.generate())
    capsys.readouterr()
    assert run(["render", "aws-policy", "-i", str(folder)]) == 0
    out, err = capsys.readouterr()
    cluster = load(folder)
    assert isinstance(cluster.provider, Aws) and not err
    owner = owner_of(cluster, read_secrets(folder).bundle)
    assert json.loads(out) == policy(settings_of(cluster, cluster.provider, owner))
    assert owner.id in out
    assert run(["render", "aws-policy", "-i", str(folder), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(out)


def test_the_command_without_secrets(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says so, and the policy covers any id."""
    assert run(["render", "aws-policy", "-i", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert "secrets.sops.yaml does not exist" in err and "talosmith secrets init" in err
    found = {one["Sid"]: one for one in json.loads(out)["Statement"]}
    assert found["ChangeOwn"]["Condition"] == {"StringLike": {f"aws:ResourceTag/{ID_TAG}": "*"}}
    assert "arn:aws:elasticloadbalancing:eu-central-1:*:targetgroup/talosmith-*-*" in found["Balance"]["Resource"]


def test_the_command_needs_no_boto3(folder: Path) -> None:
    program = "import sys; sys.modules['boto3'] = sys.modules['botocore'] = None; from talosmith.cli.app import run; "
    program += f"sys.exit(run(['render', 'aws-policy', '-i', {str(folder)!r}]))"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["Version"] == "2012-10-17"


def test_the_command_is_for_aws_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (folder / "cluster.yaml").read_text()
    lab = "\n".join("lab: {}" if line.startswith("aws:") else line for line in text.splitlines())
    (folder / "cluster.yaml").write_text(lab)
    assert run(["render", "aws-policy", "-i", str(folder)]) == 64
    assert "provider `lab` needs no IAM policy" in capsys.readouterr().err
