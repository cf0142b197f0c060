"""Which server is trusted: by the system's CAs, by a CA of the inventory, or by the fingerprint of its certificate.

Proxmox hosts have a certificate of their own CA, which no computer knows. A pinned certificate is the only one that
is then accepted; it is not a way to switch verification off.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import ssl
from dataclasses import dataclass
from pathlib import Path

import httpx2

from talosmith.errors import Temporary
from talosmith.probe import Shown, system_error
from talosmith.providers.proxmox.failures import NotTrusted

_LOOK = 5.0  # seconds
COMPARE = "compare with `pvenode cert info` on the host"


@dataclass(frozen=True, slots=True)
class Trust:
    fingerprint: str = ""  # SHA-256, 64 hexadecimal digits
    ca: str = ""  # file

    async def context(self, url: httpx2.URL) -> ssl.SSLContext:
        if not self.fingerprint:
            return self._by_authority()
        try:
            shown = await _shown(url)
        except (OSError, TimeoutError) as problem:
            raise unreachable(url, problem) from None
        found = hashlib.sha256(shown).hexdigest()
        if found != self.fingerprint:
            raise NotTrusted(
                f"the certificate of {url} is not the pinned one: its fingerprint is {written(found)}",
                hint=f"{COMPARE}; if the host has a new certificate, set `proxmox.fingerprint` to it",
                fingerprint=found,
            )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False  # this very certificate is the only one accepted, whatever name it has
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=ssl.DER_cert_to_PEM_cert(shown))
        return context

    def _by_authority(self) -> ssl.SSLContext:
        if self.ca and not Path(self.ca).is_file():
            raise NotTrusted(
                f"`proxmox.ca`: {self.ca} does not exist", hint="copy /etc/pve/pve-root-ca.pem from the host"
            )
        try:
            return ssl.create_default_context(cafile=self.ca or None)
        except (OSError, ssl.SSLError) as problem:
            raise NotTrusted(
                f"`proxmox.ca`: {self.ca} cannot be used: {problem}", hint="it is a file of PEM certificates"
            ) from None


async def certificate_of(url: httpx2.URL) -> bytes:
    """As the server shows it, unverified; empty if there is no connection. Nothing is sent."""
    try:
        return await _shown(url)
    except (OSError, TimeoutError):
        return b""


async def _shown(url: httpx2.URL) -> bytes:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # to look is all it is for
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_LOOK):
        connecting = loop.create_connection(Shown, url.host, url.port or 443, ssl=context, server_hostname=url.host)
        transport, shown = await connecting
    transport.abort()
    return shown.certificate


def unreachable(url: httpx2.URL, problem: BaseException) -> Temporary:
    """`problem`: of the connection, as the libraries raise it."""
    refused, broken = system_error(problem), _tls_error(problem)
    if broken is not None:
        reason = f"no TLS ({broken.reason or broken})"
    elif refused is not None:
        reason = os.strerror(refused.errno or 0).lower()
    else:
        reason = f"no answer within {_LOOK:g} s"
    return Temporary(
        f"Proxmox VE at {url.netloc.decode()} cannot be reached: {reason}",
        hint="is the host up, and the address in `proxmox.url` right? The port is 8006",
        retry_after=2.0,
    )


def _tls_error(wrong: BaseException | None) -> ssl.SSLError | None:
    while wrong is not None and not isinstance(wrong, ssl.SSLError):
        wrong = wrong.__cause__ or wrong.__context__
    return wrong


async def not_trusted(url: httpx2.URL, reason: str, pinned: str = "") -> NotTrusted:
    """The error for a certificate that TLS refused, with the fingerprint to pin."""
    shown = await certificate_of(url)
    found = hashlib.sha256(shown).hexdigest() if shown else ""
    evidence = f"; its fingerprint is {written(found)}" if found else ""
    if found and found == pinned:
        return NotTrusted(
            f"the pinned certificate of {url} is not valid: {reason}",
            hint="renew it on the host (`pvecm updatecerts --force`), and pin the new one; check the clocks",
        )
    return NotTrusted(
        f"the certificate of {url} is not trusted: {reason}{evidence}",
        hint=f"{COMPARE}, and set `proxmox.fingerprint` to it, or `proxmox.ca` to a copy of /etc/pve/pve-root-ca.pem",
        fingerprint=found,
    )


def written(fingerprint: str) -> str:
    """As Proxmox shows it: `AA:BB:…`."""
    return ":".join(fingerprint[at : at + 2] for at in range(0, len(fingerprint), 2)).upper()
