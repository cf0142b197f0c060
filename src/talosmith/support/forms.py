"""The forms that a secret takes in logs and dumps: as it is, encoded, decoded, escaped, wrapped in lines.

A search for the value alone finds a token in a URL, or a key in a base64 blob, only by luck.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from urllib.parse import quote

_ENVELOPE = b"-----"  # lines of PEM that hold no key
_DECODED = 16  # bytes; what decodes to less was text, not base64
_SHORT = 64  # characters: tokens and passwords, not keys


def forms_of(value: str) -> set[bytes]:
    """Every form of a secret; forms that are parts of longer ones are in the set, too."""
    found: set[bytes] = set()
    for text in _texts(value.strip().encode()):
        coded = _base64(text)
        found |= {text, *_escaped(text), *coded, *(form for one in coded for form in _escaped(one))}
        if len(text) < _SHORT:  # keys are in base64 already where configs hold them
            found |= {form for one in coded for form in _base64(one)}
        found |= {*_notations(text), *_notations(_decoded(text))}
    return {form for form in found if form}


def _texts(value: bytes) -> set[bytes]:
    """The value, and the text inside it: PEM in base64, the lines of PEM, the secret part of a token."""
    decoded = _decoded(value)
    if _ENVELOPE in value:
        lines = [line.strip() for line in value.splitlines() if _ENVELOPE not in line]
        return {*lines, b"\n".join(lines), b"".join(lines)} - {b""}
    if _ENVELOPE in decoded:
        return {value, *_texts(decoded)}
    if b"." in value and len(value) < _SHORT:
        return {value, value.rpartition(b".")[2]}
    return {value}


def _notations(raw: bytes) -> set[bytes]:
    written = raw.hex()
    colons = raw.hex(":")
    return {raw, base64.b64encode(raw), *(one.encode() for one in (written, written.upper(), colons, colons.upper()))}


def _decoded(value: bytes) -> bytes:
    """What base64 stands for; empty if the value is something else."""
    compact = b"".join(value.split()).translate(bytes.maketrans(b"-_", b"+/"))
    try:
        raw = base64.b64decode(compact + b"=" * (-len(compact) % 4), validate=True)
    except binascii.Error:
        return b""
    return raw if len(raw) >= _DECODED else b""


def _base64(text: bytes) -> set[bytes]:
    """As part of a longer text that was encoded as a whole: the three ways to begin, without the uncertain ends."""
    found = set()
    for before in range(3):
        coded = base64.b64encode(b"\0" * before + text)
        start = (before * 8 + 5) // 6
        end = (before + len(text)) * 8 // 6
        found |= {coded[start:end], coded[start:end].translate(bytes.maketrans(b"+/", b"-_"))}
    return found


def _escaped(text: bytes) -> set[bytes]:
    try:
        plain = text.decode()
    except UnicodeDecodeError:
        return set()
    percent = quote(plain, safe="")
    hidden = "".join(f"\\u{ord(letter):04x}" if letter in "+/=<>&'" else letter for letter in plain)
    once = {json.dumps(plain)[1:-1], json.dumps(plain, ensure_ascii=False)[1:-1], hidden}
    twice = {one.replace("\\", "\\\\") for one in once}  # JSON in a JSON log line
    slashes = {one.replace("/", "\\/") for one in once | twice}
    lowered = re.sub("%..", lambda found: found[0].lower(), percent)
    return {
        text.translate(bytes.maketrans(b"+/", b"-_")),
        text.rstrip(b"="),
        *(one.encode() for one in (percent, lowered, *once, *twice, *slashes)),
    }
