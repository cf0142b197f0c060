"""Fetches over HTTP for chart repositories and registries: proxies from the environment, redirects with care, limits.

A password or token goes to the host it was given for and to no other, also when that host redirects.
"""

from __future__ import annotations

import base64
import http.client
import os
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from functools import lru_cache
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

from talosmith.errors import Permanent, Temporary
from talosmith.model.secret import Secret

_DOCKER_API, _DOCKER_LOGINS = "registry-1.docker.io", ("index.docker.io", "docker.io")
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_LONGEST_WAIT = 30.0
_REDIRECTS = 10


@dataclass(frozen=True)
class Credentials:
    """A user and a password, for one host."""

    username: str
    password: Secret

    def header(self) -> str:
        pair = f"{self.username}:{self.password.reveal()}"
        return "Basic " + base64.b64encode(pair.encode()).decode()


class NoHttp(Temporary):
    """The connection was accepted, but what came back is not HTTP, or nothing."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


@dataclass(frozen=True)
class Client:
    """How to reach the outside: who we are there, how long to wait, how often to try."""

    credentials: Mapping[str, Credentials] = field(default_factory=dict)  # host, or host:port
    timeout: float = 30.0
    attempts: int = 3
    tls: ssl.SSLContext | None = None
    sleep: Callable[[float], None] = time.sleep

    def of_host(self, url: str) -> Credentials | None:
        """The login for a host. Docker's own registry has a name for logins that is not that of its API."""
        parts = urlsplit(url)
        names = [parts.netloc, parts.hostname or ""]
        if parts.hostname == _DOCKER_API:
            names += _DOCKER_LOGINS
        return next((self.credentials[name] for name in names if name in self.credentials), None)

    def get(
        self,
        url: str,
        *,
        limit: int,
        headers: Mapping[str, str] | None = None,
        raised_at_once: tuple[type[Temporary], ...] = (),
    ) -> Answer:
        """The answer, whatever its status is; tried again where that may help."""
        for attempt in range(1, self.attempts + 1):
            try:
                return self._followed(url, limit, dict(headers or {}))
            except Temporary as problem:
                if attempt == self.attempts or isinstance(problem, raised_at_once):
                    raise
                self.sleep(min(problem.retry_after * attempt, _LONGEST_WAIT))
        raise AssertionError("there is at least one attempt")

    def _followed(self, url: str, limit: int, headers: dict[str, str]) -> Answer:
        for _ in range(_REDIRECTS):
            answer = self._once(url, limit, headers)
            if answer.status not in (301, 302, 303, 307, 308) or "location" not in answer.headers:
                return answer
            target = urljoin(url, answer.headers["location"])
            if urlsplit(target).scheme not in ("http", "https"):
                raise Permanent(f"{_shown(url)} redirects to {_shown(target)}, which is no HTTP address")
            if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
                raise Permanent(f"{_shown(url)} redirects to {_shown(target)}, away from TLS")
            if urlsplit(target).netloc != urlsplit(url).netloc:
                headers = {name: value for name, value in headers.items() if name.lower() != "authorization"}
            url = target
        raise Permanent(f"{_shown(url)} redirects without end")

    def _once(self, url: str, limit: int, headers: dict[str, str]) -> Answer:
        request = urllib.request.Request(url, headers={"User-Agent": "talosmith", **headers})  # noqa: S310
        handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
        if is_loopback(urlsplit(url).netloc):
            handlers.append(urllib.request.ProxyHandler({}))  # a proxy has another loopback
        if urlsplit(url).scheme == "https":
            trusted = (os.environ.get("SSL_CERT_FILE", ""), os.environ.get("SSL_CERT_DIR", ""))
            handlers.append(urllib.request.HTTPSHandler(context=self.tls or _default_tls(trusted)))
        opener = urllib.request.build_opener(*handlers)
        try:
            with opener.open(request, timeout=self.timeout) as response:
                return _read(url, response.status, response.headers, response, limit)
        except urllib.error.HTTPError as refused:
            with refused:
                return _checked(url, refused.code, refused.headers, refused, limit)
        except (OSError, http.client.HTTPException) as problem:
            reason = getattr(problem, "reason", problem)
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise Permanent(
                    f"{_shown(url)}: its certificate is not trusted: {reason.verify_message}",
                    hint="if its CA is yours, name the CA's file in SSL_CERT_FILE",
                ) from None
            no_http = isinstance(reason, http.client.HTTPException | ConnectionResetError | BrokenPipeError)
            raise (NoHttp if no_http else Temporary)(f"{_shown(url)} cannot be reached: {reason}") from None


@lru_cache(maxsize=4)
def _default_tls(trusted: tuple[str, str]) -> ssl.SSLContext:
    """To read all trusted authorities takes longer than most requests."""
    return ssl.create_default_context()


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> None:
        """Redirects are followed by the client, which knows what must not be sent along."""


def _checked(url: str, status: int, headers: Message, body: Any, limit: int) -> Answer:
    if status == 429 or status >= 500:
        waiting = headers.get("Retry-After") or ""
        raise Temporary(
            f"{_shown(url)} answers {status}" + (", too many requests" if status == 429 else ""),
            retry_after=float(waiting) if waiting.isdigit() else 1.0,
            hint="try again later",
        )
    return _read(url, status, headers, body, limit)


def _read(url: str, status: int, headers: Message, body: Any, limit: int) -> Answer:
    content = body.read(limit + 1)
    if len(content) > limit:
        raise Permanent(f"{_shown(url)} is bigger than {limit} bytes")
    length = headers.get("Content-Length")
    if length is not None and length.isdigit() and int(length) != len(content):
        raise Temporary(f"{_shown(url)} ended after {len(content)} of {length} bytes")
    return Answer(status, {name.lower(): value for name, value in headers.items()}, content)


def is_loopback(host: str) -> bool:
    """Whether a host may be spoken to without TLS unasked."""
    return host.rsplit(":", 1)[0].strip("[]") in _LOOPBACK


def refused(url: str, status: int) -> Permanent:
    """The error of a status that trying again will not change."""
    words = {401: "asks for a login", 403: "forbids that", 404: "does not have that"}
    hints = {
        401: "log in with `helm registry login` or `docker login`",
        403: "check what this login may read",
        404: "check the name and the version",
    }
    said = f"{words[status]} (HTTP {status})" if status in words else f"answers HTTP {status}"
    return Permanent(f"{_shown(url)} {said}", hint=hints.get(status, ""))


def _shown(url: str) -> str:
    """The address without a login or a signature in it."""
    parts = urlsplit(url)
    host = parts.netloc.rsplit("@", 1)[-1]
    return f"{parts.scheme}://{host}{parts.path}"
