"""Keys and certificates in the very form Talos makes and reads them.

Small things matter here: Talos names Ed25519 keys in PEM by a label of its own, its authorities carry
a random key id, and a node refuses a client certificate that is good for anything else than clients.
"""

from __future__ import annotations

import base64
import ipaddress
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.name import _ASN1Type
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID, SignatureAlgorithmOID

from talosmith.errors import SecretsError
from talosmith.model.secret import Secret

AUTHORITY_LIFETIME = timedelta(hours=87600)
CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH
SERVER = ExtendedKeyUsageOID.SERVER_AUTH

PrivateKey = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_ED25519_LABEL = "ED25519 PRIVATE KEY"
_KEY_LABELS = ("RSA PRIVATE KEY", "EC PRIVATE KEY", _ED25519_LABEL, "PRIVATE KEY")
_FIRST_LABEL = re.compile(r"^-----BEGIN ([A-Z0-9 ]+)-----[ \t\r]*$", re.MULTILINE)
_PRINTABLE = re.compile(r"[A-Za-z0-9 '()+,./:=?-]+")


class KeyKind(Enum):
    """The kinds of keys Talos makes."""

    ED25519 = "Ed25519"
    ECDSA_P256 = "ECDSA P-256"
    RSA_4096 = "RSA 4096"


_ALGORITHMS = {
    KeyKind.ED25519: (SignatureAlgorithmOID.ED25519,),
    KeyKind.ECDSA_P256: (
        SignatureAlgorithmOID.ECDSA_WITH_SHA256,
        SignatureAlgorithmOID.ECDSA_WITH_SHA384,
        SignatureAlgorithmOID.ECDSA_WITH_SHA512,
    ),
    KeyKind.RSA_4096: (
        SignatureAlgorithmOID.RSA_WITH_SHA256,
        SignatureAlgorithmOID.RSA_WITH_SHA384,
        SignatureAlgorithmOID.RSA_WITH_SHA512,
    ),
}


@dataclass(frozen=True, slots=True)
class CertificateAndKey:
    """A certificate and its key, as PEM text."""

    certificate: str
    key: Secret


def new_key(kind: KeyKind) -> PrivateKey:
    if kind is KeyKind.ED25519:
        return ed25519.Ed25519PrivateKey.generate()
    if kind is KeyKind.ECDSA_P256:
        return ec.generate_private_key(ec.SECP256R1())
    return rsa.generate_private_key(public_exponent=65537, key_size=4096)


def write_key(key: PrivateKey) -> Secret:
    """PEM as Talos writes it."""
    if isinstance(key, ed25519.Ed25519PrivateKey):
        text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        return Secret(text.replace("PRIVATE KEY", _ED25519_LABEL))
    return Secret(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode())


def read_key(pem: Secret) -> PrivateKey:
    """A key under any label that Talos accepts. What is wrong is said without a part of the key."""
    text = pem.reveal()
    first = _FIRST_LABEL.search(text)
    if first is None:
        raise SecretsError("is not a private key in PEM form")
    if first[1] not in _KEY_LABELS:
        raise SecretsError(
            f"starts with a PEM block of {first[1]!r}, which Talos does not read as a key",
            hint=f"Talos reads the first block, and there only: {', '.join(_KEY_LABELS)}.",
        )
    try:
        # Checking the primes of an RSA key again costs more than everything else here together.
        key = load_pem_private_key(
            text[first.start() :].replace(_ED25519_LABEL, "PRIVATE KEY").encode(),
            password=None,
            unsafe_skip_rsa_key_validation=True,
        )
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise SecretsError("holds a private key that cannot be read (damaged or encrypted)") from None
    if not isinstance(key, PrivateKey) or (
        first[1] == _ED25519_LABEL and not isinstance(key, ed25519.Ed25519PrivateKey)
    ):
        raise SecretsError("holds a private key of a kind that Talos does not use")
    return key


def read_certificate(pem: str) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(pem.encode())
    except ValueError:
        raise SecretsError("is not a certificate in PEM form") from None


def to_base64(pem: str) -> str:
    """How Talos' files hold PEM text."""
    return base64.b64encode(pem.encode()).decode()


def from_base64(text: str) -> str:
    """The PEM text behind what a file of Talos holds."""
    return base64.b64decode(text).decode()


def public_bytes(key: PrivateKey | x509.Certificate) -> bytes:
    """The public half in one form, to compare a key with a certificate, or to take a fingerprint."""
    return key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def new_authority(
    organization: str, kind: KeyKind, *, now: datetime | None = None, lifetime: timedelta = AUTHORITY_LIFETIME
) -> CertificateAndKey:
    """A self-signed authority. Without an organization its name is empty, as is that of the aggregator CA."""
    key = new_key(kind)
    name = _name([organization] if organization else [])
    builder = (
        _dated(_builder(name, name, key), now, lifetime)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.ExtendedKeyUsage([SERVER, CLIENT]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier(os.urandom(20)), critical=False)
    )
    return _signed(builder, key, key)


def new_leaf(
    authority: CertificateAndKey,
    organizations: Sequence[str],
    *,
    lifetime: timedelta,
    usages: Sequence[x509.ObjectIdentifier] = (CLIENT,),
    common_name: str = "",
    names: Sequence[str] = (),
    now: datetime | None = None,
) -> CertificateAndKey:
    """A certificate signed by the authority, with a key of its kind. `names`: DNS names and addresses."""
    issuer = read_certificate(authority.certificate)
    issuer_key = read_key(authority.key)
    key = new_key(_leaf_kind(issuer))
    subject = _name(organizations, common_name)
    builder = (
        _dated(_builder(subject, issuer.subject, key), now, lifetime)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(list(usages)), critical=False)
    )
    key_id = _key_id(issuer)
    if key_id is not None and subject != issuer.subject:
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key_id), critical=False
        )
    if names:
        alternatives = x509.SubjectAlternativeName([_general_name(name) for name in sorted(names, key=_is_address)])
        builder = builder.add_extension(alternatives, critical=not subject.rdns)
    return _signed(builder, key, issuer_key)


def _leaf_kind(issuer: x509.Certificate) -> KeyKind:
    """As Talos does, by the algorithm that the authority was signed with."""
    for kind, algorithms in _ALGORITHMS.items():
        if issuer.signature_algorithm_oid in algorithms:
            return kind
    raise SecretsError("an authority is signed by an algorithm that Talos does not know")


def _builder(subject: x509.Name, issuer: x509.Name, key: PrivateKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(1 + secrets.randbelow((1 << 128) - 1))
    )


def _dated(builder: x509.CertificateBuilder, now: datetime | None, lifetime: timedelta) -> x509.CertificateBuilder:
    """Valid from this second on: talosctl leaves no margin for clocks that go slow either."""
    start = now or datetime.now(UTC)
    return builder.not_valid_before(start.replace(microsecond=0)).not_valid_after(
        (start + lifetime).replace(microsecond=0)
    )


def _signed(builder: x509.CertificateBuilder, key: PrivateKey, issuer_key: PrivateKey) -> CertificateAndKey:
    digest: hashes.SHA256 | hashes.SHA512 | None = hashes.SHA256()
    if isinstance(issuer_key, ed25519.Ed25519PrivateKey):
        digest = None
    elif isinstance(issuer_key, rsa.RSAPrivateKey):
        digest = hashes.SHA512()
    certificate = builder.sign(issuer_key, digest)
    return CertificateAndKey(certificate.public_bytes(Encoding.PEM).decode(), write_key(key))


def _name(organizations: Sequence[str], common_name: str = "") -> x509.Name:
    """All organizations in one part of the name, which is how Go writes and Talos reads several roles."""
    parts = [
        x509.RelativeDistinguishedName([_attribute(oid, value) for value in dict.fromkeys(values)])
        for oid, values in (
            (NameOID.ORGANIZATION_NAME, organizations),
            (NameOID.COMMON_NAME, [common_name] if common_name else []),
        )
        if values
    ]
    return x509.Name(parts)


def _attribute(oid: x509.ObjectIdentifier, value: str) -> x509.NameAttribute[str]:
    plain = _PRINTABLE.fullmatch(value) is not None
    return x509.NameAttribute(oid, value, _ASN1Type.PrintableString if plain else _ASN1Type.UTF8String)


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _key_id(issuer: x509.Certificate) -> x509.SubjectKeyIdentifier | None:
    try:
        return issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _general_name(name: str) -> x509.GeneralName:
    return x509.IPAddress(ipaddress.ip_address(name)) if _is_address(name) else x509.DNSName(name)
