"""Fetches charts from an HTTP chart repository: an index.yaml that names archives and their digests."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from talosmith.errors import Permanent
from talosmith.helm import yaml_in
from talosmith.helm.archive import MAX_ARCHIVE
from talosmith.helm.dependencies import in_range
from talosmith.helm.download import Client, refused
from talosmith.helm.errors import ChartError
from talosmith.helm.store import Store, verified

MAX_INDEX = 64 << 20
_SEMVER = re.compile(r"v?([0-9]+)\.([0-9]+)\.([0-9]+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?")


def fetch(url: str, name: str, version: str, client: Client, store: Store) -> bytes:
    """The archive of a chart. The version may be a range; none at all means the newest that is no pre-release."""
    base = url.rstrip("/") + "/"
    entry = choose(_index(base, client), name, version, where=url)
    digest = _digest(entry)
    if digest and (kept := store.get(digest)) is not None:
        return kept
    urls = entry.get("urls") or []
    if not urls:
        raise ChartError(f"{url} names no address for {name} {entry.get('version')}")
    target = urljoin(base, str(urls[0]))
    content = _get(target, client, base, MAX_ARCHIVE)
    if digest:
        verified(content, digest, where=target)
    store.put(content)
    return content


def choose(index: Mapping[str, Any], name: str, version: str, *, where: str) -> Mapping[str, Any]:
    """The entry of the newest version that fits."""
    entries = (index.get("entries") or {}).get(name)
    if not isinstance(entries, list) or not entries:
        raise ChartError(f"{where} has no chart {name!r}", hint="`entries` of its index.yaml lists what it has.")
    fitting = [one for one in entries if isinstance(one, dict) and _fits(str(one.get("version") or ""), version)]
    if not fitting:
        known = ", ".join(str(one.get("version")) for one in entries[:5] if isinstance(one, dict))
        raise ChartError(
            f"{where} has no version {version or 'without a pre-release mark'} of {name}; it has {known} …"
        )
    return max(fitting, key=lambda one: newest_first(str(one["version"])))


def newest_first(version: str) -> tuple[Any, ...]:
    """Sorts versions: a pre-release comes before its release, its numbers count as numbers."""
    match = _SEMVER.fullmatch(version)
    if match is None:
        return (-1,)
    numbers = tuple(int(part) for part in match.groups()[:3])
    if match[4] is None:
        return (*numbers, 1, ())
    parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in match[4].split("."))
    return (*numbers, 0, parts)


def _fits(candidate: str, wanted: str) -> bool:
    if candidate == wanted:
        return True
    if _SEMVER.fullmatch(candidate) is None:
        return False
    return in_range(wanted, candidate) if wanted else "-" not in candidate


def _digest(entry: Mapping[str, Any]) -> str:
    digest = str(entry.get("digest") or "")
    return digest if not digest or ":" in digest else f"sha256:{digest}"


def _index(base: str, client: Client) -> Mapping[str, Any]:
    where = urljoin(base, "index.yaml")
    text = _get(where, client, base, MAX_INDEX).decode(errors="replace")
    try:
        index = json.loads(text) if text.lstrip().startswith("{") else yaml_in.load(text, whole_numbers=True)
    except (ValueError, ChartError) as problem:
        raise ChartError(f"{where} cannot be read: {problem}") from None
    if not isinstance(index, dict):
        raise ChartError(f"{where} is no index of charts")
    return index


def _get(url: str, client: Client, base: str, limit: int) -> bytes:
    """The repository's login goes to its own host only: archives may lie anywhere."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise Permanent(f"{url} is no HTTP address", hint="Charts in OCI registries are given as oci://host/path.")
    login = client.of_host(url) if urlsplit(url).netloc == urlsplit(base).netloc else None
    answer = client.get(url, limit=limit, headers={"Authorization": login.header()} if login else {})
    if answer.status != 200:
        raise refused(url, answer.status)
    return answer.body
