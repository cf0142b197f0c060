"""Names in a process under test: nothing but what is given or what the simulated Route 53 knows is resolved.

Imported by processes of talosmith, so it must not import moto; the simulator is asked at `AWS_ENDPOINT_URL`.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import os
import socket
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import quote, urlsplit

NAMES_PATH = "/_names"
_PATIENCE = 10.0


def resolve(names: Mapping[str, str] | None = None, *, zones: bool = False) -> Callable[[], None]:
    """Replace `socket.getaddrinfo` in this process, until the function returned is called.

    `names`: addresses by name, which may have wildcards (`*.elb.eu-central-1.amazonaws.com`). With `zones`, a name
    that is not among them is looked up in the simulated Route 53. Whatever is not loopback then is not known.
    """
    plain = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
        text = host.decode() if isinstance(host, bytes) else host
        if text in (None, "", "localhost"):
            return plain(host, port, *args, **kwargs)
        if not _is_address(text):
            text = _given(names or {}, text) or (asked(text) if zones else "")
        if not text or not _is_here(text):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return plain(text, port, *args, **kwargs)

    def undo() -> None:
        socket.getaddrinfo = plain

    socket.getaddrinfo = getaddrinfo
    return undo


def asked(host: str) -> str:
    """The address of a name by the simulated Route 53, or nothing."""
    endpoint = urlsplit(os.environ["AWS_ENDPOINT_URL"])
    connection = http.client.HTTPConnection(str(endpoint.hostname), endpoint.port, timeout=_PATIENCE)
    try:
        connection.request("GET", f"{NAMES_PATH}?host={quote(host)}")
        return str(json.loads(connection.getresponse().read())["address"])
    finally:
        connection.close()


def _given(names: Mapping[str, str], host: str) -> str:
    name = host.rstrip(".").lower()
    return next((address for pattern, address in names.items() if fnmatchcase(name, pattern.lower())), "")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_here(text: str) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    return address.is_loopback or address.is_unspecified
