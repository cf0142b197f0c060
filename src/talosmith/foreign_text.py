"""Text that others wrote, made fit to be shown: nothing that a terminal acts on, no secrets, not without end.

Nodes, API servers, tools and files say what they like. A control character is written out (`\\x1b`): it is seen and
does nothing.
"""

from __future__ import annotations

import re
import unicodedata

_SUSPECT = re.compile(r"[^\t\n\x20-\x7e]")
_ACTED_ON = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # control, invisible, half a character, line breaks
_TOKEN = re.compile(r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b")  # as kubeadm and trustd have them
_BASE64 = re.compile(r"[A-Za-z0-9+/]{32,}={0,2}")  # keys, certificates, encryption secrets
_MIXED = re.compile(r"(?=.*[A-Z])(?=.*[a-z])(?=.*[0-9]).*")  # paths and checksums are not


def escaped(text: str) -> str:
    """With control characters written out; tabs and line breaks stay."""
    return _SUSPECT.sub(_shown, text)


def escaped_line(text: str) -> str:
    """The same on one line: tabs and line breaks are written out too."""
    return escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def redacted(text: str) -> str:
    """Without what looks like a token, a key or a certificate."""
    text = _TOKEN.sub("***", text)
    return _BASE64.sub(lambda found: "***" if _MIXED.fullmatch(found[0]) else found[0], text)


def cleaned(text: str, longest: int = 2000) -> str:
    """Words of another side: a server that refuses a config, or a Secret, repeats what it does not like about it."""
    text = escaped(redacted(text).strip())
    return text if len(text) <= longest else text[:longest] + " …"


def _shown(found: re.Match[str]) -> str:
    if unicodedata.category(found[0]) not in _ACTED_ON:
        return found[0]
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
