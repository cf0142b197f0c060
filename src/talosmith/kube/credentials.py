"""What opens a Kubernetes API: the authority to trust, the name to expect, and who we are."""

from __future__ import annotations

import base64
import binascii
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self, TypeVar

from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
from talosmith.desired.certificate_file import show_certificate
from talosmith.errors import SecretsError
from talosmith.model.secret import Secret

T = TypeVar("T")

SESSION_LIFETIME = timedelta(hours=12)  # a certificate made for one run need not outlive it
ADMINISTRATORS = "system:masters"
# Every API server's certificate has this name, whichever address it is reached by, and nothing else's has it.
SERVER_NAME = "kubernetes"
_NONE = Secret("")


@dataclass(frozen=True, slots=True)
class Credentials:
    """PEM texts, or a token. Without an authority the system's are trusted; without a name, the address counts."""

    authority: str = ""
    certificate: str = ""
    key: Secret = _NONE
    token: Secret = _NONE
    server_name: str = ""

    def __post_init__(self) -> None:
        if self.authority:
            _read("the cluster's authority", lambda: pki.read_certificate(self.authority))
        if bool(self.certificate) != bool(self.key):
            raise SecretsError("a client certificate without its key, or the other way round")
        if self.certificate:
            certificate = _read("the client's certificate", lambda: pki.read_certificate(self.certificate))
            key = _read("the client's key", lambda: pki.read_key(self.key))
            if pki.public_bytes(key) != pki.public_bytes(certificate):
                raise SecretsError("the client's key does not belong to its certificate")

    @classmethod
    def from_bundle(
        cls,
        bundle: Bundle,
        *,
        user: str = "admin",
        groups: tuple[str, ...] = (ADMINISTRATORS,),
        lifetime: timedelta = SESSION_LIFETIME,
        now: datetime | None = None,
    ) -> Self:
        """A fresh client certificate of the cluster's own authority."""
        # An hour back, for control planes whose clocks are slow.
        start = (now or datetime.now(UTC)) - timedelta(hours=1)
        client = pki.new_leaf(bundle.k8s, groups, lifetime=lifetime + timedelta(hours=1), common_name=user, now=start)
        return cls(bundle.k8s.certificate, client.certificate, client.key, server_name=SERVER_NAME)

    def context(self) -> ssl.SSLContext:
        """Trusts the cluster's authority alone, checks the name, and shows our certificate."""
        context = ssl.create_default_context() if not self.authority else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.authority:
            context.load_verify_locations(cadata=self.authority)
        if self.certificate:
            show_certificate(context, self.certificate, self.key)
        return context


def from_base64(text: str, field: str) -> str:
    """PEM text as kubeconfigs hold it."""
    try:
        return base64.b64decode(text, validate=False).decode()
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise SecretsError(f"the kubeconfig's {field} is not base64 of PEM text") from None


def _read(what: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except SecretsError as wrong:
        raise SecretsError(f"{what} {wrong}", hint=wrong.hint) from None
