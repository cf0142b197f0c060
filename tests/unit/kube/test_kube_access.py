"""Who we are: certificates from a bundle, kubeconfigs, and keys that are not left lying about."""

from __future__ import annotations

import base64
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cryptography.x509.oid import NameOID

from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.errors import SecretsError, UsageError
from talosmith.kube import Credentials
from talosmith.kube.kubeconfig import read_kubeconfig
from talosmith.kube.transport import Server
from talosmith.model.secret import Secret


@pytest.fixture(scope="module")
def credentials(authority: CertificateAndKey) -> Credentials:
    unused = Secret("unused")
    bundle = Bundle(
        cluster_id="id",
        cluster_secret=unused,
        bootstrap_token=unused,
        trustd_token=unused,
        etcd=authority,
        k8s=authority,
        k8s_aggregator=authority,
        k8s_service_account=unused,
        os=authority,
    )
    return Credentials.from_bundle(bundle)


def test_a_bundle_makes_an_administrator(credentials: Credentials) -> None:
    subject = pki.read_certificate(credentials.certificate).subject
    assert [one.value for one in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["admin"]
    assert [one.value for one in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:masters"]
    assert credentials.server_name == "kubernetes"
    assert credentials.key.reveal() not in repr(credentials)


def test_the_key_is_never_in_a_file_that_stays(
    credentials: Credentials, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    original = tempfile.mkstemp

    def watched(prefix: str) -> tuple[int, str]:
        handle, path = original(prefix=prefix, dir=tmp_path)
        modes.append(Path(path).stat().st_mode & 0o777)
        return handle, path

    monkeypatch.setattr(tempfile, "mkstemp", watched)
    credentials.context()
    assert modes == []  # in memory
    monkeypatch.delattr(os, "memfd_create")
    credentials.context()
    assert modes == [0o600]
    assert list(tmp_path.iterdir()) == []


def test_a_key_of_another_certificate(credentials: Credentials) -> None:
    other = pki.write_key(pki.new_key(KeyKind.ECDSA_P256))
    with pytest.raises(SecretsError, match="does not belong"):
        Credentials(credentials.authority, credentials.certificate, other)


def kubeconfig(cluster: dict[str, Any], user: dict[str, Any]) -> dict[str, Any]:
    return {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://10.5.0.2:6443", **cluster}}],
        "users": [{"name": "u", "user": user}],
    }


def test_a_kubeconfig_by_files_and_by_text(credentials: Credentials, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text(credentials.authority)
    (tmp_path / "token").write_text("abc\n")
    config = kubeconfig({"certificate-authority": "ca.crt"}, {"tokenFile": str(tmp_path / "token")})
    access = read_kubeconfig(config, folder=tmp_path)
    assert access.credentials == Credentials(credentials.authority, token=Secret("abc"))
    with pytest.raises(UsageError, match="relative path"):
        read_kubeconfig(config)
    encoded = base64.b64encode(credentials.authority.encode()).decode()
    text = f"""
current-context: c
contexts: [{{name: c, context: {{cluster: k, user: u, namespace: apps}}}}]
clusters: [{{name: k, cluster: {{server: "https://x", certificate-authority-data: {encoded}}}}}]
users: [{{name: u, user: {{token: secret-token}}}}]
"""
    access = read_kubeconfig(Secret(text))
    assert (access.namespace, access.credentials.token) == ("apps", Secret("secret-token"))
    assert "secret-token" not in repr(access)


@pytest.mark.parametrize(
    ("cluster", "user", "said"),
    [
        ({"insecure-skip-tls-verify": True}, {}, "turns off the check"),
        ({"server": "http://10.5.0.2"}, {}, "https"),
        ({}, {"exec": {"command": "x"}}, "another program"),
        ({}, {"username": "a", "password": "b"}, "password"),
    ],
)
def test_kubeconfigs_that_are_refused(cluster: dict[str, Any], user: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_kubeconfig(kubeconfig(cluster, user))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: c: d\n", "line 2: mapping values are not allowed"),
        ("a: 1\na: 2\n", "line 2: the key 'a' twice"),
        ("a: " + "[" * 300, "nested deeper"),
        ("a: \x00", "not YAML"),
        ("", "not a mapping"),
    ],
)
def test_kubeconfigs_that_cannot_be_read(text: str, said: str) -> None:
    with pytest.raises(SecretsError, match=said):
        read_kubeconfig(text)


def test_a_context_that_is_not_there() -> None:
    with pytest.raises(SecretsError) as caught:
        read_kubeconfig(kubeconfig({}, {}), "other")
    assert "It has: c." in caught.value.hint


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("10.5.0.2", "10.5.0.2:6443"),
        ("10.5.0.2:443", "10.5.0.2"),
        ("fd00::2", "[fd00::2]:6443"),
        ("[fd00::2]:7443", "[fd00::2]:7443"),
        ("https://k.example.org", "k.example.org"),
    ],
)
def test_addresses(text: str, server: str) -> None:
    assert str(Server.parse(text)) == server


@pytest.mark.parametrize("text", ["http://10.5.0.2", "", "https://"])
def test_no_addresses(text: str) -> None:
    with pytest.raises(UsageError):
        Server.parse(text)
