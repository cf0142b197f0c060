"""Permissions, access control lists, tickets."""

from __future__ import annotations

from typing import Any

from .authentication import ticket_for
from .errors import Refused
from .routing import Call, route
from .schema import boolean, string


@route("GET", "/access/permissions", {"path": string(r"/.*"), "userid": string()})
def permissions(call: Call) -> dict[str, dict[str, int]]:
    return call.world.access.permissions(call.who, call.get("path"))


@route("GET", "/access/acl")
def lists(call: Call) -> list[dict[str, Any]]:
    return [
        {
            "path": acl.path,
            "ugid": acl.who,
            "type": "token" if "!" in acl.who else "user",
            "roleid": acl.role,
            "propagate": int(acl.propagate),
        }
        for acl in call.world.access.acls
        if call.may("/access", "Sys.Audit") or call.may(acl.path, "Permissions.Modify")
    ]


@route("GET", "/access/roles")
def roles(call: Call) -> list[dict[str, Any]]:
    return [
        {
            "roleid": name,
            "privs": ",".join(sorted(privileges)),
            "special": int(name.startswith(("PVE", "Admin", "NoAcc"))),
        }
        for name, privileges in call.world.access.roles.items()
    ]


@route("GET", "/access/users", {"enabled": boolean(), "full": boolean()})
def users(call: Call) -> list[dict[str, Any]]:
    seen = [
        user
        for user in call.world.access.users.values()
        if user.id == call.who.user or call.may("/access", "Sys.Audit")
    ]
    return [{"userid": user.id, "enable": int(user.enabled), "expire": int(user.expire)} for user in seen]


_TICKET = {
    "username": string(required=True),
    "password": string(required=True),
    "realm": string(),
    "new-format": boolean(),
}


@route("POST", "/access/ticket", _TICKET | {"otp": string(), "path": string(), "privs": string()}, anonymous=True)
def ticket(call: Call) -> dict[str, Any]:
    name = call.parameters["username"]
    name = name if "@" in name else f"{name}@{call.get('realm', 'pam')}"
    user = call.world.access.users.get(name)
    if user is None or not user.password or user.password != call.parameters["password"]:
        raise Refused(401, "authentication failure", seconds=3.0)
    made, csrf = ticket_for(name)
    return {"username": name, "ticket": made, "CSRFPreventionToken": csrf, "cap": {}}
