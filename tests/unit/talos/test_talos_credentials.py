from __future__ import annotations

import base64
import os
import ssl
import stat
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.desired.talosconfig import new_talosconfig
from talosmith.errors import SecretsError, UsageError
from talosmith.model.secret import Secret
from talosmith.talos import Credentials, TalosClient
from talosmith.talos.grpc.tls import cluster_context, fingerprint, read_fingerprint
from talosmith.talos.proto import machine_pb2 as wire
from tests.unit.talos.conftest import PATIENT
from tests.unit.talos.server import answer, new_authority, new_credentials, server_context, serving

HELLO = answer(wire.VersionResponse(messages=[wire.Version(version=wire.VersionInfo(tag="v1.13.9"))]))


def bundle_of(authority: CertificateAndKey) -> Bundle:
    """Only what a client needs of one; the rest costs seconds to make."""
    nothing = Secret("")
    return Bundle("id", nothing, nothing, nothing, authority, authority, authority, nothing, authority)


@pytest.mark.parametrize("kind", [KeyKind.ED25519, KeyKind.ECDSA_P256])
async def test_a_bundle_opens_a_node_whatever_its_keys_are(kind: KeyKind) -> None:
    authority = new_authority(kind)
    async with (
        serving(server_context(authority), machine_Version=HELLO) as address,
        TalosClient.from_bundle(bundle_of(authority), limits=PATIENT) as client,
    ):
        assert (await client.node(address).version()).tag == "v1.13.9"


@pytest.mark.slow
async def test_rsa_keys_work_too() -> None:
    authority = new_authority(KeyKind.RSA_4096)
    async with (
        serving(server_context(authority), machine_Version=HELLO) as address,
        TalosClient.from_bundle(bundle_of(authority), limits=PATIENT) as client,
    ):
        assert (await client.node(address).version()).tag == "v1.13.9"


@pytest.mark.parametrize("form", ["object", "mapping", "text", "secret"])
async def test_a_talosconfig_opens_a_node(form: str, authority: CertificateAndKey, context: ssl.SSLContext) -> None:
    config = new_talosconfig("lab", authority)
    given: Any = {
        "object": config,
        "mapping": config.to_mapping(),
        "text": config.to_text().reveal(),
        "secret": config.to_text(),
    }[form]
    async with (
        serving(context, machine_Version=HELLO) as address,
        TalosClient.from_talosconfig(given, limits=PATIENT) as client,
    ):
        assert (await client.node(address).version()).tag == "v1.13.9"


def test_a_context_is_chosen_by_its_name(authority: CertificateAndKey) -> None:
    both, _ = new_talosconfig("one", authority).merged_with(new_talosconfig("two", new_authority()))
    assert Credentials.from_talosconfig(both, "one").authority == authority.certificate
    assert Credentials.from_talosconfig(both).authority != authority.certificate
    with pytest.raises(SecretsError, match="no context 'three'") as caught:
        Credentials.from_talosconfig(both, "three")
    assert "one, two" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[]", "not a mapping"),
        ("a: [", "not YAML"),
        ("contexts: {}", "names no current context"),
        ("context: a\ncontexts: {a: {endpoints: [x]}}", "holds no client certificate"),
        ("context: a\ncontexts: {a: {ca: '*', crt: b, key: c}}", "ca .* not base64"),
        ("context: a\ncontexts: {a: {ca: YQ==, crt: YQ==, key: YQ==}}", "ca is not a certificate"),
    ],
)
def test_a_bad_talosconfig_is_explained(text: str, what: str) -> None:
    with pytest.raises(SecretsError, match=what):
        Credentials.from_talosconfig(text)


def test_a_key_of_another_certificate_is_refused_without_being_shown(credentials: Credentials) -> None:
    other = new_credentials(new_authority())
    with pytest.raises(SecretsError, match="does not belong") as caught:
        Credentials(credentials.authority, credentials.certificate, other.key)
    assert other.key.reveal()[40:60] not in str(caught.value)
    assert other.key.reveal()[40:60] not in repr(credentials) + repr(other)


def test_a_certificate_for_a_run_is_short_lived_and_forgives_slow_clocks(authority: CertificateAndKey) -> None:
    made = Credentials.from_bundle(bundle_of(authority), ["os:reader"], lifetime=timedelta(hours=2))
    now = datetime.now(UTC)
    assert now - timedelta(hours=2) < made.valid_from < now - timedelta(minutes=59)
    assert now + timedelta(hours=1, minutes=59) < made.valid_until < now + timedelta(hours=2, minutes=1)
    roles = pki.read_certificate(made.certificate).subject.rfc4514_string()
    assert roles == "O=os:reader"


@pytest.mark.parametrize("with_memory", [True, False])
def test_the_key_is_in_no_file_that_others_could_read(
    with_memory: bool, credentials: Credentials, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where a file must be, it is the owner's alone, and gone afterwards even when loading fails."""
    seen: list[tuple[str, int]] = []

    load = ssl.SSLContext.load_cert_chain

    def watching(self: ssl.SSLContext, certfile: str) -> None:
        seen.append((certfile, stat.S_IMODE(Path(certfile).stat().st_mode)))
        load(self, certfile)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watching)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    if not with_memory:
        monkeypatch.delattr(os, "memfd_create")
    old = os.umask(0)
    try:
        cluster_context(credentials)
    finally:
        os.umask(old)
    ((path, mode),) = seen
    if with_memory:
        assert path.startswith("/proc/self/fd/")
    else:
        assert Path(path).parent == tmp_path
        assert mode == 0o600
    assert list(tmp_path.iterdir()) == []
    assert not Path(path).exists()


def test_fingerprints_are_read_in_every_usual_form(authority: CertificateAndKey) -> None:
    certificate = pki.read_certificate(authority.certificate)
    printed = fingerprint(ssl.PEM_cert_to_DER_cert(authority.certificate))
    raw = base64.b64decode(printed)
    assert len(raw) == 32
    assert pki.public_bytes(certificate) not in raw
    colons = ":".join(f"{byte:02X}" for byte in raw)
    assert {read_fingerprint(text) for text in (printed, f" {printed}\n", raw.hex(), raw.hex().upper(), colons)} == {
        printed
    }
    for wrong in ("", "abc", printed[:-2], raw.hex()[:-1], "z" * 64):
        with pytest.raises(UsageError, match="not a fingerprint"):
            read_fingerprint(wrong)
