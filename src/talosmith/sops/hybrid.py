"""Post-quantum age keys (`age1pq1…`): ML-KEM-768 with X25519. pyrage does not know them.

Only as much of age's file format as SOPS needs: one recipient, and a payload of one chunk.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from base64 import b64decode, b64encode
from textwrap import wrap as cut
from typing import TYPE_CHECKING, Final

from talosmith.errors import SecretsError
from talosmith.sops import bech32

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey, Suite

_STANZA: Final = "mlkem768x25519"
_LABEL: Final = b"age-encryption.org/mlkem768x25519"
_INTRO: Final = "age-encryption.org/v1"
_ARMOR: Final = ("-----BEGIN AGE ENCRYPTED FILE-----", "-----END AGE ENCRYPTED FILE-----")
_SEED_BYTES = 32
_FILE_KEY_BYTES = 16
_MLKEM_PUBLIC_BYTES = 1184
_COLUMNS = 64
_LAST_CHUNK = bytes(11) + b"\x01"  # nonce of a chunk that is the first and the last


def new_key() -> str:
    """A new identity, as text."""
    _suite()  # no use in a key that cannot be used here
    return bech32.encode("AGE-SECRET-KEY-PQ-", os.urandom(_SEED_BYTES)).upper()


def recipient_of(identity: str) -> str:
    private = _private(identity)
    return bech32.encode("age1pq", private[1])


def wrap(data: bytes, recipient: str) -> str:
    """`data` as an armored age file for one recipient."""
    suite = _suite()
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PublicKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
    from cryptography.hazmat.primitives.hpke import MLKEM768X25519PublicKey

    public = bech32.decode("age1pq", recipient)
    key = MLKEM768X25519PublicKey(
        MLKEM768PublicKey.from_public_bytes(public[:_MLKEM_PUBLIC_BYTES]),
        X25519PublicKey.from_public_bytes(public[_MLKEM_PUBLIC_BYTES:]),
    )
    file_key = os.urandom(_FILE_KEY_BYTES)
    sealed = suite.encrypt(file_key, key, _LABEL)
    share, body = sealed[: -_FILE_KEY_BYTES - 16], sealed[-_FILE_KEY_BYTES - 16 :]
    header = f"{_INTRO}\n-> {_STANZA} {_base64(share)}\n{_base64(body)}\n---".encode()
    nonce = os.urandom(16)
    payload = nonce + _payload_cipher(file_key, nonce).encrypt(_LAST_CHUNK, data, None)
    file = header + b" " + _base64(_header_mac(file_key, header)).encode() + b"\n" + payload
    return "\n".join([_ARMOR[0], *cut(b64encode(file).decode(), _COLUMNS), _ARMOR[1], ""])


def unwrap(armored: str, identity: str) -> bytes | None:
    """The content of an age file, or None if it is not for this identity; ValueError if it is broken."""
    from cryptography.exceptions import InvalidTag

    lines = armored.strip().split("\n")
    if (lines[0], lines[-1]) != _ARMOR:
        raise ValueError("no age armor")
    file = b64decode("".join(lines[1:-1]), validate=True)
    header, mark, rest = file.partition(b"\n---")
    mac, _, payload = rest.partition(b"\n")
    intro, stanza, *body = header.decode().split("\n")
    if intro != _INTRO or not mark or len(payload) < 32:
        raise ValueError("no age file")
    if not stanza.startswith(f"-> {_STANZA} "):
        return None
    sealed = _unbase64(stanza.rpartition(" ")[2]) + _unbase64("".join(body))
    try:
        file_key = _suite().decrypt(sealed, _private(identity)[0], _LABEL)
    except InvalidTag:
        return None
    if not hmac.compare_digest(_header_mac(file_key, header + mark), _unbase64(mac.strip().decode())):
        raise ValueError("a wrong header")
    try:
        return _payload_cipher(file_key, payload[:16]).decrypt(_LAST_CHUNK, payload[16:], None)
    except InvalidTag:
        raise ValueError("a changed payload") from None


def _suite() -> Suite:
    try:
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

        return Suite(KEM.MLKEM768_X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
    except (ImportError, AttributeError):
        raise SecretsError(
            "post-quantum age keys (age1pq1…) need a newer `cryptography` package",
            hint="upgrade it, or use an X25519 key (age1…)",
        ) from None


def _private(identity: str) -> tuple[MLKEM768X25519PrivateKey, bytes]:
    """The private key, and its public half as bytes. age keeps a seed that both parts are drawn from."""
    _suite()
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
    from cryptography.hazmat.primitives.hpke import MLKEM768X25519PrivateKey

    seed = bech32.decode("AGE-SECRET-KEY-PQ-", identity)
    if len(seed) != _SEED_BYTES:
        raise ValueError("another length")
    drawn = hashlib.shake_256(seed).digest(96)
    mlkem = MLKEM768PrivateKey.from_seed_bytes(drawn[:64])
    x25519 = X25519PrivateKey.from_private_bytes(drawn[64:])
    public = mlkem.public_key().public_bytes_raw() + x25519.public_key().public_bytes_raw()
    return MLKEM768X25519PrivateKey(mlkem, x25519), public


def _payload_cipher(file_key: bytes, nonce: bytes) -> ChaCha20Poly1305:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    return ChaCha20Poly1305(_derived(file_key, nonce, b"payload"))


def _header_mac(file_key: bytes, header: bytes) -> bytes:
    return hmac.digest(_derived(file_key, b"", b"header"), header, "sha256")


def _derived(key: bytes, salt: bytes, purpose: bytes) -> bytes:
    """HKDF-SHA256, 32 bytes."""
    extracted = hmac.digest(salt or bytes(32), key, "sha256")
    return hmac.digest(extracted, purpose + b"\x01", "sha256")


def _base64(data: bytes) -> str:
    return b64encode(data).decode().rstrip("=")


def _unbase64(text: str) -> bytes:
    return b64decode(text + "=" * (-len(text) % 4), validate=True)
