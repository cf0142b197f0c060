"""Who answers at an address, by the certificate it shows. Nothing is asked and nothing is proven to it.

That is enough to tell a machine in maintenance mode, a node of our cluster, one of another, and something that is not
Talos at all; and it needs no client certificate.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import ssl
from dataclasses import dataclass
from typing import Literal

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from talosmith.desired.pki import public_bytes, read_certificate
from talosmith.probe import Shown, in_turns

PORT = 50000
_MAINTENANCE_NAME = "maintenance-service.talos.dev"

Who = Literal[
    "silent",  # nothing answers at this address
    "closed",  # a machine that refuses connections to this port, or closes them at once
    "not-talos",
    "maintenance",
    "ours",
    "another",  # configured, and not by our cluster; or we have no secrets to tell
]


@dataclass(frozen=True, slots=True)
class Peek:
    who: Who
    said: str = ""  # what went wrong, or what the certificate says
    fingerprint: str = ""  # of the certificate in maintenance mode, as its console shows it


async def peek(host: str, *, authority: str = "", seconds: float = 3.0) -> Peek:
    """`authority`: the certificate of the cluster's Talos CA, in PEM."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # to look is all we do
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols(["h2"])
    try:
        transport, shown = await _connected(host, seconds, context)
    except TimeoutError:
        return Peek("silent", f"no answer within {seconds:g} s")
    except ConnectionRefusedError:
        return Peek("closed", "connection refused")
    except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError) as problem:  # as of a node that goes down
        return Peek("closed", f"the connection was closed during the TLS handshake ({problem or 'EOF'})")
    except ssl.SSLError as problem:
        return Peek("not-talos", str(problem))
    except OSError as problem:
        return Peek("silent", problem.strerror or str(problem))
    transport.abort()  # a node may still want to complain about the client certificate we have not shown
    return _judged(shown.certificate, authority)


def _judged(shown: bytes, authority: str) -> Peek:
    try:
        certificate = x509.load_der_x509_certificate(shown)
        names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        digest = hashlib.sha256(public_bytes(certificate)).digest()
        issuer = certificate.issuer.rfc4514_string()
    except (ValueError, TypeError):
        return Peek("not-talos", "the certificate cannot be read")
    if names and names[0].value == _MAINTENANCE_NAME:
        return Peek("maintenance", fingerprint=base64.b64encode(digest).decode())
    evidence = f"its certificate was issued by {issuer!r}"
    if authority:
        try:
            certificate.verify_directly_issued_by(read_certificate(authority))
        except (ValueError, TypeError, InvalidSignature):
            return Peek("another" if "O=talos" in issuer else "not-talos", evidence)
        return Peek("ours", evidence)
    return Peek("another" if "O=talos" in issuer else "not-talos", evidence)


async def answers(host: str, *, seconds: float = 2.0) -> bool:
    """Whether connections to the Talos API are taken there."""
    try:
        transport, _ = await _connected(host, seconds)
    except (OSError, TimeoutError):
        return False
    transport.abort()
    return True


async def _connected(
    host: str, seconds: float, context: ssl.SSLContext | None = None
) -> tuple[asyncio.Transport, Shown]:
    name = "" if context else None
    loop = asyncio.get_running_loop()
    return await in_turns(loop.create_connection(Shown, host, PORT, ssl=context, server_hostname=name), seconds)
