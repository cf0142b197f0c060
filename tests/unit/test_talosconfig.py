"""The talosconfig: certificate, text and merging."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from cryptography.x509.oid import NameOID

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.desired.talosconfig import Context, Talosconfig, new_client, new_talosconfig
from talosmith.errors import SecretsError, UsageError
from talosmith.model.secret import Secret

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def authority() -> CertificateAndKey:
    return pki.new_authority("talos", KeyKind.ED25519, now=NOW)


def roles_of(pair: CertificateAndKey) -> list[str | bytes]:
    subject = pki.read_certificate(pair.certificate).subject
    return sorted(part.value for part in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME))


def test_roles_and_lifetime_are_those_asked_for(authority: CertificateAndKey) -> None:
    assert roles_of(new_client(authority)) == ["os:admin"]
    client = new_client(
        authority, ["os:reader", "os:etcd:backup", "os:reader"], lifetime=timedelta(minutes=5), now=NOW
    )
    assert roles_of(client) == ["os:etcd:backup", "os:reader"]
    assert pki.read_certificate(client.certificate).not_valid_after_utc == NOW + timedelta(minutes=5)
    year = pki.read_certificate(new_client(authority, now=NOW).certificate)
    assert year.not_valid_after_utc - year.not_valid_before_utc == timedelta(days=365)


def test_roles_that_give_nothing_and_lifetimes_that_are_none_are_refused(authority: CertificateAndKey) -> None:
    for roles in (["admin"], [], ["os:admin", "os:root"]):
        with pytest.raises(UsageError) as caught:
            new_client(authority, roles)
        assert "os:etcd:backup" in caught.value.hint
    with pytest.raises(UsageError, match="must be positive"):
        new_client(authority, lifetime=timedelta(0))


def test_the_text_is_in_talosctl_form(authority: CertificateAndKey) -> None:
    config = new_talosconfig("home", authority, endpoints=["10.0.0.1", "cp.example"], nodes=["10.0.0.2"], now=NOW)
    text = config.to_text().reveal()
    ca = base64.b64encode(authority.certificate.encode()).decode()
    assert text.startswith(
        "context: home\n"
        "contexts:\n"
        "    home:\n"
        "        endpoints:\n"
        "            - 10.0.0.1\n"
        "            - cp.example\n"
        "        nodes:\n"
        "            - 10.0.0.2\n"
        f"        ca: {ca}\n"
        "        crt: "
    )
    context = yaml.safe_load(text)["contexts"]["home"]
    assert list(context) == ["endpoints", "nodes", "ca", "crt", "key"]
    key = pki.read_key(Secret(base64.b64decode(context["key"]).decode()))
    certificate = pki.read_certificate(base64.b64decode(context["crt"]).decode())
    assert pki.public_bytes(key) == pki.public_bytes(certificate)
    assert base64.b64decode(context["key"]).startswith(b"-----BEGIN ED25519 PRIVATE KEY-----\n")
    assert "        endpoints: []\n        ca: " in new_talosconfig("home", authority).to_text().reveal()
    assert Talosconfig.from_mapping(yaml.safe_load(text)) == config


def test_the_key_is_not_shown(authority: CertificateAndKey) -> None:
    config = new_talosconfig("home", authority)
    assert config.contexts["home"].key.reveal() not in f"{config!r} {config.to_text()!r}"


def test_merging_renames_what_clashes_and_takes_over_the_current_context() -> None:
    mine = Talosconfig("a", {"a": Context(("1",)), "a-1": Context(("2",)), "b": Context(("3",))})
    theirs = Talosconfig("a", {"a": Context(("4",)), "c": Context(("5",))})
    merged, renamed = mine.merged_with(theirs)
    assert merged.current == "a-2"
    assert renamed == {"a": "a-2"}
    assert {name: context.endpoints for name, context in merged.contexts.items()} == {
        "a": ("1",), "a-1": ("2",), "b": ("3",), "a-2": ("4",), "c": ("5",),
    }  # fmt: skip
    assert mine.merged_with(Talosconfig("", {"d": Context()}))[0].current == "a"
    assert mine.merged_with(Talosconfig("gone", {"d": Context()}))[0].current == ""


def test_contexts_of_all_ages_are_read() -> None:
    data = {
        "context": "old",
        "contexts": {
            "old": {"target": "10.0.0.1", "ca": "Q0E="},
            "omni": {"endpoints": ["https://x"], "auth": {"siderov1": {"identity": "me"}}, "cluster": "c"},
            "empty": {"endpoints": None, "nodes": None},
        },
    }
    written = Talosconfig.from_mapping(data).to_mapping()
    assert written == {
        "context": "old",
        "contexts": {
            "old": {"endpoints": ["10.0.0.1"], "ca": "Q0E="},
            "omni": {"endpoints": ["https://x"], "auth": {"siderov1": {"identity": "me"}}, "cluster": "c"},
            "empty": {"endpoints": []},
        },
    }
    assert list(written["contexts"]) == ["empty", "old", "omni"]
    assert Talosconfig.from_mapping({}) == Talosconfig("", {})


@pytest.mark.parametrize("data", [{"contexts": ["x"]}, {"contexts": {"a": "x"}}, {"contexts": {"a": None}}])
def test_what_is_no_talosconfig_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(SecretsError, match="does not hold contexts"):
        Talosconfig.from_mapping(data)
