"""Who calls: a token or a ticket. All refusals take Proxmox VE three seconds and have no body."""

from __future__ import annotations

import re
from urllib.parse import unquote

from .access import Identity
from .errors import Refused
from .http import Request
from .world import Proxmox

_TOKEN = re.compile(r"PVEAPIToken=(([^@=!]+@[^@=!]+)!([^@=!]+))[=](.+)")


def claimed(request: Request) -> str:
    """The id of the token in a request, right or wrong; nothing without one."""
    match = _TOKEN.fullmatch(request.headers.get("authorization", ""))
    return match[1] if match else ""


def authenticate(world: Proxmox, request: Request) -> Identity:
    header = request.headers.get("authorization", "")
    if header.startswith("PVEAPIToken"):
        return _by_token(world, header)
    cookie = re.search(r"PVEAuthCookie=([^;]+)", request.headers.get("cookie", ""))
    if cookie or header.startswith("PVE:"):
        return _by_ticket(world, request, unquote(cookie[1]) if cookie else header)
    raise _refused("No ticket")


def _refused(message: str = "Authentication failed!") -> Refused:
    return Refused(401, message, empty=True, seconds=3.0)


def _by_token(world: Proxmox, header: str) -> Identity:
    match = _TOKEN.fullmatch(header)
    token = world.access.tokens.get(match[1]) if match else None
    user = world.access.users.get(token.user) if token else None
    if match is None or token is None or user is None or token.secret != match[4]:
        raise _refused()
    for expire in (token.expire, user.expire):
        if expire and expire < world.now():
            raise _refused()
    if not user.enabled or world.faults.token_expired(token.id):
        raise _refused()
    return Identity(token.user, token)


def ticket_for(user: str) -> tuple[str, str]:
    """A ticket and the token against forged requests."""
    return f"PVE:{user}:simulated", f"csrf:{user}"


def _by_ticket(world: Proxmox, request: Request, ticket: str) -> Identity:
    user = ticket.split(":")[1] if ticket.count(":") == 2 else ""
    if user not in world.access.users or ticket != ticket_for(user)[0]:
        raise _refused("permission denied - invalid PVE ticket")
    if request.method != "GET" and request.headers.get("csrfpreventiontoken") != ticket_for(user)[1]:
        raise _refused("Permission denied - invalid csrf token")
    return Identity(user)
