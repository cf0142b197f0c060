"""One value sealed with the file's data key: `ENC[AES256_GCM,data:…,iv:…,tag:…,type:…]`."""

from __future__ import annotations

import os
from base64 import b64encode
from binascii import Error as NotBase64
from binascii import a2b_base64
from typing import Final

from talosmith.errors import SecretsError
from talosmith.inventory.sops.tree import place_of

_START: Final = "ENC[AES256_GCM,data:"
_PARTS: Final = ("iv:", "tag:", "type:")
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
        # Cut by hand: this is half of what opening a file costs, and a regular expression doubles it.
        data, *others = sealed.removeprefix(_START).removesuffix("]").split(",")
        if not (sealed.startswith(_START) and sealed.endswith("]") and len(others) == len(_PARTS)):
            raise _broken(name or place_of(bound_to), "is not a sealed value as SOPS writes it")
        if not all(map(str.startswith, others, _PARTS)):
            raise _broken(name or place_of(bound_to), "is not a sealed value as SOPS writes it")
        iv, tag, type_name = others
        try:
            sealed_bytes = a2b_base64(data, strict_mode=True) + a2b_base64(tag[4:], strict_mode=True)
            nonce = a2b_base64(iv[3:], strict_mode=True)
        except NotBase64:
            raise _broken(name or place_of(bound_to), "is a sealed value with broken base64") from None
        try:
            text = self._gcm.decrypt(nonce, sealed_bytes, bound_to.encode()).decode()
        except UnicodeDecodeError:
            raise SecretsError(
                f"{name or place_of(bound_to)} holds bytes that are not UTF-8 text", hint="open this file with `sops`"
            ) from None
        except self._refusals:
            raise SecretsError(
                f"{name or place_of(bound_to)} does not open: it was changed, or moved here from elsewhere",
                hint="restore the file from version control; moving sealed values by hand does not work",
            ) from None
        return text, type_name[5:]


def _broken(place: str, what: str) -> SecretsError:
    return SecretsError(
        f"{place} {what}", hint="it was edited by hand or cut off; restore the file from version control"
    )
