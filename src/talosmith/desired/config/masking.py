"""Values of a machine config as a plan may show them: no secret is in what comes out.

Four rules hide a value, and each is enough: Talos' schema marks the field as secret; the field holds free text that
often carries secrets (file contents, manifests, environment variables); the field's name speaks of a secret; the
value has the form of one, or contains a secret that stands elsewhere in the same config. Long values are shown as a
digest in any case.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from talosmith.desired.config.redact import secret_values
from talosmith.desired.config.schema.documents import Document
from talosmith.model.resources import Setting

HIDDEN = "***"
_LONGEST = 256  # characters that are shown as they are
_SHORTEST = 6  # of a secret that is looked for in other values: a shorter one would hide half of the config

_FREE_TEXT = ("content", "contents", "manifest")
_ENVIRONMENT = ("env", "environment", "variables")
_PLACES = (("cluster", "id"), ("cluster", "secret"), ("clusterID",), ("clusterSecret",))
_NAMES = re.compile(
    r"token|secret|passw|passphrase|private|preshared|credential|apikey|api[-_]key|(?:^|[-_.])(?:auth|key|key-data)$",
    re.IGNORECASE,
)
_FORMS = re.compile(
    r"-----BEGIN"  # PEM
    r"|\bLS0tLS1CRUdJTi"  # PEM in base64
    r"|\b[a-z0-9]{6}\.[a-z0-9]{16}\b"  # a bootstrap token
    r"|\beyJ[\w-]{8,}\.",  # a JSON web token
)
_HARMLESS = re.compile(r"true|false|\d{1,5}|", re.IGNORECASE)
_URL_LOGIN = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_ASSIGNED = re.compile(r"([\w.-]*(?:token|secret|passw|key|auth|credential)[\w.-]*=)[^&\s,;]+", re.IGNORECASE)

Place = tuple[str | int, ...]


class Masking:
    """Shows values of configs in which these secrets occur."""

    def __init__(self, *configs: Sequence[Document]) -> None:
        found = (one for documents in configs for document in documents for one in _secrets(document))
        self._known = tuple(sorted({one for one in found if len(one) >= _SHORTEST}, key=len, reverse=True))

    def shown(self, place: Place, value: Any, *, secret: bool) -> tuple[Setting, bool]:
        """The value as it may be shown, and whether a part of it is hidden. `secret`: by the schema."""
        if value is None or isinstance(value, bool | int | float):
            return (HIDDEN, True) if secret and value is not None else (value, False)
        if isinstance(value, list | tuple):
            items = [self.shown(place, item, secret=secret) for item in value]
            return [item for item, _ in items], any(masked for _, masked in items)
        text = str(value)
        if secret or _hides_all(place):
            return (HIDDEN, True) if text else ("", False)
        if place and place[-1] in _FREE_TEXT:
            return _counted(text), True
        if any(isinstance(key, str) and _NAMES.search(key) for key in place) and not _HARMLESS.fullmatch(text):
            return HIDDEN, True
        if place and place[-1] in ("crt", "cert"):
            return _digest(text), True
        if _FORMS.search(text) or any(known in text for known in self._known):
            return HIDDEN, True
        if len(text) > _LONGEST or "\n" in text.strip():
            return _digest(text), True
        part = _ASSIGNED.sub(rf"\1{HIDDEN}", _URL_LOGIN.sub(HIDDEN, text))
        return part, part != text


def _hides_all(place: Place) -> bool:
    return place in _PLACES or any(key in _ENVIRONMENT for key in place)


def _counted(text: str) -> str:
    lines = len(text.splitlines())
    return f"{lines} lines" if lines > 1 else f"{len(text)} character{'' if len(text) == 1 else 's'}"


def _digest(text: str) -> str:
    return f"{_counted(text)}, sha256 {hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _secrets(document: Document) -> Iterator[str]:
    yield from secret_values([document])
    cluster = document.get("cluster")
    if isinstance(cluster, dict):
        yield str(cluster.get("id") or "")
    if document.get("kind") == "DiscoveryIdentityConfig":
        yield str(document.get("clusterID") or "")
