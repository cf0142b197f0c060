"""Fetches charts from an OCI registry: a manifest that names the archive by its digest, behind token logins."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from talosmith.errors import Permanent
from talosmith.helm.archive import MAX_ARCHIVE
from talosmith.helm.dependencies import in_range
from talosmith.helm.download import Answer, Client, is_loopback, refused
from talosmith.helm.errors import ChartError
from talosmith.helm.repository import newest_first
from talosmith.helm.store import Store, verified

MAX_MANIFEST = 4 << 20
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
_CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
_REFERENCE = re.compile(
    r"oci://([^/@]+)/([a-z0-9][a-z0-9._/-]*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?"
)
_PARAMETER = re.compile(r'([a-z_]+)="([^"]*)"')


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
            raise ChartError(f"{text!r} is no place in a registry", hint="Write it as oci://host/path:version.")
        host, path, tag, digest = match.groups()
        return cls(host, path, tag or version.replace("+", "_"), digest or "")


@dataclass
class _Session:
    """Speaks to one repository of a registry; keeps the login that it was asked for."""

    reference: Reference
    client: Client
    login: str = ""

    @property
    def base(self) -> str:
        scheme = "http" if is_loopback(self.reference.host) else "https"
        return f"{scheme}://{self.reference.host}/v2/{self.reference.path}"

    def get(self, path: str, limit: int, accept: str = "*/*") -> Answer:
        url = f"{self.base}/{path}"
        answer = self._ask(url, limit, accept)
        if answer.status == 401:
            self.login = self._log_in(url, answer.headers.get("www-authenticate", ""))
            answer = self._ask(url, limit, accept)
        if answer.status != 200:
            raise refused(url, answer.status)
        return answer

    def _ask(self, url: str, limit: int, accept: str) -> Answer:
        headers = {"Accept": accept}
        if self.login:
            headers["Authorization"] = self.login
        return self.client.get(url, limit=limit, headers=headers)

    def _log_in(self, url: str, challenge: str) -> str:
        """Answers the registry's challenge: by the login itself, or by a token fetched with it."""
        scheme, _, rest = challenge.partition(" ")
        known = self.client.of_host(url)
        if scheme.lower() == "basic":
            if known is None:
                raise refused(url, 401)
            return known.header()
        parameters = dict(_PARAMETER.findall(rest))
        realm = parameters.get("realm", "")
        if scheme.lower() != "bearer" or urlsplit(realm).scheme not in ("http", "https"):
            raise Permanent(f"{self.reference.host} asks for a login in an unknown way: {scheme or 'nothing said'}")
        if urlsplit(realm).scheme == "http" and not is_loopback(urlsplit(realm).netloc):
            raise Permanent(f"{self.reference.host} wants the login sent to {realm} without TLS; that is not done")
        asked = {
            "service": parameters.get("service", ""),
            "scope": parameters.get("scope") or f"repository:{self.reference.path}:pull",
        }
        separator = "&" if "?" in realm else "?"
        answer = self.client.get(
            f"{realm}{separator}{urlencode(asked)}",
            limit=1 << 20,
            headers={"Authorization": known.header()} if known else {},
        )
        if answer.status != 200:
            raise refused(realm, answer.status)
        try:
            given = json.loads(answer.body)
            token = given.get("token") or given.get("access_token")
        except (ValueError, AttributeError):
            token = None
        if not token:
            raise Permanent(f"{realm} gave no token")
        return f"Bearer {token}"


def fetch(text: str, version: str, client: Client, store: Store) -> bytes:
    """The archive of a chart; with a digest in the reference nothing is asked of the registry twice."""
    reference = Reference.parse(text, "" if _is_range(version) else version)
    session = _Session(reference, client)
    manifest = _manifest(session, version, store)
    layers = [one for one in manifest.get("layers") or [] if one.get("mediaType") == _CHART]
    if len(layers) != 1:
        raise ChartError(f"{text} is no chart: it has {len(layers)} layers of the type of charts")
    digest = str(layers[0].get("digest"))
    kept = store.get(digest)
    if kept is not None:
        return kept
    content = session.get(f"blobs/{digest}", MAX_ARCHIVE).body
    verified(content, digest, where=f"{text} (the archive)")
    store.put(content)
    return content


def _manifest(session: _Session, version: str, store: Store) -> dict[str, Any]:
    reference = session.reference
    content = store.get(reference.digest) if reference.digest else None
    if content is None:
        wanted = reference.digest or reference.tag or _newest(session, version)
        content = session.get(f"manifests/{wanted}", MAX_MANIFEST, _MANIFEST).body
        if reference.digest:
            verified(content, reference.digest, where=f"{reference.host}/{reference.path} (the manifest)")
            store.put(content)
    try:
        manifest = json.loads(content)
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict):
        raise ChartError(f"{reference.host}/{reference.path}: its manifest is no JSON object")
    return manifest


def _is_range(version: str) -> bool:
    return re.search(r"[<>=~^*|, xX]", version) is not None


def _newest(session: _Session, version: str) -> str:
    """The tag of the newest version that fits; a plus sign cannot stand in a tag and is an underscore there."""
    listed = json.loads(session.get("tags/list", MAX_MANIFEST).body).get("tags") or []
    versions: dict[str, str] = {tag.replace("_", "+"): tag for tag in listed}
    fitting = [one for one in versions if newest_first(one) != (-1,) and _fits(one, version)]
    if not fitting:
        raise ChartError(f"{session.reference.host}/{session.reference.path} has no version {version or 'at all'}")
    return versions[max(fitting, key=newest_first)]


def _fits(candidate: str, wanted: str) -> bool:
    return in_range(wanted, candidate) if wanted else "-" not in candidate
