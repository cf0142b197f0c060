"""Fetches charts from an OCI registry: a manifest that names the archive by its digest, behind token logins."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from talosmith.errors import Permanent
from talosmith.helm.archive import MAX_ARCHIVE
from talosmith.helm.download import Client, refused
from talosmith.helm.errors import ChartError, DigestDiffers, VersionMissing
from talosmith.helm.registry_session import Session
from talosmith.helm.store import Store, digest_of, verified
from talosmith.helm.versions import choose, is_exact, near

MAX_MANIFEST = 4 << 20
_TAG_PAGES = 50
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_REFERENCE = re.compile(
    r"oci://([^/@]+)/([a-z0-9][a-z0-9._/-]*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?"
)
_NEXT_PAGE = re.compile(r'<([^>]+)>;\s*rel="?next"?')


@dataclass(frozen=True)
class Pulled:
    """An archive as it came from a registry or repository."""

    version: str
    digest: str
    content: bytes


@dataclass(frozen=True)
class Reference:
    """Where a chart is: `oci://host/path:version@digest`."""

    host: str
    path: str
    tag: str
    digest: str

    @classmethod
    def parse(cls, text: str, version: str = "") -> Reference:
        match = _REFERENCE.fullmatch(text)
        if match is None:
            raise ChartError(f"{text!r} is no place in a registry", hint="for example oci://host/path:version")
        host, path, tag, digest = match.groups()
        return cls(host, path, tag or version.replace("+", "_"), digest or "")


def pull(text: str, version: str, client: Client, store: Store, *, expected: str = "") -> Pulled:
    """The archive of a chart; refused if its digest is not the expected one."""
    reference = Reference.parse(text, version if is_exact(version) else "")
    session = Session(reference.host, reference.path, client)
    tag = reference.tag or ("" if reference.digest else _newest(session, text, version))
    content = _manifest(session, text, reference.digest, tag, store)
    digest, size = _layer(content, text)
    if expected and digest != expected:
        raise DigestDiffers(text, expected=expected, found=digest, manifest=digest_of(content))
    archive = store.get(digest)
    if archive is None:
        if size > MAX_ARCHIVE:
            raise ChartError(f"{text} has {size} bytes; a chart archive has {MAX_ARCHIVE} at most")
        archive = session.get(f"blobs/{digest}", MAX_ARCHIVE).body
        verified(archive, digest, where=f"{text} (the archive)")
        store.put(archive)
    return Pulled(tag.replace("_", "+") or version, digest, archive)


def fetch(text: str, version: str, client: Client, store: Store) -> bytes:
    """The archive of a chart; with a digest in the reference nothing is asked of the registry twice."""
    return pull(text, version, client, store).content


def _manifest(session: Session, text: str, digest: str, tag: str, store: Store) -> bytes:
    content = store.get(digest) if digest else None
    if content is not None:
        return content
    wanted = digest or tag
    answer = session.ask(f"manifests/{wanted}", MAX_MANIFEST, _MANIFEST)
    if answer.status == 404:
        raise _no_version(session, text, wanted)
    if answer.status != 200:
        raise refused(session.url(f"manifests/{wanted}"), answer.status)
    if digest:
        verified(answer.body, digest, where=f"{text} (the manifest)")
        store.put(answer.body)
    return answer.body


def _layer(manifest: bytes, text: str) -> tuple[str, int]:
    """Digest and size of the archive."""
    try:
        content = json.loads(manifest)
        found: list[dict[str, Any]] = [one for one in content.get("layers") or [] if one.get("mediaType") == _CHART]
        if len(found) == 1:
            return str(found[0]["digest"]), int(found[0].get("size") or 0)
    except (ValueError, AttributeError, TypeError, KeyError):
        raise ChartError(f"{text}: its manifest is no JSON object of the kind that registries have") from None
    raise ChartError(f"{text} is no chart: it has {len(found)} layers of the type of charts")


def _newest(session: Session, text: str, version: str) -> str:
    """The tag of the newest version that fits; a plus sign cannot stand in a tag and is an underscore there."""
    versions = _versions(session)
    found = choose(versions, version)
    if found is None:
        raise _missing(text, version, list(versions))
    return versions[found]


def _no_version(session: Session, text: str, wanted: str) -> Permanent:
    """The error of a manifest that does not exist: the chart may exist in other versions."""
    try:
        known = list(_versions(session))
    except Permanent:
        known = []
    if not known:
        return ChartError(f"{text} does not exist (HTTP 404 from {session.host})", hint="check the chart's path")
    return _missing(text, wanted.replace("_", "+"), known)


def _missing(text: str, version: str, known: list[str]) -> VersionMissing:
    around = near(known, version)
    return VersionMissing(
        f"{text} has no version {version or 'without a pre-release mark'}"
        + (f"; versions near it: {', '.join(around)}" if around else ""),
        hint="choose a version that exists",
    )


def _versions(session: Session) -> dict[str, str]:
    """Every version, and its tag; registries hand out long lists in pages."""
    found: dict[str, str] = {}
    path = "tags/list"
    for _ in range(_TAG_PAGES):
        answer = session.get(path, MAX_MANIFEST)
        try:
            tags = json.loads(answer.body).get("tags") or []
            found |= {str(tag).replace("_", "+"): str(tag) for tag in tags}
        except (ValueError, AttributeError, TypeError):
            raise ChartError(f"{session.url(path)} is no list of tags") from None
        following = _NEXT_PAGE.search(answer.headers.get("link", ""))
        if following is None:
            break
        query = urlsplit(urljoin(session.url(path), following[1])).query
        path = f"tags/list?{query}"
    return found
