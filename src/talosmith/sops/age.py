"""The data key of a file, wrapped for each age recipient: X25519 and SSH keys by pyrage, post-quantum ones by us.

Both are loaded with the first key of theirs: most commands open no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from talosmith.errors import SecretsError
from talosmith.model.secret import Secret

_X25519_IDENTITY: Final = "AGE-SECRET-KEY-1"
_HYBRID_IDENTITY: Final = "AGE-SECRET-KEY-PQ-1"
_HYBRID_RECIPIENT: Final = "age1pq1"
_SHOWN_LENGTH: Final = 70  # an X25519 recipient whole; a post-quantum one has 1,960 characters


@dataclass(frozen=True)
class Identity:
    """The private half of an age key, or an SSH private key."""

    key: Secret

    @cached_property
    def recipient(self) -> str:
        """The public half; empty for SSH keys, whose public form is not needed."""
        if self.is_hybrid:
            from talosmith.sops import hybrid

            return hybrid.recipient_of(self.key.reveal())
        return "" if self.is_ssh else str(self.opener.to_public())

    @property
    def is_hybrid(self) -> bool:
        return self.key.reveal().startswith(_HYBRID_IDENTITY)

    @property
    def is_ssh(self) -> bool:
        return self.key.reveal().startswith("-----BEGIN ")

    @cached_property
    def opener(self) -> Any:
        """pyrage's object for this key."""
        pyrage = _pyrage()
        if self.is_ssh:
            return pyrage.ssh.Identity.from_buffer(self.key.reveal().encode())
        return pyrage.x25519.Identity.from_str(self.key.reveal())


def _pyrage() -> Any:
    import pyrage  # type: ignore[import-untyped]

    return pyrage


def new_key(*, post_quantum: bool = False) -> str:
    """A new identity, as text."""
    if post_quantum:
        from talosmith.sops import hybrid

        return hybrid.new_key()
    return str(_pyrage().x25519.Identity.generate())


def parse_identity(text: str, source: str) -> Identity:
    """One identity; the error says where it was found, not what it was."""
    pyrage = _pyrage()
    identity = Identity(Secret(text))
    if not text.startswith((_X25519_IDENTITY, _HYBRID_IDENTITY, "-----BEGIN ")):
        raise _not_an_identity(source)
    try:
        _ = identity.recipient if identity.is_hybrid else identity.opener
    except (pyrage.IdentityError, ValueError):
        raise _not_an_identity(source) from None
    return identity


def _not_an_identity(source: str) -> SecretsError:
    return SecretsError(
        f"{source} is not an age identity",
        hint="it should be a line `AGE-SECRET-KEY-1…` or `AGE-SECRET-KEY-PQ-1…` as age-keygen writes it",
    )


def shown(recipient: str) -> str:
    return recipient if len(recipient) <= _SHOWN_LENGTH else recipient[:24] + "…"


def wrap(data_key: bytes, recipient: str) -> str:
    """The data key as an armored age file that only `recipient` opens."""
    pyrage = _pyrage()
    try:
        if recipient.startswith(_HYBRID_RECIPIENT):
            from talosmith.sops import hybrid

            return hybrid.wrap(data_key, recipient)
        parse = pyrage.ssh.Recipient if recipient.startswith("ssh-") else pyrage.x25519.Recipient
        armored: bytes = pyrage.encrypt(data_key, [parse.from_str(recipient)], armored=True)
        return armored.decode()
    except (pyrage.RecipientError, ValueError):
        plugin = recipient.startswith("age1") and recipient.count("1") > 1
        raise SecretsError(
            f"{shown(recipient)!r} is not an age recipient that talosmith can encrypt for",
            hint="keys of age plugins need `sops` itself; use an X25519, post-quantum or SSH key"
            if plugin
            else "a recipient starts with `age1` or `ssh-`; `age-keygen -y KEYFILE` prints it",
        ) from None


def unwrap(wrapped: Sequence[tuple[str, str]], identities: Iterable[Identity]) -> bytes | None:
    """The data key from the first (recipient, age file) that one of the identities opens; None if none does."""
    known = {identity.recipient: identity for identity in identities if identity.recipient}
    for recipient, armored in wrapped:
        if recipient in known and (key := _opened(armored, known[recipient])):
            return key
    # The recipient's name in the file is only a label, and SSH keys have none here: try each with each.
    for _, armored in wrapped:
        for identity in identities:
            if key := _opened(armored, identity):
                return key
    return None


def _opened(armored: str, identity: Identity) -> bytes | None:
    pyrage = _pyrage()
    try:
        if identity.is_hybrid:
            from talosmith.sops import hybrid

            return hybrid.unwrap(armored, identity.key.reveal())
        opened: bytes = pyrage.decrypt(armored.encode(), [identity.opener])
        return opened
    except (pyrage.DecryptError, ValueError):
        return None
