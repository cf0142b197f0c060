"""One value sealed with the file's data key: `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from binascii import Error as NotBase64
from binascii import a2b_base64
from typing import Final

from talosmith.errors import SecretsError
from talosmith.sops.tree import place_of

_SEALED = re.compile(
    r"ENC\[AES256_GCM,data:([A-Za-z0-9+/=]+),iv:([A-Za-z0-9+/=]+),tag:([A-Za-z0-9+/=]+),type:(\w+)\]"
)
_NONCE_BYTES: Final = 32  # unusual for GCM, but what SOPS uses
_TAG_BYTES: Final = 16
KEY_BYTES: Final = 32


def is_sealed(text: str) -> bool:
    return text.startswith("ENC[")


class Cipher:
    """Seals and opens texts under one data key. What is sealed for one place does not open at another."""

    def __init__(self, data_key: bytes) -> None:
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._gcm = AESGCM(data_key)
        self._refusals = (InvalidTag, ValueError)

    def seal(self, text: str, type_name: str, bound_to: str) -> str:
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._gcm.encrypt(nonce, text.encode(), bound_to.encode())
        data, iv, tag = (b64encode(part).decode() for part in (sealed[:-_TAG_BYTES], nonce, sealed[-_TAG_BYTES:]))
        return f"ENC[AES256_GCM,data:{data},iv:{iv},tag:{tag},type:{type_name}]"

    def open(self, sealed: str, bound_to: str, name: str = "") -> tuple[str, str]:
        """The text and SOPS' name of its type. In errors it is called `name`, or by what it is bound to."""
        found = _SEALED.fullmatch(sealed)
        if not found:
            raise _broken(name or place_of(bound_to), "is not a sealed value as SOPS writes it")
        try:
            data, nonce, tag = (a2b_base64(part, strict_mode=True) for part in found.group(1, 2, 3))
        except NotBase64:
            raise _broken(name or place_of(bound_to), "is a sealed value with broken base64") from None
        try:
            text = self._gcm.decrypt(nonce, data + tag, bound_to.encode()).decode()
        except UnicodeDecodeError:
            raise SecretsError(
                f"{name or place_of(bound_to)} holds bytes that are not UTF-8 text", hint="open this file with `sops`"
            ) from None
        except self._refusals:
            raise SecretsError(
                f"{name or place_of(bound_to)} does not open: it was changed, or moved here from elsewhere",
                hint="restore the file from version control; moving sealed values by hand does not work",
            ) from None
        return text, found[4]


def _broken(place: str, what: str) -> SecretsError:
    return SecretsError(
        f"{place} {what}", hint="it was edited by hand or cut off; restore the file from version control"
    )
