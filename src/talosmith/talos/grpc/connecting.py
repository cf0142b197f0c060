"""Why a connection could not be made, told so that a person knows what to do.

Python's errors name the library's view ("certificate verify failed"). What helps is the node's situation: it is off,
it is in maintenance mode, it belongs to another cluster, its clock is wrong.
"""

from __future__ import annotations

import errno
import socket
import ssl

from talosmith.desired.validity import EXPIRED, NOT_YET_VALID, SET_CLOCKS, out_of_time_served
from talosmith.foreign_text import cleaned
from talosmith.probe import certificate_at
from talosmith.talos.address import Address
from talosmith.talos.errors import (
    ClockMismatch,
    InMaintenance,
    NotInMaintenance,
    NotTalos,
    NotTrusted,
    Refused,
    TalosError,
    Unreachable,
)
from talosmith.talos.grpc import tls
from talosmith.talos.grpc.http2 import NodeProtocol
from talosmith.talos.grpc.trust import Trust, this_computers_clock

IS_IT_TALOS = "Is this the address of a Talos node, and the port that of its API (50000)?"
_CLOSED_IN_HANDSHAKE = "connection closed during the TLS handshake"
_IS_IT_ON = "Is the machine on, and is there a way to it from here (firewall, VPN, routes)?"

# OpenSSL's numbers for what is wrong with a certificate.
_WRONG_PURPOSE, _WRONG_NAMES = 26, (62, 64)
_LOOK = 3.0  # seconds for a second look at a certificate, which only serves to say more
_WAITED_FOR = {
    "idle": "connection attempt",
    "tcp": "answer to TCP connect",
    "tls": "TLS handshake after TCP connect",
    "http2": "HTTP/2 settings after the TLS handshake",
}
_OUT_OF_TIME_THERE = "ALERT_CERTIFICATE_EXPIRED"  # what Go sends for a certificate that is not yet valid, too
_ALERTS = {
    "UNKNOWN_CA": "was signed by another CA than the node's",
    "BAD_CERTIFICATE": "is not acceptable to the node",
    "UNSUPPORTED_CERTIFICATE": "is of a kind the node does not accept",
    "CERTIFICATE_UNKNOWN": "is not acceptable to the node",
    "DECRYPT_ERROR": "does not match its key or CA",
}


def too_slow(node: str, stage: str, seconds: float) -> TalosError:
    return Unreachable(
        node,
        f"no {_WAITED_FOR.get(stage, 'connection')} within {seconds:g} s (i/o timeout)",
        hint=_IS_IT_ON,
    )


def failed(node: str, address: Address, stage: str, wrong: OSError, trust: Trust) -> TalosError:
    if isinstance(wrong, ssl.SSLError):
        return _tls(node, wrong, trust)
    if isinstance(wrong, socket.gaierror):
        return Unreachable(
            node, f"the name {address.host} does not resolve: {wrong.strerror}", hint="Use the node's IP address."
        )
    if wrong.errno == errno.ECONNREFUSED:
        return Unreachable(
            node,
            f"Talos API does not listen on port {address.port} (connection refused)",
            hint="The machine is up and Talos' API is not: it may be booting, or another machine has this address.",
        )
    if wrong.errno in (errno.EMFILE, errno.ENFILE):
        return Unreachable(node, "this process has too many files open", hint="Raise the limit: ulimit -n 4096.")
    what = "no connection"
    if isinstance(wrong, ConnectionError):
        what = "connection closed" if stage == "tcp" else _CLOSED_IN_HANDSHAKE
    # asyncio's own errors may have no text: the other side closed the connection without a word.
    return Unreachable(node, f"{what} ({wrong.strerror or str(wrong) or 'EOF'})", hint=_IS_IT_ON)


def _tls(node: str, wrong: ssl.SSLError, trust: Trust, certificate: bytes = b"") -> TalosError:
    """`certificate`: the node's, where it was shown before the connection ended."""
    reason = wrong.reason or str(wrong)
    if "CERTIFICATE_REQUIRED" in reason:
        if trust.with_certificate:
            return Refused(
                node,
                "refused our client certificate (remote error: tls: certificate required)",
                hint="Is it a client certificate of Talos?",
            )
        return NotInMaintenance(
            node,
            "is not in maintenance mode: requires a client certificate (remote error: tls: certificate required)",
            hint="It already has a machine config. Use the cluster's talosconfig or secrets, or reset the node.",
        )
    if _OUT_OF_TIME_THERE in reason:
        shown = tls.describe(certificate) if certificate else None
        theirs = f"; certificate of the node: {shown.validity}" if shown else ""
        return ClockMismatch(
            node,
            "client certificate has expired or is not yet valid by the node's clock: "
            f"{trust.our_validity}{theirs} (remote error: tls: expired certificate; {cleaned(reason)})",
            hint=SET_CLOCKS,
            said=reason,
        )
    for alert, meaning in _ALERTS.items():
        if f"ALERT_{alert}" in reason:
            return Refused(
                node,
                f"refuses our client certificate, which {meaning} ({cleaned(reason)})",
                hint="Is this talosconfig the one of this cluster, and are the clocks right on both sides?",
                said=reason,
            )
    if isinstance(wrong, ssl.SSLEOFError | ssl.SSLZeroReturnError) or "EOF" in reason:
        return Unreachable(node, f"{_CLOSED_IN_HANDSHAKE} (EOF)", hint="The node may be rebooting.")
    return NotTalos(node, f"does not speak TLS as Talos does ({cleaned(reason)})", hint=IS_IT_TALOS)


def ended(node: str, protocol: NodeProtocol, trust: Trust) -> TalosError:
    """The connection ended before HTTP/2 was set up."""
    if isinstance(protocol.cause, ssl.SSLError):
        return _tls(node, protocol.cause, trust, protocol.certificate)
    if protocol.reason == "Protocol error":
        return NotTalos(node, "answers with TLS, then with something that is not HTTP/2", hint=IS_IT_TALOS)
    return Unreachable(
        node,
        f"connection closed right after the TLS handshake ({protocol.reason})",
        hint="The node may be rebooting. If it stays so, the node may not accept our certificate.",
    )


async def not_trusted(
    node: str, address: Address, wrong: ssl.SSLCertVerificationError, trust: Trust, seconds: float
) -> TalosError:
    """Looks at the certificate once more, without trusting it, to tell who answers."""
    if wrong.verify_code in (EXPIRED, NOT_YET_VALID):
        certificate = await _look(address, seconds)
        said = out_of_time_served(wrong.verify_code, certificate, this_computers_clock())
        return ClockMismatch(node, f"certificate {said}", hint=SET_CLOCKS)
    if wrong.verify_code in _WRONG_NAMES:
        return await _another_node(node, address, seconds)
    if wrong.verify_code == _WRONG_PURPOSE:
        return NotTrusted(
            node,
            "certificate is not a node's (x509: certificate specifies an incompatible key usage)",
            hint="Another machine may be posing as the node.",
        )
    certificate = await _look(address, seconds)
    if not certificate or trust.issued(certificate):
        return Unreachable(
            node,
            "certificate changed after one of an unknown CA (x509: certificate signed by unknown authority)",
            hint="The node may be leaving maintenance mode, or entering it.",
        )
    shown = tls.describe(certificate)
    if shown is not None and shown.of_maintenance:
        return InMaintenance(
            node,
            f"is in maintenance mode, with the fingerprint {shown.fingerprint}",
            hint="The node has no machine config. Apply one first.",
            said=shown.fingerprint,
        )
    issuer = f", but by {cleaned(shown.issuer)!r} (its key's fingerprint: {shown.fingerprint})" if shown else ""
    return NotTrusted(
        node,
        f"certificate is not signed by this cluster's CA{issuer} (x509: certificate signed by unknown authority)",
        hint="The node belongs to another cluster, or the secrets or the talosconfig do.",
    )


async def _another_node(node: str, address: Address, seconds: float) -> TalosError:
    certificate = await _look(address, seconds)
    shown = tls.describe(certificate) if certificate else None
    others = cleaned(", ".join(shown.addresses)) if shown else ""
    return NotTrusted(
        node,
        f"a node of this cluster answers, but its certificate is not for {address.host}"
        + (f"; it is for {others}" if others else ""),
        hint="Another node may have this address. Or add it to machine.certSANs.",
    )


async def _look(address: Address, seconds: float) -> bytes:
    """The certificate; empty if none is shown."""
    return await certificate_at(address.host, address.port, tls.open_context(), min(seconds, _LOOK))
