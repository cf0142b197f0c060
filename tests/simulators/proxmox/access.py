"""Users, tokens and access control lists, and the privileges that follow for a caller and a path.

A token with privilege separation has the privileges that both user and token have. A list of a deeper path replaces
inherited privileges. Privileges on a pool come on top for the VMs and storages of the pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .identities import Acl, Token, User
from .model import Pool
from .privileges import all_privileges, builtin_roles

ROOT = "root@pam"
_DEFAULT_PATHS = ("/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/sdn/zones", "/storage", "/vms")

Rights = dict[str, bool]  # privilege: whether below the path, too


@dataclass(frozen=True)
class Identity:
    """Who calls: a user by ticket, or one of the user's tokens."""

    user: str
    token: Token | None = None

    @property
    def id(self) -> str:
        return self.token.id if self.token else self.user

    @property
    def is_root(self) -> bool:
        """A token of root@pam is not root."""
        return self.user == ROOT and self.token is None


class Access:
    def __init__(self, major: int, pools: Mapping[str, Pool]) -> None:
        self.privileges = all_privileges(major)
        self.roles: dict[str, frozenset[str]] = builtin_roles(major)
        self.users: dict[str, User] = {ROOT: User(ROOT)}
        self.tokens: dict[str, Token] = {}
        self.acls: list[Acl] = []
        self._pools = pools

    def grant(self, path: str, who: str, what: str | Iterable[str], propagate: bool = True) -> None:
        """A role, or privileges, for which a role is made. A list of the same path and caller is replaced."""
        role = what if isinstance(what, str) else self._role_of(frozenset(what))
        self.acls = [acl for acl in self.acls if (acl.path, acl.who) != (path, who)]
        self.acls.append(Acl(path, who, role, propagate))

    def _role_of(self, privileges: frozenset[str]) -> str:
        unknown = privileges - self.privileges
        if unknown:
            raise ValueError(f"this version has no privileges {sorted(unknown)}")
        for name, content in self.roles.items():
            if content == privileges:
                return name
        name = f"Role{len(self.roles)}"
        self.roles[name] = privileges
        return name

    def rights(self, who: Identity, path: str) -> Rights:
        if who.token is None or not who.token.privsep:
            return self._of_user(who.user, path)
        of_user = self._of_user(who.user, path)
        of_token = self._of_lists(who.token.id, path)
        return {name: of_user[name] and of_token[name] for name in of_token if name in of_user}

    def _of_user(self, user: str, path: str) -> Rights:
        if user == ROOT:
            return dict.fromkeys(self.privileges, True)
        return self._of_lists(user, path)

    def _of_lists(self, who: str, path: str) -> Rights:
        rights = self._at(who, path)
        for pool in self._pools.values():
            kind, _, name = path.lstrip("/").partition("/")
            if (kind == "vms" and name.isdigit() and int(name) in pool.vms) or (
                kind == "storage" and name in pool.storages
            ):
                rights |= self._at(who, f"/pool/{pool.id}")
        return rights

    def _at(self, who: str, path: str) -> Rights:
        rights: Rights = {}
        for step in _steps(path):
            entries = [acl for acl in self.acls if acl.who == who and acl.path == step]
            if entries and (step == path or any(acl.propagate for acl in entries)):
                rights = {
                    name: acl.propagate
                    for acl in entries
                    if step == path or acl.propagate
                    for name in self.roles.get(acl.role, frozenset())
                }
        return rights

    def permissions(self, who: Identity, path: str | None = None) -> dict[str, dict[str, int]]:
        """The answer of /access/permissions."""
        paths = [path] if path else sorted({*_DEFAULT_PATHS, *(acl.path for acl in self.acls)})
        found = {path: self.rights(who, path) for path in paths}
        return {
            path: {name: int(below) for name, below in rights.items()} for path, rights in found.items() if rights
        }


def _steps(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    return ["/"] + ["/" + "/".join(parts[: number + 1]) for number in range(len(parts))]
