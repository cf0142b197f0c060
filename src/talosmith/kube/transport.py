"""Connections to whichever control plane answers.

There is no load balancer and no virtual address in the path, for these may be what is broken: the control planes are
tried one after the other, and one that works is kept until it fails. Everything above speaks of one server.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import httpx2
from cryptography import x509

from talosmith.desired.validity import EXPIRED, NOT_YET_VALID, SET_CLOCKS, authorities_out_of_time, out_of_time_served
from talosmith.errors import UsageError
from talosmith.kube import errors
from talosmith.kube.connections import Connections
from talosmith.kube.credentials import Credentials
from talosmith.kube.errors import KubeError, cleaned
from talosmith.probe import certificate_at, certificate_problem, system_error

DEFAULT_PORT = 6443
BASE = "https://kubernetes"  # stands for whichever server it will be
SERVER = "talosmith.server"  # the key of a response's extensions that says which it was
_LOOK = 3.0  # seconds for a second look at a certificate, which only serves to say more


@dataclass(frozen=True, slots=True)
class Server:
    """One control plane's API."""

    url: httpx2.URL

    @classmethod
    def parse(cls, text: str) -> Server:
        """From `10.5.0.2`, `10.5.0.2:6443`, `fd00::2`, `[fd00::2]:6443`, `cp-1.example.org` or `https://…`."""
        given = (
            text if "://" in text else f"https://{f'[{text}]' if text.count(':') > 1 and '[' not in text else text}"
        )
        try:
            url = httpx2.URL(given)
        except httpx2.InvalidURL:
            url = httpx2.URL("")
        if url.scheme != "https" or not url.host:
            raise UsageError(
                f"{text!r} is not the address of a control plane",
                hint="Write an IP address or a name, with a port if it is not 6443: 10.5.0.2, [fd00::2]:6443.",
            )
        # An address by itself means Kubernetes' port; in a URL, no port means 443.
        is_bare = "://" not in text and ("]:" not in text if "[" in text else text.count(":") != 1)
        return cls(url.copy_with(port=DEFAULT_PORT) if is_bare else url)

    def __str__(self) -> str:
        return self.url.netloc.decode()


class NoServer(httpx2.ConnectError):
    """None of the servers could be connected to; `out_of_time`: why a server's certificate is not valid now."""

    def __init__(self, failures: Mapping[str, Exception], out_of_time: Mapping[str, str]) -> None:
        super().__init__(f"no connection to {', '.join(failures)}")
        self.failures = failures
        self.out_of_time = out_of_time


class ClusterTransport(httpx2.AsyncBaseTransport):
    """Sends each request to the server that worked last, and to the next one where there is no connection."""

    def __init__(self, servers: Sequence[Server], credentials: Credentials, proxy: str = "") -> None:
        if not servers:
            raise UsageError("no control plane is given", hint="Give at least one address.")
        self._servers = list(dict.fromkeys(servers))
        self._turn = 0
        self.credentials = credentials
        self._proxy = proxy
        self._connections = Connections(credentials.context(), proxy)
        self._retired: list[Connections] = []

    @property
    def server(self) -> str:
        return str(self._current)

    @property
    def _current(self) -> Server:
        return self._servers[self._turn % len(self._servers)]

    def move_on(self, failed: str) -> None:
        """Switch to the next server; no effect if another call has switched already."""
        if self.server == failed:
            self._turn += 1

    async def exchange(self, credentials: Credentials) -> None:
        """Use these from now on. Answers that are awaited or read come by the connections that they were asked on."""
        self._retired = [old for old in (*self._retired, self._connections) if not old.closed]
        self.credentials = credentials
        self._connections = Connections(credentials.context(), self._proxy)
        for old in self._retired:
            await old.retire()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        failures: dict[str, Exception] = {}
        out_of_time: dict[str, str] = {}
        for _ in self._servers:
            server = self._current
            try:
                response = await self._connections.send(self._addressed(request, server))
            except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as wrong:
                failures[str(server)] = wrong
                if (refused := certificate_problem(wrong)) and refused.verify_code in (EXPIRED, NOT_YET_VALID):
                    out_of_time[str(server)] = await self._validity(server, refused.verify_code)
                self.move_on(str(server))
                continue
            response.extensions[SERVER] = str(server)
            return response
        raise NoServer(failures, out_of_time)

    async def _validity(self, server: Server, verify_code: int) -> str:
        """Which certificate is not valid now: the CA of our credentials, or the server's."""
        now = datetime.now(UTC)
        ours = self.credentials.authority
        authorities = x509.load_pem_x509_certificates(ours.encode()) if ours else []
        if wrong := authorities_out_of_time(authorities, now):
            return f"CA certificate of Kubernetes {wrong}"
        shown = b""
        if not self._proxy:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE  # nothing is sent: to read the validity period is all it is for
            host, port = server.url.host, server.url.port or 443
            shown = await certificate_at(host, port, context, _LOOK, self.credentials.server_name)
        return f"certificate {out_of_time_served(verify_code, shown, now)}"

    def _addressed(self, request: httpx2.Request, server: Server) -> httpx2.Request:
        base = server.url.raw_path.rstrip(b"/")
        headers = httpx2.Headers(request.headers)
        headers["Host"] = str(server)
        if self.credentials.token:
            headers["Authorization"] = f"Bearer {self.credentials.token.reveal()}"
        # The path goes beside the server's URL, so that no other URL is parsed for each request.
        extensions = {**request.extensions, "target": base + request.url.raw_path}
        if self.credentials.server_name:
            extensions["sni_hostname"] = self.credentials.server_name
        return httpx2.Request(
            request.method,
            server.url,
            headers=headers,
            stream=request.stream,
            extensions=extensions,
        )

    async def aclose(self) -> None:
        for connections in (*self._retired, self._connections):
            await connections.close()


def no_connection(failed: NoServer, about: str) -> KubeError:
    """Why none of the servers could be used. One that is not trusted counts only where no other may yet answer."""
    reasons = {server: failed.out_of_time.get(server) or _reason(wrong) for server, wrong in failed.failures.items()}
    servers = {reason: [server for server, why in reasons.items() if why == reason] for reason in reasons.values()}
    said = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in servers.items())
    if all(certificate_problem(wrong) for wrong in failed.failures.values()):
        if failed.out_of_time:
            return errors.ClockMismatch(
                "", f"no server whose certificate is valid now: {said}", about=about, hint=SET_CLOCKS, said=said
            )
        return errors.NotTrusted(
            "",
            f"no server that can be trusted: {said}",
            about=about,
            hint="The certificate is not this cluster's, or another server has the address; nothing was sent.",
            said=said,
        )
    return errors.NoConnection(
        "",
        f"no control plane's Kubernetes API answers: {said}",
        about=about,
        hint=SET_CLOCKS if failed.out_of_time else "Is a control plane up, and its API server running?",
        said=said,
    )


def _reason(wrong: Exception) -> str:
    untrusted = certificate_problem(wrong)
    if untrusted is not None:
        return cleaned(untrusted.verify_message or str(untrusted))
    if isinstance(wrong, httpx2.ConnectTimeout):
        return "i/o timeout"
    if refused := system_error(wrong):  # httpx2 says only that all attempts failed
        return os.strerror(refused.errno or 0).lower()
    return cleaned(str(wrong)) or type(wrong).__name__
