"""Users, tokens and access control lists."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Token:
    user: str
    name: str
    secret: str
    privsep: bool = True
    expire: float = 0  # 0: never

    @property
    def id(self) -> str:
        return f"{self.user}!{self.name}"


@dataclass
class User:
    id: str
    password: str = ""
    enabled: bool = True
    expire: float = 0


@dataclass(frozen=True)
class Acl:
    path: str
    who: str  # a user, or a token's id
    role: str
    propagate: bool = True
