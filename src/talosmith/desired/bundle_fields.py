"""Reads the fields of a secrets bundle from wherever they stand, and keeps all complaints for the end.

A complaint names the field. The value it is about never gets into it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from talosmith.desired.pki import CertificateAndKey
from talosmith.errors import SecretsError
from talosmith.model.secret import Secret

REDACTED = "******"  # what talosctl writes in place of a secret that it does not show


def complain(source: str, problems: Sequence[str]) -> None:
    if problems:
        lines = "".join(f"\n  - {problem}" for problem in problems)
        raise SecretsError(
            f"{source} is not sound:{lines}",
            hint="Take it again from where it came from: a running cluster cannot be given new secrets like this.",
        )


class FieldReader:
    """Fields by their dotted paths, or files by their names. What is missing comes back empty, and is noted."""

    def __init__(self, data: Mapping[str, Any], source: str) -> None:
        self._data = data
        self._source = source
        self._problems: list[str] = []

    def finish(self) -> None:
        complain(self._source, self._problems)

    def refuse_others(self, section: str, known: Sequence[str]) -> None:
        """An unknown field would be lost when the bundle is written again."""
        part = self._find(section) if section else self._data
        if isinstance(part, Mapping):
            prefix = f"{section}." if section else ""
            self._problems += [f"{prefix}{name} is not a known field" for name in part if name not in known]

    def text(self, path: str, *, optional: bool = False) -> str:
        value = self._find(path)
        if value is None or value == "":
            if not optional:
                self._problems.append(f"{path} is missing")
            return ""
        if not isinstance(value, str):
            self._problems.append(f"{path} is not text (are its quotes missing?)")
            return ""
        if value == REDACTED:
            self._problems.append(f"{path} is redacted: the file was made without its secrets")
            return ""
        return value

    def secret(self, path: str) -> Secret:
        return Secret(self.text(path))

    def optional_secret(self, path: str) -> Secret | None:
        return Secret(self.text(path, optional=True)) or None

    def pair(self, path: str) -> CertificateAndKey:
        return CertificateAndKey(self._pem(f"{path}.crt"), self.key(f"{path}.key"))

    def key(self, path: str) -> Secret:
        return Secret(self._pem(path))

    def file(self, name: str) -> str:
        content = self._data.get(name)
        if not content:
            self._problems.append(f"{name} is {'missing' if content is None else 'empty'}")
            return ""
        return self._decoded(content, name)

    def file_pair(self, stem: str) -> CertificateAndKey:
        return CertificateAndKey(self.file(f"{stem}.crt"), Secret(self.file(f"{stem}.key")))

    def _find(self, path: str) -> Any:
        value: Any = self._data
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        return value

    def _pem(self, path: str) -> str:
        text = self.text(path)
        try:
            return self._decoded(base64.b64decode("".join(text.split()), validate=True), path)
        except binascii.Error:
            self._problems.append(f"{path} is not base64")
            return ""

    def _decoded(self, content: bytes, name: str) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError:
            self._problems.append(f"{name} is not text in PEM form")
            return ""
