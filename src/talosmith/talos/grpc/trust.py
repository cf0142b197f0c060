"""Two ways of trusting what answers at a node's address, in the one shape that connecting needs."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from typing import Protocol

from cryptography import x509

from talosmith.desired import pki
from talosmith.desired.validity import EXPIRED_CA, SET_CLOCKS, authorities_out_of_time, clock, out_of_time, validity
from talosmith.foreign_text import cleaned
from talosmith.talos.credentials import Credentials
from talosmith.talos.errors import NotInMaintenance, NotTalos, NotTrusted, Refused
from talosmith.talos.grpc import tls

_NEW_CLIENT = "if the certificate has expired in fact, create a new talosconfig from the cluster's secrets"


def this_computers_clock() -> datetime:
    return datetime.now(UTC)


class Trust(Protocol):
    """How a connection is secured."""

    @property
    def context(self) -> ssl.SSLContext: ...

    @property
    def with_certificate(self) -> bool:
        """Whether we show a client certificate."""

    def before(self, node: str) -> None:
        """Raises if connecting makes no sense."""

    def check(self, node: str, certificate: bytes) -> None:
        """Raises if the certificate that was shown is not to be trusted."""

    def issued(self, certificate: bytes) -> bool:
        """Whether the authority that is trusted has signed it. For explaining only: nothing else is looked at."""

    @property
    def our_validity(self) -> str:
        """Validity period of the client certificate, and this computer's clock; empty without a certificate."""


class ClusterTrust:
    """By the cluster's authority: TLS itself checks everything, and we show our certificate."""

    with_certificate = True

    def __init__(self, credentials: Credentials) -> None:
        self.context = tls.cluster_context(credentials)
        self._certificate = pki.read_certificate(credentials.certificate)
        self._authorities = x509.load_pem_x509_certificates(credentials.authority.encode())

    def before(self, node: str) -> None:
        now = this_computers_clock()
        if wrong := authorities_out_of_time(self._authorities, now):
            raise Refused(node, f"CA certificate of the Talos API {wrong}", hint=f"{SET_CLOCKS}; {EXPIRED_CA}")
        if wrong := out_of_time(self._certificate, now):
            raise Refused(node, f"client certificate {wrong}", hint=f"{SET_CLOCKS}; {_NEW_CLIENT}")

    @property
    def our_validity(self) -> str:
        return f"{validity(self._certificate)}, this computer's clock says {clock(this_computers_clock())}"

    def check(self, node: str, certificate: bytes) -> None:
        """TLS has."""

    def issued(self, certificate: bytes) -> bool:
        return any(tls.is_issued_by(certificate, authority) for authority in self._authorities)


class FingerprintTrust:
    """By the fingerprint, as maintenance mode needs it. One that is not known is taken from the first who answers."""

    with_certificate = False

    def __init__(self, expected: str | None = None) -> None:
        self.context = tls.open_context()
        self.known: str | None = None
        self._given = False
        if expected:
            self.insist("", expected)

    def insist(self, node: str, expected: str) -> None:
        """Takes no other from now on; raises if another has been seen already."""
        self._given = True
        wanted = tls.read_fingerprint(expected)
        if self.known is not None and self.known != wanted:
            raise self._changed(node, seen=self.known, known=wanted)
        self.known = wanted

    def before(self, node: str) -> None:
        """Any client may connect."""

    def check(self, node: str, certificate: bytes) -> None:
        try:
            seen = tls.fingerprint(certificate)
        except Exception as wrong:  # whatever a parser makes of a hostile certificate
            raise NotTalos(node, "shows a certificate that cannot be read") from wrong
        if self.known is None:
            self.known = seen
        elif self.known != seen:
            shown = tls.describe(certificate)
            if shown is not None and not shown.of_maintenance:  # a config was applied since the fingerprint was seen
                raise NotInMaintenance(
                    node,
                    f"shows the certificate of a configured node, issued by {cleaned(shown.issuer)!r}",
                    hint="The node has a machine config, applied by another run or for another cluster.",
                )
            raise self._changed(node, seen, self.known)

    def issued(self, certificate: bytes) -> bool:
        """There is no authority in maintenance mode."""
        return False

    @property
    def our_validity(self) -> str:
        return ""

    def _changed(self, node: str, seen: str, known: str) -> NotTrusted:
        return NotTrusted(
            node,
            f"shows the fingerprint {seen}, and {known} was {'expected' if self._given else 'seen there before'}",
            hint="A node makes a new certificate whenever it boots into maintenance mode, so compare with its "
            "console. If that shows another one, another machine answers at this address.",
        )
