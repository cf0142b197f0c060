"""URLs as Go's library reads, writes and (in Talos' merge) mixes them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from urllib.parse import unquote

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PATH_CHARACTERS = re.compile(r"[^A-Za-z0-9._~!$&'()*+,;=:@%/\[\]-]")
_PATH_PLAIN = re.compile(r"[^A-Za-z0-9._~$&+,/:;=@-]")
_HOST_CHARACTERS = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:\[\]<>\"%\u0080-\U0010ffff-]*")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class Url:
    scheme: str = ""
    opaque: str = ""
    user: str = ""
    host: str = ""
    path: str = ""
    query: str = ""
    force_query: bool = False
    fragment: str = ""

    @property
    def hostname(self) -> str:
        return self._split()[0]

    @property
    def port(self) -> str:
        return self._split()[1]

    def _split(self) -> tuple[str, str]:
        host, colon, port = self.host.rpartition(":")
        if not colon or not re.fullmatch("[0-9]*", port):
            host, port = self.host, ""
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        return host, port

    def __str__(self) -> str:
        text = f"{self.scheme}:" if self.scheme else ""
        if self.opaque:
            text += self.opaque
        else:
            if self.host or self.user or (self.scheme and self.path):
                text += "//" + (f"{self.user}@" if self.user else "") + self.host
            if self.path and self.path[0] != "/" and self.host:
                text += "/"
            if not text and ":" in self.path.partition("/")[0]:
                text += "./"
            text += self.path
        if self.force_query or self.query:
            text += f"?{self.query}"
        return text + (f"#{self.fragment}" if self.fragment else "")


@lru_cache(maxsize=1024)
def parse_url(text: str) -> Url:
    if any(ord(character) < 0x20 or character == "\x7f" for character in text):
        raise ValueError("has control characters, which a URL cannot hold")
    rest, _, fragment = text.partition("#")
    if _BAD_ESCAPE.search(fragment):
        raise ValueError("has a % that is not followed by two hexadecimal digits")
    if rest.startswith(":"):
        raise ValueError("is a URL without a scheme before the colon")
    scheme = ""
    if match := _SCHEME.match(rest):
        scheme, rest = match[0][:-1].lower(), rest[match.end() :]
    force_query = rest.endswith("?") and rest.count("?") == 1
    rest, _, query = rest.partition("?")
    url = Url(scheme, query=query, force_query=force_query, fragment=fragment)
    if not rest.startswith("/"):
        if scheme:
            return replace(url, opaque=rest)
        if ":" in rest.partition("/")[0]:
            raise ValueError("is not a URL: a colon before the first slash, but no scheme")
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, at, host = authority.rpartition("@")
        _check_host(host)
        url = replace(url, user=user if at else "", host=host)
    return replace(url, path=_escaped_path(rest))


def merge_urls(left: str, right: str) -> str:
    """Talos merges URLs part by part: what the patch's URL does not have stays."""
    old, new = parse_url(left), parse_url(right)
    if old.user and new.user:
        raise ValueError("Talos cannot merge two URLs that both name a user")
    parts = ("scheme", "opaque", "user", "host", "path", "query", "fragment")
    kept = {part: getattr(new, part) or getattr(old, part) for part in parts}
    return str(Url(**kept, force_query=new.force_query))


def check_endpoint(text: str) -> None:
    """What Talos asks of the URLs in its config: a host, and a port in range if there is one."""
    url = parse_url(text)
    if url.host.count(":") > 2 and not ("[" in url.host and "]" in url.host):
        raise ValueError("needs brackets around its IPv6 address")
    if not url.hostname:
        raise ValueError("has no host name")
    if url.port and not 1 <= int(url.port) <= 65535:
        raise ValueError("has a port outside of 1 to 65535")


def _check_host(host: str) -> None:
    if host.startswith("["):
        name, bracket, port = host.rpartition("]")
        if not bracket:
            raise ValueError("lacks the closing bracket of its host")
    else:
        name, colon, port = host.rpartition(":")
        name, port = (name, colon + port) if colon else (host, "")
    if port and not re.fullmatch(":[0-9]*", port):
        raise ValueError("has a port that is not a number")
    if not _HOST_CHARACTERS.fullmatch(name) or _BAD_ESCAPE.search(name):
        raise ValueError("has a host name with characters that cannot stand there")


def _escaped_path(path: str) -> str:
    if _BAD_ESCAPE.search(path):
        raise ValueError("has a % that is not followed by two hexadecimal digits")
    if not _PATH_CHARACTERS.search(path):
        return path
    plain = unquote(path, errors="surrogateescape")
    return _PATH_PLAIN.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode()), plain)
