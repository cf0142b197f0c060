"""Speaks to one repository of an OCI registry: TLS, and the login that the registry asks for.

On loopback a registry may be without TLS. The first request there is plain and without a login; a server that
speaks TLS turns it down, and gets TLS from then on.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from talosmith.errors import Permanent
from talosmith.helm.download import Answer, Client, NoHttp, is_loopback, refused

_PARAMETER = re.compile(r'([a-z_]+)="([^"]*)"')
_WANTS_TLS = b"HTTP request to an HTTPS server"  # the words of Go's servers
_SERVED_BY = {"docker.io": "registry-1.docker.io"}  # the name in references is not the host of the API


@dataclass
class Session:
    """Keeps the login that was asked for, and whether the registry speaks TLS."""

    host: str
    path: str
    client: Client
    login: str = ""
    scheme: str = ""

    def url(self, path: str) -> str:
        return f"{self.scheme or 'https'}://{_SERVED_BY.get(self.host, self.host)}/v2/{self.path}/{path}"

    def get(self, path: str, limit: int, accept: str = "*/*") -> Answer:
        """The answer, which has to be a good one."""
        answer = self.ask(path, limit, accept)
        if answer.status != 200:
            raise refused(self.url(path), answer.status)
        return answer

    def ask(self, path: str, limit: int, accept: str = "*/*") -> Answer:
        """The answer of whatever status, after the login that the registry asks for."""
        answer = self._first(path, limit, accept) if not self.scheme else self._once(path, limit, accept)
        if answer.status == 401:
            self.login = self._log_in(self.url(path), answer.headers.get("www-authenticate", ""))
            answer = self._once(path, limit, accept)
        return answer

    def _first(self, path: str, limit: int, accept: str) -> Answer:
        """Finds out whether the registry speaks TLS; only on loopback there is a choice."""
        if is_loopback(self.host):
            plain = f"http://{self.host}/v2/{self.path}/{path}"
            try:
                answer = self.client.get(plain, limit=limit, headers={"Accept": accept}, raised_at_once=(NoHttp,))
            except NoHttp:
                pass
            else:
                if answer.status != 400 or _WANTS_TLS not in answer.body:
                    self.scheme = "http"
                    return answer
        self.scheme = "https"
        return self._once(path, limit, accept)

    def _once(self, path: str, limit: int, accept: str) -> Answer:
        headers = {"Accept": accept}
        if self.login:
            headers["Authorization"] = self.login
        return self.client.get(self.url(path), limit=limit, headers=headers)

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
            raise Permanent(f"{self.host} asks for a login in an unknown way: {scheme or 'nothing said'}")
        if urlsplit(realm).scheme == "http" and (self.scheme == "https" or not is_loopback(urlsplit(realm).netloc)):
            raise Permanent(f"{self.host} wants the login sent to {realm} without TLS; that is not done")
        asked = {
            "service": parameters.get("service", ""),
            "scope": parameters.get("scope") or f"repository:{self.path}:pull",
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
