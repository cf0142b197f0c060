"""Proving who is who: our certificate to the node, the node's to us.

A configured node is known by its cluster's authority and its address. A node in maintenance mode has only a
certificate it made itself at boot, so there the fingerprint is all there is to go by.
"""

from __future__ import annotations

import base64
import hashlib
import ssl
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from talosmith.desired import pki
from talosmith.desired.certificate_file import show_certificate
from talosmith.desired.validity import validity
from talosmith.errors import UsageError
from talosmith.model.values import fingerprint_in
from talosmith.talos.credentials import Credentials

MAINTENANCE_NAME = "maintenance-service.talos.dev"


def cluster_context(credentials: Credentials) -> ssl.SSLContext:
    """Trusts the cluster's authority alone, checks the node's address, and shows our certificate."""
    context = _context()
    context.load_verify_locations(cadata=credentials.authority)
    show_certificate(context, credentials.certificate, credentials.key)
    return context


def open_context() -> ssl.SSLContext:
    """Checks nothing by itself: the caller compares fingerprints."""
    context = _context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    return context


def fingerprint(certificate: bytes) -> str:
    """As Talos prints it on the console: base64 of the SHA-256 of the public key."""
    key = pki.public_bytes(x509.load_der_x509_certificate(certificate))
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


def read_fingerprint(text: str) -> str:
    """The same form from base64 or from hex, with or without colons."""
    found = fingerprint_in(text)
    if not found:
        raise UsageError(
            f"{text!r} is not a fingerprint of a certificate",
            hint="Talos shows it on the console: 44 characters of base64. 64 hex digits are fine too.",
        )
    return found


@dataclass(frozen=True, slots=True)
class Shown:
    """What a certificate says of itself; nothing of it is proven."""

    name: str
    issuer: str
    addresses: tuple[str, ...]
    fingerprint: str
    validity: str

    @property
    def of_maintenance(self) -> bool:
        return self.name == MAINTENANCE_NAME


def describe(certificate: bytes) -> Shown | None:
    """For saying who answers in place of the node; None if it cannot be read."""
    try:
        read = x509.load_der_x509_certificate(certificate)
        names = read.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        try:
            alternatives = read.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except x509.ExtensionNotFound:
            addresses: tuple[str, ...] = ()
        else:
            addresses = tuple(str(address) for address in alternatives.get_values_for_type(x509.IPAddress))
        return Shown(
            name=str(names[0].value) if names else "",
            issuer=read.issuer.rfc4514_string(),
            addresses=addresses,
            fingerprint=fingerprint(certificate),
            validity=validity(read),
        )
    except (ValueError, TypeError):
        return None


def is_issued_by(certificate: bytes, authority: x509.Certificate) -> bool:
    try:
        x509.load_der_x509_certificate(certificate).verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True
