"""What opens the API of a cluster's nodes: the authority to trust, and a client certificate with its key."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from talosmith.desired import pki
from talosmith.desired.bundle import Bundle
from talosmith.desired.talosconfig import ADMIN, Talosconfig, new_client
from talosmith.errors import SecretsError
from talosmith.inventory.parse import Unreadable, parse
from talosmith.model.secret import Secret

SESSION_LIFETIME = timedelta(hours=12)  # a certificate made for one run need not outlive it


@dataclass(frozen=True, slots=True)
class Credentials:
    """PEM texts. `authority` may hold several certificates, as it does while one replaces another."""

    authority: str
    certificate: str
    key: Secret

    def __post_init__(self) -> None:
        for name, problem in (("ca", self.authority), ("crt", self.certificate)):
            try:
                pki.read_certificate(problem)
            except SecretsError as wrong:
                raise SecretsError(f"the client's {name} {wrong}", hint=wrong.hint) from None
        try:
            key = pki.read_key(self.key)
        except SecretsError as wrong:
            raise SecretsError(f"the client's key {wrong}", hint=wrong.hint) from None
        if pki.public_bytes(key) != pki.public_bytes(pki.read_certificate(self.certificate)):
            raise SecretsError(
                "the client's key does not belong to its certificate", hint="Take both from the same talosconfig."
            )

    @classmethod
    def from_bundle(
        cls,
        bundle: Bundle,
        roles: Sequence[str] = (ADMIN,),
        *,
        lifetime: timedelta = SESSION_LIFETIME,
        now: datetime | None = None,
    ) -> Self:
        """A fresh client certificate of the cluster's own authority."""
        # An hour back, for nodes whose clocks are slow.
        start = (now or datetime.now(UTC)) - timedelta(hours=1)
        client = new_client(bundle.os, roles, lifetime=lifetime + timedelta(hours=1), now=start)
        return cls(bundle.os.certificate, client.certificate, client.key)

    @classmethod
    def from_talosconfig(cls, config: Talosconfig | Mapping[str, Any] | Secret | str, context: str = "") -> Self:
        """From the content of a talosconfig; without a context its current one."""
        chosen = read_talosconfig(config)
        name = context or chosen.current
        if name not in chosen.contexts:
            raise SecretsError(
                f"the talosconfig has no context {name!r}" if name else "the talosconfig names no current context",
                hint=f"It has: {', '.join(chosen.contexts) or 'none at all'}.",
            )
        found = chosen.contexts[name]
        if not (found.ca and found.crt and found.key):
            raise SecretsError(
                f"the talosconfig's context {name!r} holds no client certificate",
                hint="It may be one for Omni, which asks for a login; take the cluster's own talosconfig.",
            )
        return cls(
            _pem(found.ca, name, "ca"),
            _pem(found.crt, name, "crt"),
            Secret(_pem(found.key.reveal(), name, "key")),
        )

    @property
    def valid_from(self) -> datetime:
        return pki.read_certificate(self.certificate).not_valid_before_utc

    @property
    def valid_until(self) -> datetime:
        return pki.read_certificate(self.certificate).not_valid_after_utc


def read_talosconfig(config: Talosconfig | Mapping[str, Any] | Secret | str) -> Talosconfig:
    if isinstance(config, Talosconfig):
        return config
    if isinstance(config, Secret | str):
        text = config.reveal() if isinstance(config, Secret) else config
        try:
            config = parse(text.encode(), "talosconfig").data
        except Unreadable as wrong:
            place = wrong.problems[0]
            raise SecretsError(f"the talosconfig is not YAML: line {place.line}: {place.what}") from None
    if not isinstance(config, Mapping):
        raise SecretsError("the talosconfig is not a mapping", hint="It starts with `context:` and `contexts:`.")
    return Talosconfig.from_mapping(config)


def _pem(text: str, context: str, field: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode()
    except (binascii.Error, ValueError):
        raise SecretsError(f"{field} of the talosconfig's context {context!r} is not base64 of PEM text") from None
