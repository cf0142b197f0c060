"""Keys and certificates: their form to the last extension, and what is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import ExtensionOID, NameOID

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey, KeyKind
from talosmith.errors import SecretsError
from talosmith.model.secret import Secret

NOW = datetime(2026, 3, 1, 12, 30, 15, 999999, tzinfo=UTC)


def extensions(certificate: x509.Certificate) -> list[tuple[x509.ObjectIdentifier, bool]]:
    return [(extension.oid, extension.critical) for extension in certificate.extensions]


@pytest.fixture(scope="module")
def authority() -> CertificateAndKey:
    return pki.new_authority("talos", KeyKind.ED25519, now=NOW)


def test_an_authority_has_what_talos_gives_it(authority: CertificateAndKey) -> None:
    certificate = pki.read_certificate(authority.certificate)
    assert extensions(certificate) == [
        (ExtensionOID.KEY_USAGE, True),
        (ExtensionOID.EXTENDED_KEY_USAGE, False),
        (ExtensionOID.BASIC_CONSTRAINTS, True),
        (ExtensionOID.SUBJECT_KEY_IDENTIFIER, False),
    ]
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature and usage.key_cert_sign and not usage.crl_sign
    assert list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [
        pki.SERVER,
        pki.CLIENT,
    ]
    assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value == x509.BasicConstraints(
        ca=True, path_length=None
    )
    assert certificate.subject == certificate.issuer
    assert certificate.subject.rfc4514_string() == "O=talos"
    assert certificate.serial_number.bit_length() <= 128
    certificate.verify_directly_issued_by(certificate)


def test_an_authority_lives_87600_hours_from_the_very_second(authority: CertificateAndKey) -> None:
    certificate = pki.read_certificate(authority.certificate)
    assert certificate.not_valid_before_utc == NOW.replace(microsecond=0)
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == timedelta(days=3650)


def test_the_time_may_be_told_in_any_zone() -> None:
    elsewhere = NOW.astimezone(timezone(timedelta(hours=-7)))
    certificate = pki.read_certificate(pki.new_authority("x", KeyKind.ED25519, now=elsewhere).certificate)
    assert certificate.not_valid_before_utc == NOW.replace(microsecond=0)


def test_the_key_id_of_an_authority_is_random(authority: CertificateAndKey) -> None:
    def key_id(pair: CertificateAndKey) -> bytes:
        certificate = pki.read_certificate(pair.certificate)
        return certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest

    public = pki.read_certificate(authority.certificate).public_key()
    assert len(key_id(authority)) == 20
    assert key_id(authority) != x509.SubjectKeyIdentifier.from_public_key(public).digest
    assert key_id(authority) != key_id(pki.new_authority("talos", KeyKind.ED25519, now=NOW))


def test_without_an_organization_the_name_is_empty() -> None:
    certificate = pki.read_certificate(pki.new_authority("", KeyKind.ECDSA_P256, now=NOW).certificate)
    assert (certificate.subject, certificate.issuer) == (x509.Name([]), x509.Name([]))
    assert isinstance(certificate.signature_hash_algorithm, hashes.SHA256)


@pytest.mark.parametrize(
    ("kind", "label", "size"),
    [(KeyKind.ED25519, "ED25519 PRIVATE KEY", 0), (KeyKind.ECDSA_P256, "EC PRIVATE KEY", 256)],
)
def test_a_key_is_written_under_talos_label_and_read_again(kind: KeyKind, label: str, size: int) -> None:
    key = pki.new_key(kind)
    text = pki.write_key(key).reveal()
    assert text.startswith(f"-----BEGIN {label}-----\n")
    assert text.endswith(f"-----END {label}-----\n")
    again = pki.read_key(Secret(text))
    assert pki.public_bytes(again) == pki.public_bytes(key)
    assert not size or again.key_size == size  # type: ignore[union-attr]


def test_keys_are_read_under_every_label_that_talos_reads() -> None:
    small_rsa = rsa.generate_private_key(65537, 2048)
    keys: list[pki.PrivateKey] = [
        small_rsa,
        ec.generate_private_key(ec.SECP384R1()),
        ed25519.Ed25519PrivateKey.generate(),
    ]
    for key in keys:
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        assert pki.public_bytes(pki.read_key(Secret(f"a note above it\n{text}"))) == pki.public_bytes(key)
    text = small_rsa.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    assert text.startswith("-----BEGIN RSA PRIVATE KEY-----")
    assert pki.public_bytes(pki.read_key(Secret(text))) == pki.public_bytes(small_rsa)


def test_keys_that_talos_would_not_read_are_refused_and_not_shown() -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    sec1 = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    pkcs8 = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"x")).decode()
    parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
    lines = sec1.splitlines()
    for wrong in (
        "",
        "no key at all",
        parameters + sec1,
        locked,
        "\n".join([lines[0], *lines[2:]]),
        pkcs8.replace("PRIVATE KEY", "ED25519 PRIVATE KEY"),
    ):
        with pytest.raises(SecretsError) as caught:
            pki.read_key(Secret(wrong))
        assert lines[1][:20] not in f"{caught.value} {caught.value.hint}"
        assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_what_is_no_certificate_is_refused(authority: CertificateAndKey) -> None:
    for wrong in ("", "text", authority.certificate.replace("CERTIFICATE", "TRUSTED"), authority.certificate[:200]):
        with pytest.raises(SecretsError, match="not a certificate"):
            pki.read_certificate(wrong)


def test_a_client_certificate_is_for_clients_only(authority: CertificateAndKey) -> None:
    client = pki.new_leaf(authority, ["os:reader", "os:operator"], lifetime=timedelta(hours=1), now=NOW)
    issuer, certificate = pki.read_certificate(authority.certificate), pki.read_certificate(client.certificate)
    certificate.verify_directly_issued_by(issuer)
    assert extensions(certificate) == [
        (ExtensionOID.KEY_USAGE, True),
        (ExtensionOID.EXTENDED_KEY_USAGE, False),
        (ExtensionOID.AUTHORITY_KEY_IDENTIFIER, False),
    ]
    assert list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value) == [pki.CLIENT]
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    assert usage.digital_signature and not usage.key_cert_sign
    authority_id = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    own_id = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    assert (authority_id.key_identifier, authority_id.authority_cert_issuer) == (own_id.digest, None)
    assert certificate.not_valid_after_utc == NOW.replace(microsecond=0) + timedelta(hours=1)
    # All roles in one part of the name.
    assert [len(list(part)) for part in certificate.subject.rdns] == [2]
    assert {name.value for name in certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)} == {
        "os:reader",
        "os:operator",
    }
    assert pki.public_bytes(certificate) == pki.public_bytes(pki.read_key(client.key))


def test_a_server_certificate_names_hosts_and_addresses(authority: CertificateAndKey) -> None:
    server = pki.new_leaf(
        authority,
        [],
        lifetime=timedelta(hours=1),
        usages=(pki.SERVER, pki.CLIENT),
        names=["10.0.0.1", "node.example", "fd00::1"],
        common_name="node",
    )
    certificate = pki.read_certificate(server.certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    assert names.value.get_values_for_type(x509.DNSName) == ["node.example"]
    assert [str(ip) for ip in names.value.get_values_for_type(x509.IPAddress)] == ["10.0.0.1", "fd00::1"]
    assert not names.critical
    nameless = pki.new_leaf(authority, [], lifetime=timedelta(hours=1), names=["a.example"])
    certificate = pki.read_certificate(nameless.certificate)
    assert certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).critical


def test_the_key_of_a_leaf_follows_the_authority(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = rsa.generate_private_key(65537, 2048)
    generate = pki.new_key
    monkeypatch.setattr(pki, "new_key", lambda kind: prepared if kind is KeyKind.RSA_4096 else generate(kind))
    for kind, key_type, digest in (
        (KeyKind.ED25519, ed25519.Ed25519PrivateKey, None),
        (KeyKind.ECDSA_P256, ec.EllipticCurvePrivateKey, "sha256"),
        (KeyKind.RSA_4096, rsa.RSAPrivateKey, "sha512"),
    ):
        authority = pki.new_authority("ca", kind, now=NOW)
        leaf = pki.new_leaf(authority, ["os:admin"], lifetime=timedelta(hours=1), now=NOW)
        certificate = pki.read_certificate(leaf.certificate)
        assert isinstance(pki.read_key(leaf.key), key_type)
        assert (certificate.signature_hash_algorithm and certificate.signature_hash_algorithm.name) == digest
        certificate.verify_directly_issued_by(pki.read_certificate(authority.certificate))


def test_names_are_printable_strings_where_they_can_be(authority: CertificateAndKey) -> None:
    for organization, tag in (("os:admin", 0x13), ("größe", 0x0C), ("a*b", 0x0C)):
        leaf = pki.new_leaf(authority, [organization], lifetime=timedelta(hours=1))
        name = pki.read_certificate(leaf.certificate).subject.public_bytes()
        assert bytes([tag, len(organization.encode())]) + organization.encode() in name


def test_a_pair_does_not_show_its_key(authority: CertificateAndKey) -> None:
    body = authority.key.reveal().splitlines()[1]
    assert body not in repr(authority)
    assert "***" in repr(authority)
