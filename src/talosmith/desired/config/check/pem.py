"""Whether text is what Talos takes for PEM certificates and keys. What the text says is never repeated."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_der_private_key

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----\s+([A-Za-z0-9+/=\s]*?)-----END \1-----")


def check_certificates(text: str) -> None:
    """At least one certificate that can be read."""
    if not any(label == "CERTIFICATE" and _is_certificate(body) for label, body in _blocks(text)):
        raise ValueError("holds no PEM certificate")


def check_certificate(text: str) -> None:
    if not _is_certificate(next((body for _, body in _blocks(text)), b"")):
        raise ValueError("does not start with a PEM certificate")


def check_key(text: str) -> None:
    """A private key in PKCS#8 form, the only one Talos takes here."""
    body = next((body for _, body in _blocks(text)), b"")
    try:
        load_der_private_key(body, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise ValueError("is not a private key in PEM") from None
    if not re.match(rb"0(?:[\x00-\x7f]|\x81.|\x82..)\x02\x01\x000", body, re.DOTALL):
        raise ValueError("is not a private key in PKCS#8 form (BEGIN PRIVATE KEY)")


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
