"""The `sops` block of a file: who may open it, which values are sealed, and the sealed MAC."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from talosmith.errors import SecretsError
from talosmith.sops.rule import Rule, rule_from
from talosmith.sops.tree import Document, plain
from talosmith.yaml.go_words import time

BLOCK: Final = "sops"
FORMAT_VERSION: Final = "3.13.3"  # the release whose format is written
_OTHER_KEYS: Final = {
    "kms": "AWS KMS",
    "gcp_kms": "Google Cloud KMS",
    "hckms": "Huawei Cloud KMS",
    "azure_kv": "Azure Key Vault",
    "hc_vault": "HashiCorp Vault",
    "pgp": "PGP",
    "key_groups": "key groups (Shamir shares)",
}
_FRACTION = re.compile(r"\.\d+")


@dataclass(frozen=True, slots=True)
class Metadata:
    wrapped: tuple[tuple[str, str], ...]  # recipient, the data key as its age file
    rule: Rule
    last_modified: str
    mac: str
    other_keys: tuple[str, ...] = ()  # kinds of keys that can open the file too, but not here

    @property
    def recipients(self) -> tuple[str, ...]:
        return tuple(recipient for recipient, _ in self.wrapped)

    def block(self) -> dict[str, Any]:
        """As `sops` writes it: sorted, empty fields left out."""
        age = [{"enc": armored, "recipient": recipient} for recipient, armored in self.wrapped]
        fields = {"age": age, "lastmodified": self.last_modified, "mac": self.mac, "version": FORMAT_VERSION}
        return dict(sorted((fields | self.rule.fields()).items()))


def split_off(documents: list[Document], source: str) -> Metadata:
    """Take the block out of every document and read the first one's; the others are copies."""
    blocks = [document.pop(BLOCK, None) for document in documents]
    if not blocks or blocks[0] is None:
        raise SecretsError(
            f"{source} is not encrypted with SOPS",
            hint="it has no `sops` block; encrypt it with `talosmith secrets` or `sops encrypt`",
        )
    block = plain(blocks[0])
    if not isinstance(block, Mapping):
        raise _broken(source, "is not a mapping")
    other = tuple(name for key, name in _OTHER_KEYS.items() if block.get(key))
    wrapped = tuple(_wrapped(entry, source) for entry in block.get("age") or ())
    mac = block.get("mac")
    if not isinstance(mac, str):
        raise _broken(source, "has no `mac`")
    return Metadata(wrapped, rule_from(block, source), _time(block, source), mac, other)


def _wrapped(entry: Any, source: str) -> tuple[str, str]:
    if isinstance(entry, Mapping):
        recipient, armored = entry.get("recipient"), entry.get("enc")
        if isinstance(recipient, str) and isinstance(armored, str):
            return recipient, armored
    raise _broken(source, "has an `age` entry without `recipient` and `enc`")


def _time(block: Mapping[str, Any], source: str) -> str:
    """The MAC is bound to this text; SOPS drops fractions of a second first."""
    modified = time(str(block.get("lastmodified")))
    if modified is None:
        raise _broken(source, "has no `lastmodified` time")
    return _FRACTION.sub("", modified)


def _broken(source: str, what: str) -> SecretsError:
    return SecretsError(f"the `sops` block of {source} {what}", hint="restore the file from version control")
