"""Removes secrets from files that are to be handed on, and proves that none is left.

Two searches. Known secrets are found in all their forms: short ones by their text, long ones by any stretch of them,
so that a key that a log cut off or wrapped is found, too. Unknown ones, such as keys that nodes issue themselves, are
found by what they look like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from talosmith.support.forms import forms_of

MASK = b"REDACTED"  # plain text in YAML, too, where stars are not
SHORTEST = 4  # characters; a shorter value is in every file by chance

_GRAM, _STRIDE = 12, 6  # any 17 characters in a row of a long secret hold one gram at a multiple of the stride
_LONG = _GRAM + _STRIDE - 1
_END = re.compile(rb"[\s\"'`<>{}\[\](),;]")
_LOOKS = (  # what secrets look like; the group is masked, or all of it
    re.compile(rb"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.{0,20000}?-----END [A-Z0-9 ]*PRIVATE KEY-----", re.DOTALL),
    re.compile(rb"LS0tLS1CRUdJTi(?!BDRVJUSUZJQ0FUR)[A-Za-z0-9+/=]{40,}"),  # the same in base64; not certificates
    re.compile(rb"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),  # JSON Web Tokens
    re.compile(rb"\b[a-z0-9]{6}\.[a-z0-9]{16}\b"),  # bootstrap tokens
    re.compile(rb"\bAGE-SECRET-KEY-1[A-Z0-9]{20,}"),
    re.compile(rb"(?i)\b(?:bearer|basic)\s+([\w.~+/=-]{16,})"),
    re.compile(rb"://[^/\s:@\"']+:([^@/\s\"']+)@"),  # a password in a URL
    re.compile(rb"(?i)(?:password|passphrase|secret|token|api[_-]?key)[\"']?\s*[=:]\s*[\"']?([^\s\"',;}\]*]{6,})"),
)


class Scrubber:
    """`public` texts, such as CA certificates, share stretches with keys; those are not secret."""

    def __init__(self, secrets: Iterable[str], public: Iterable[str] = ()) -> None:
        wanted = [value for value in dict.fromkeys(secrets) if len(value.strip()) >= SHORTEST]
        forms = {form for value in wanted for form in forms_of(value) if len(form) >= SHORTEST}
        known = {gram for value in public for form in forms_of(value) for gram in _grams(form)}
        self._short = sorted((form for form in forms if len(form) < 2 * _LONG), key=len, reverse=True)
        self._grams = {gram for form in forms if len(form) >= _LONG for gram in _grams(form)} - known

    def scrub(self, data: bytes) -> tuple[bytes, int]:
        """The data without secrets, and how many places were masked."""
        count = 0
        for look in _LOOKS:
            data, masked = look.subn(_masked, data)
            count += masked
        for form in self._short:
            if form in data:
                count += data.count(form)
                data = data.replace(form, MASK)
        while places := self._places(data):  # again: what was masked moves the rest to other multiples of the stride
            parts, end = [], 0
            for start, stop in places:
                parts += [data[end:start], MASK]
                end = stop
            data = b"".join([*parts, data[end:]])
            count += len(places)
        return data, count

    def leaks(self, data: bytes) -> bool:
        """Whether a known secret, or a stretch of it, is in the data."""
        return any(form in data for form in self._short) or bool(self._places(data))

    def _places(self, data: bytes) -> list[tuple[int, int]]:
        """Words that hold a stretch of a long secret, whole, and in order."""
        grams = self._grams
        found: list[tuple[int, int]] = []
        for at in range(0, len(data) - _GRAM + 1, _STRIDE):
            if data[at : at + _GRAM] not in grams or (found and at < found[-1][1] - _GRAM):
                continue
            start = _word_start(data, at)
            after = _END.search(data, at + _GRAM)
            stop = after.start() if after else len(data)
            if found and start <= found[-1][1]:
                start = found.pop()[0]
            found.append((start, stop))
        return found


def _word_start(data: bytes, at: int) -> int:
    while at > 0 and not _END.match(data, at - 1):
        at -= 1
    return at


def _grams(form: bytes) -> Iterable[bytes]:
    return (form[at : at + _GRAM] for at in range(len(form) - _GRAM + 1))


def _masked(found: re.Match[bytes]) -> bytes:
    if not found.re.groups:
        return MASK
    whole, start = found[0], found.start(1) - found.start()
    return whole[:start] + MASK + whole[start + len(found[1]) :]
