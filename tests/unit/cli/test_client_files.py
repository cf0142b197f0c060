"""`talosmith kubeconfig` and `talosmith talosconfig`: made from the secrets alone, for their owner alone."""

from __future__ import annotations

import base64
import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509

from talosmith.cli.app import run
from talosmith.desired.bundle import Bundle
from talosmith.desired.pki import read_certificate
from talosmith.desired.secrets_file import create_secrets
from talosmith.kube.kubeconfig import read_kubeconfig
from talosmith.model.resources import Resource
from talosmith.providers.aws import AwsProvider

INVENTORY = """\
cluster_name: dev
talos_version: v1.13.9
kubernetes_version: v1.36.3
network: {node_cidr: 10.0.0.0/24, vip: 10.0.0.5}
libvirt: {uri: "test:///nowhere"}
controlplane: 2
"""
Talosmith = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return Bundle.generate(contract=(1, 13))


@pytest.fixture
def folder(tmp_path: Path, bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    for name in ("KUBECONFIG", "TALOSCONFIG"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "inventory"
    folder.mkdir()
    (folder / "cluster.yaml").write_text(INVENTORY)
    create_secrets(folder, bundle)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def talosmith(capsys: pytest.CaptureFixture[str], folder: Path) -> Talosmith:
    def call(*arguments: object) -> tuple[int, str, str]:
        code = run([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return call


def certificate(encoded: str) -> x509.Certificate:
    return read_certificate(base64.b64decode(encoded).decode())


def lasts(found: x509.Certificate, lifetime: timedelta) -> bool:
    return abs(found.not_valid_after_utc - datetime.now(UTC) - lifetime) < timedelta(minutes=5)


def test_kubeconfig_is_written_into_the_inventory_folder(folder: Path, bundle: Bundle, talosmith: Talosmith) -> None:
    code, out, err = talosmith("kubeconfig")
    path = folder / "kubeconfig"
    assert (code, err) == (0, "")
    assert out.startswith(f"✓ {path}\n  context admin@dev, certificate valid until ")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    found = yaml.safe_load(path.read_text())
    assert found["current-context"] == found["contexts"][0]["name"] == "admin@dev"
    assert found["contexts"][0]["context"] == {"cluster": "dev", "namespace": "default", "user": "admin@dev"}
    assert read_kubeconfig(found).server == "https://10.0.0.5:6443"
    client = certificate(found["users"][0]["user"]["client-certificate-data"])
    assert client.subject.rfc4514_string() == "CN=admin,O=system:masters"
    client.verify_directly_issued_by(read_certificate(bundle.k8s.certificate))
    assert lasts(client, timedelta(days=365))


def test_kubeconfig_of_another_user_for_a_short_time(talosmith: Talosmith) -> None:
    code, out, _ = talosmith("kubeconfig", "--out", "-", "--lifetime", "8h", "--user", "jane", "--group", "dev:view")
    assert code == 0
    found = yaml.safe_load(out)
    assert found["current-context"] == "jane@dev"
    client = certificate(found["users"][0]["user"]["client-certificate-data"])
    assert client.subject.rfc4514_string() == "CN=jane,O=dev:view"
    assert lasts(client, timedelta(hours=8))
    nobody = yaml.safe_load(talosmith("kubeconfig", "--out", "-", "--user", "jane")[1])["users"][0]["user"]
    assert certificate(nobody["client-certificate-data"]).subject.rfc4514_string() == "CN=jane", (
        "not an administrator"
    )


def test_talosconfig_has_the_role_and_the_lifetime(folder: Path, talosmith: Talosmith) -> None:
    """The provider does not answer here: the inventory's addresses are the endpoints, and the command says so."""
    code, out, err = talosmith("talosconfig", "--role", "os:reader", "--lifetime", "12h", "-o", "json")
    assert code == 0
    assert "note: endpoints are the inventory's addresses: provider libvirt failed" in err
    found = json.loads(out)
    assert (found["kind"], found["files"]) == (
        "ClientFile",
        [{"path": str(folder / "talosconfig"), "context": "dev"}],
    )
    config = yaml.safe_load((folder / "talosconfig").read_text())
    context = config["contexts"]["dev"]
    assert (config["context"], context["endpoints"]) == ("dev", ["10.0.0.10", "10.0.0.11"])
    client = certificate(context["crt"])
    assert client.subject.rfc4514_string() == "O=os:reader"
    assert lasts(client, timedelta(hours=12))
    assert found["expires"] == client.not_valid_after_utc.strftime("%Y-%m-%dT%H:%M:%SZ")


@pytest.mark.parametrize(("command", "where"), [("kubeconfig", ".kube"), ("talosconfig", ".talos")])
def test_merge_is_into_the_users_own_file(command: str, where: str, folder: Path, talosmith: Talosmith) -> None:
    code, out, _ = talosmith(command, "--merge")
    own = Path.home() / where / "config"
    assert code == 0
    assert f"✓ {own}\n  context" in out
    assert not (folder / command).exists()
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    assert talosmith(command, "--merge", "--out", "both")[0] == 0
    assert (folder / "both").exists()


@pytest.mark.parametrize("command", ["kubeconfig", "talosconfig"])
def test_a_file_of_another_cluster_is_not_overwritten(command: str, folder: Path, talosmith: Talosmith) -> None:
    other: dict[str, Any] = {"clusters": [{"cluster": {"certificate-authority-data": "b3RoZXI="}}]}
    other |= {"context": "a", "contexts": {"a": {"ca": "b3RoZXI="}}}
    for arguments in ([], ["--out", command]):
        (folder / command).write_text(yaml.safe_dump(other))
        code, _, err = talosmith(command, *arguments)
        assert (code, yaml.safe_load((folder / command).read_text())) == (1, other)
        assert "already exists and belongs to another cluster" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("kubeconfig", "--lifetime", "soon"),
        ("kubeconfig", "--lifetime", "0s"),
        ("kubeconfig", "--user", ""),
        ("kubeconfig", "--out", "-", "--merge"),
        ("kubeconfig", "--out", "-", "-o", "json"),
        ("talosconfig", "--role", "os:king"),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], folder: Path, talosmith: Talosmith) -> None:
    code, _, _ = talosmith(*arguments)
    assert code == 64
    assert not (folder / arguments[0]).exists()


def test_a_kubeconfig_for_the_load_balancers_own_name_asks_the_provider(
    folder: Path, talosmith: Talosmith, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kubeconfig with a placeholder would help nobody."""
    there: list[Resource] = []

    async def find(provider: AwsProvider) -> list[Resource]:
        return there

    monkeypatch.setattr(AwsProvider, "find_resources", find)
    text = INVENTORY.partition("network:")[0] + "aws: {region: eu-west-1, azs: [eu-west-1a]}\ncontrolplane: 1\n"
    (folder / "cluster.yaml").write_text(text)
    code, _, err = talosmith("kubeconfig")
    assert code == 1 and not (folder / "kubeconfig").exists()
    assert "the endpoint of the Kubernetes API is not known" in err and "`talosmith up` writes a kubeconfig" in err

    name = "talosmith-0123.elb.eu-west-1.amazonaws.com"
    there.append(Resource(id="arn", kind="load-balancer", name="api", outputs={"dns_name": name}))
    assert talosmith("kubeconfig")[0] == 0
    (cluster,) = yaml.safe_load((folder / "kubeconfig").read_text())["clusters"]
    assert cluster["cluster"]["server"] == f"https://{name}:6443"
