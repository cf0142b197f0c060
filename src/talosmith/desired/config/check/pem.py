"""Whether text is what Talos takes for PEM certificates and keys. What the text says is never repeated."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_der_private_key

from talosmith.desired.config.check.findings import Findings, complaint, error

_SEQUENCE = rb"0(?:[\x00-\x7f]|\x81.|\x82..)"
_KEY_FORMS = {  # by what a PEM block calls itself: the form's name, and how it starts
    "PRIVATE KEY": ("PKCS#8", rb"\x02\x01\x000"),
    "ED25519 PRIVATE KEY": ("PKCS#8", rb"\x02\x01\x000\x05\x06\x03\x2b\x65\x70"),
    "RSA PRIVATE KEY": ("PKCS#1", rb"\x02\x01\x00\x02"),
    "EC PRIVATE KEY": ("SEC 1", rb"\x02\x01\x01\x04"),
}
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\s+([A-Za-z0-9+/=\s]*?)-----END \1-----")


def check_certificates(text: str) -> None:
    """At least one certificate that can be read."""
    if not any(label == "CERTIFICATE" and _is_certificate(body) for label, body in _blocks(text)):
        raise ValueError("holds no PEM certificate")


def check_certificate(text: str) -> None:
    if not _is_certificate(next((body for _, body in _blocks(text)), b"")):
        raise ValueError("does not start with a PEM certificate")


def check_pkcs8_key(text: str) -> None:
    """A private key in PKCS#8 form, whatever its label says."""
    body = next((body for _, body in _blocks(text)), b"")
    _check_key(body, "PRIVATE KEY")


def check_key(text: str) -> None:
    """A private key in the form that its label names."""
    label, body = next(_blocks(text), ("", b""))
    if label not in _KEY_FORMS:
        raise ValueError(f"is not a private key in PEM (one of {', '.join(_KEY_FORMS)})")
    _check_key(body, label)


def check_all_certificates(text: str) -> None:
    """PEM blocks that all say to be certificates; what is in them is not looked at."""
    labels = [label for label, _ in _blocks(text)]
    if not labels or set(labels) != {"CERTIFICATE"}:
        raise ValueError("is not PEM that holds certificates and nothing else")


def check_pair(path: str, pair: Any, *, loadable: bool) -> Findings:
    """A certificate with its key; `loadable` if both must be readable, and not only PEM."""
    if pair is None:
        return
    cert, key = pair.get("cert") or "", pair.get("key") or ""
    for name, text in (("cert", cert), ("key", key)):
        if not text:
            yield error(f"{path}.{name}", "is missing")
    if not cert or not key:
        return
    wrong = [*complaint(f"{path}.cert", check_all_certificates, cert)]
    if not next(_blocks(key), None):
        wrong.append(error(f"{path}.key", "is not PEM"))
    if loadable and not wrong:
        wrong += complaint(f"{path}.cert", check_certificate, cert)
        wrong += complaint(f"{path}.key", check_key, key)
    yield from wrong


def _check_key(body: bytes, label: str) -> None:
    try:
        # Whether an RSA key's primes are primes takes a third of a second to find out; Talos does not ask either.
        load_der_private_key(body, password=None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("is not a private key in PEM") from None
    name, start = _KEY_FORMS[label]
    if not re.match(_SEQUENCE + start, body, re.DOTALL):
        raise ValueError(f"is not a private key in {name} form (BEGIN {label})")


def _blocks(text: str) -> Iterator[tuple[str, bytes]]:
    for label, body in _BLOCK.findall(text):
        try:
            yield label, base64.b64decode("".join(body.split()), validate=True)
        except binascii.Error:
            continue


def _is_certificate(body: bytes) -> bool:
    try:
        x509.load_der_x509_certificate(body)
    except (ValueError, TypeError):
        return False
    return True
