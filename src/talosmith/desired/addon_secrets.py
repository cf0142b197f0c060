"""What add-ons leave open in values and objects: secrets, whose texts are remembered, and the cluster's mark."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from talosmith.addons.addon import ClusterMark
from talosmith.desired.secrets_file import Secrets
from talosmith.model.values import SecretRef

_REFERENCE = re.compile(r"(env|sops):([A-Za-z0-9_.-]{1,100})")
_SHORTEST = 4  # a text of fewer characters is part of too many others to be hidden


class Revealed:
    """Called with a value, returns it with secrets in place of references. `texts` are all that were revealed."""

    def __init__(self, secrets: Secrets, mark: str = "") -> None:
        self._secrets = secrets
        self._mark = mark
        self.revealed = False
        self.texts: set[str] = set()

    def __call__(self, value: Any, *, references: bool = False) -> Any:
        """`references`: text such as `sops:smtp.password` is a reference, too, as users write it in values."""
        if isinstance(value, Mapping):
            return {key: self(inner, references=references) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self(inner, references=references) for inner in value]
        if isinstance(value, SecretRef):
            return self._text(value)
        if isinstance(value, ClusterMark):
            return self._mark
        if references and isinstance(value, str) and (found := _REFERENCE.fullmatch(value)):
            return self._text(SecretRef("env" if found[1] == "env" else "sops", found[2]))
        return value

    def _text(self, reference: SecretRef) -> str:
        text = self._secrets.value_of(reference).reveal()
        self.revealed = True
        if len(text) >= _SHORTEST:
            self.texts |= {text, base64.b64encode(text.encode()).decode()}
        return text


def hide_all(value: Any, secrets: frozenset[str]) -> Any:
    """A value of any form without these secrets."""
    if isinstance(value, str):
        return hide(value, secrets)
    if isinstance(value, list):
        return [hide_all(one, secrets) for one in value]
    if isinstance(value, Mapping):
        return {key: hide_all(one, secrets) for key, one in value.items()}
    return value


def hide(text: str, secrets: frozenset[str]) -> str:
    """The text without these secrets."""
    for one in sorted(secrets, key=len, reverse=True):
        text = text.replace(one, "***")
    return text
