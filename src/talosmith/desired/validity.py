"""Certificates outside their validity period: one wording for the Talos API and for the Kubernetes API.

Neither side can tell whose clock is wrong, so the message shows both: this computer's clock, and the validity period,
which the node set by its own clock when the certificate was issued.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from cryptography import x509

NOT_YET_VALID, EXPIRED = 9, 10  # of OpenSSL's X509_V_ERR_CERT_*
ORIGINAL = "x509: certificate has expired or is not yet valid"  # what talosctl and kubectl print
SET_CLOCKS = "set the clocks (this computer: timedatectl; the nodes: network.ntp_servers)"
EXPIRED_CA = "if the clocks are right, the CA in the secrets is the wrong one or has to be replaced"


def clock(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def validity(certificate: x509.Certificate) -> str:
    return f"valid from {clock(certificate.not_valid_before_utc)} to {clock(certificate.not_valid_after_utc)}"


def out_of_time(certificate: x509.Certificate, now: datetime) -> str:
    """Why the certificate is not valid at `now`, by this computer's clock; empty if it is."""
    if certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
        return ""
    state = "is not yet valid" if now < certificate.not_valid_before_utc else "has expired"
    return f"{state}: {validity(certificate)}, this computer's clock says {clock(now)} ({ORIGINAL})"


def out_of_time_served(verify_code: int, certificate: bytes, now: datetime) -> str:
    """The same for a server's certificate that OpenSSL refuses; `certificate` is empty if it could not be read."""
    found = ""
    if certificate:
        try:
            found = out_of_time(x509.load_der_x509_certificate(certificate), now)
        except (ValueError, TypeError):
            found = ""
    state = "has expired" if verify_code == EXPIRED else "is not yet valid"
    return found or f"{state}: this computer's clock says {clock(now)} ({ORIGINAL})"


def authorities_out_of_time(authorities: Iterable[x509.Certificate], now: datetime) -> str:
    """Why none of the CA certificates is valid at `now`; empty if one is."""
    causes = [out_of_time(authority, now) for authority in authorities]
    return causes[0] if causes and all(causes) else ""
