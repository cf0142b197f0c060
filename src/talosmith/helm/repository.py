"""Fetches charts from an HTTP chart repository: an index.yaml that names archives and their digests."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any
from urllib.parse import urljoin, urlsplit

from talosmith.errors import Permanent
from talosmith.helm import yaml_in
from talosmith.helm.archive import MAX_ARCHIVE
from talosmith.helm.download import Client, is_loopback, refused
from talosmith.helm.errors import ChartError, DigestDiffers, VersionMissing
from talosmith.helm.registry import Pulled
from talosmith.helm.store import Store, digest_of, verified
from talosmith.helm.versions import choose, near

MAX_INDEX = 64 << 20
_OTHER_KEY = re.compile(r"^(?:  )?[^\s-]", re.MULTILINE)


class Indexes:
    """Reads each repository's index once, for all threads."""

    def __init__(self) -> None:
        self._known: dict[str, str | Exception] = {}
        self._busy: dict[str, threading.Lock] = {}
        self._own = threading.Lock()

    def text(self, base: str, client: Client) -> str:
        with self._own:
            busy = self._busy.setdefault(base, threading.Lock())
        with busy:
            if base not in self._known:
                try:
                    content = _get(urljoin(base, "index.yaml"), client, base, MAX_INDEX)
                    self._known[base] = content.decode(errors="replace")
                except Exception as problem:
                    self._known[base] = problem
            known = self._known[base]
        if isinstance(known, Exception):
            raise known
        return known


def pull(
    url: str,
    name: str,
    version: str,
    client: Client,
    store: Store,
    *,
    expected: str = "",
    indexes: Indexes | None = None,
    mirrored: Callable[[str], str] = str,
) -> Pulled:
    """The archive of a chart; refused if its digest is not the expected one.

    The version may be a range; none at all means the newest that is no pre-release. `mirrored` says where an address
    in the index is asked instead.
    """
    base = url.rstrip("/") + "/"
    entry = _choose(_entries((indexes or Indexes()).text(base, client), name, url), name, version, url)
    found, digest = str(entry["version"]), _digest(entry)
    if expected and digest and digest != expected:
        raise DigestDiffers(f"{name} {found} of {url}", expected=expected, found=digest)
    archive = store.get(digest or expected) if digest or expected else None
    if archive is not None:
        return Pulled(found, digest or expected, archive)
    urls = entry.get("urls") or []
    if not urls:
        raise ChartError(f"{url} names no address for {name} {found}")
    target = mirrored(urljoin(base, str(urls[0])))
    archive = _get(target, client, base, MAX_ARCHIVE)
    if digest:
        verified(archive, digest, where=target)
    elif expected and digest_of(archive) != expected:
        raise DigestDiffers(target, expected=expected, found=digest_of(archive))
    return Pulled(found, store.put(archive), archive)


def fetch(url: str, name: str, version: str, client: Client, store: Store) -> bytes:
    """The archive of a chart."""
    return pull(url, name, version, client, store).content


def _choose(entries: list[Mapping[str, Any]], name: str, version: str, where: str) -> Mapping[str, Any]:
    """The entry of the newest version that fits."""
    by_version: dict[str, Mapping[str, Any]] = {str(one.get("version") or ""): one for one in reversed(entries)}
    found = choose(by_version, version)
    if found is not None:
        return by_version[found]
    around = near(by_version, version)
    raise VersionMissing(
        f"{where} has no version {version or 'without a pre-release mark'} of {name}"
        + (f"; versions near it: {', '.join(around)}" if around else ""),
        hint="choose a version that exists",
    )


def _digest(entry: Mapping[str, Any]) -> str:
    digest = str(entry.get("digest") or "")
    return digest if not digest or ":" in digest else f"sha256:{digest}"


def _entries(text: str, name: str, where: str) -> list[Mapping[str, Any]]:
    index = _read(_part(text, name) or text, where)
    known = index.get("entries") or {}
    entries = known.get(name)
    if not isinstance(entries, list) or not entries:
        close = get_close_matches(name, list(known), n=1)
        hint = f"did you mean `{close[0]}`?" if close else "`entries` of its index.yaml lists what it has"
        raise ChartError(f"{where} has no chart {name!r}", hint=hint)
    return [one for one in entries if isinstance(one, dict)]


def _read(text: str, where: str) -> dict[str, Any]:
    try:
        index = json.loads(text) if text.lstrip().startswith("{") else yaml_in.load(text, whole_numbers=True)
    except (ValueError, ChartError) as problem:
        raise ChartError(f"the index.yaml of {where} cannot be read: {problem}") from None
    if not isinstance(index, dict) or not isinstance(index.get("entries") or {}, dict):
        raise ChartError(f"the index.yaml of {where} is no index of charts")
    return index


def _part(text: str, name: str) -> str:
    """The lines of one chart, where an index is laid out as Helm does it: an index may have tens of megabytes."""
    begin = text.find("\nentries:\n")
    start = text.find(f"\n  {name}:\n", begin + 1)
    if begin < 0 or start < 0 or "&" in text:  # an anchor may be anywhere
        return ""
    following = _OTHER_KEY.search(text, start + 1 + len(f"  {name}:\n"))
    return "entries:\n" + text[start + 1 : following.start() if following else len(text)]


def _get(url: str, client: Client, base: str, limit: int) -> bytes:
    """The repository's login goes to its own host only: archives may lie anywhere."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise Permanent(f"{url} is no HTTP address", hint="charts in OCI registries are given as oci://host/path")
    parts = urlsplit(url)
    safe = parts.scheme == "https" or is_loopback(parts.netloc)
    login = client.of_host(url) if safe and parts.netloc == urlsplit(base).netloc else None
    answer = client.get(url, limit=limit, headers={"Authorization": login.header()} if login else {})
    if answer.status != 200:
        raise refused(url, answer.status)
    return answer.body
