"""Mirrors of registries and repositories: `charts.mirrors` says which address is asked instead of a host.

The rest of the path is appended, so `ghcr.io: oci://registry.example.org/ghcr.io` makes
oci://registry.example.org/ghcr.io/org/chart of oci://ghcr.io/org/chart. A repository may be mirrored by a registry
(its charts are then below the path) and the other way round. Locks name the original address.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit


def mirrored(source: str, name: str, mirrors: Mapping[str, str]) -> tuple[str, str]:
    """The source that is asked, and the chart's name there, which a registry has in its path."""
    address = mirrored_address(source, mirrors)
    if address == source:
        return source, name
    if name and address.startswith("oci://"):
        return f"{address.rstrip('/')}/{name}", ""
    if not name and not address.startswith("oci://"):
        repository, _, chart = address.rpartition("/")
        return repository, chart
    return address, name


def mirrored_address(url: str, mirrors: Mapping[str, str]) -> str:
    parts = urlsplit(url)
    mirror = mirrors.get(parts.netloc) or mirrors.get(parts.hostname or "")
    if mirror is None or parts.scheme not in ("oci", "http", "https"):
        return url
    query = f"?{parts.query}" if parts.query else ""
    return f"{mirror.rstrip('/')}{parts.path}{query}"
