"""The file by which talosctl gets into a cluster: contexts with endpoints and a client certificate.

The certificate's organizations are the roles it gives. A node takes it only if it is good for clients and nothing
else, and believes it until it expires: there is no revoking, so the lifetime is the caller's choice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Self

from talosmith.desired import pki
from talosmith.desired.pki import CertificateAndKey
from talosmith.errors import SecretsError, UsageError
from talosmith.model.secret import Secret
from talosmith.yaml import goyaml

DEFAULT_LIFETIME = timedelta(hours=8760)
ADMIN = "os:admin"
ROLES = (
    ADMIN,
    "os:operator",
    "os:reader",
    "os:etcd:backup",
    "os:image:verifier",
    "os:meta:writer",
    "os:impersonator",
)


@dataclass(frozen=True, slots=True)
class Context:
    """One way into one cluster; `ca`, `crt` and `key` as in the file, that is PEM in base64."""

    endpoints: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    ca: str = ""
    crt: str = ""
    key: Secret = field(default_factory=lambda: Secret(""))
    others: Mapping[str, Any] = field(default_factory=dict, repr=False)  # `auth` and `cluster`, for Omni

    def to_mapping(self) -> dict[str, Any]:
        optional = {"nodes": list(self.nodes), "ca": self.ca, "crt": self.crt, "key": self.key.reveal()}
        given = {name: value for name, value in optional.items() if value}
        return {"endpoints": list(self.endpoints), **given, **self.others}

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        rest = dict(data)
        old_endpoint = [rest.pop("target")] if rest.get("target") else []
        return cls(
            endpoints=(*(rest.pop("endpoints", None) or ()), *old_endpoint),
            nodes=tuple(rest.pop("nodes", None) or ()),
            ca=rest.pop("ca", None) or "",
            crt=rest.pop("crt", None) or "",
            key=Secret(rest.pop("key", None) or ""),
            others=rest,
        )


@dataclass(frozen=True, slots=True)
class Talosconfig:
    """The whole file."""

    current: str
    contexts: Mapping[str, Context]

    def to_mapping(self) -> dict[str, Any]:
        """In the clear."""
        contexts = {name: context.to_mapping() for name, context in self.contexts.items()}
        names = goyaml.sort_keys(dict.fromkeys(contexts))
        return {"context": self.current, "contexts": {name: contexts[name] for name in names}}

    def to_text(self) -> Secret:
        return Secret(goyaml.dump(self.to_mapping()))

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any]) -> Self:
        contexts = data.get("contexts") or {}
        if not isinstance(contexts, Mapping) or not all(isinstance(item, Mapping) for item in contexts.values()):
            raise SecretsError(
                "the talosconfig does not hold contexts",
                hint="It should look like: context: NAME, contexts: {NAME: {endpoints: […], ca: …, crt: …, key: …}}",
            )
        return cls(data.get("context") or "", {name: Context.from_mapping(item) for name, item in contexts.items()})

    def merged_with(self, other: Talosconfig, *, renew: bool = False) -> tuple[Talosconfig, dict[str, str]]:
        """With the other's contexts added and its current one current; and which names had to change, to what.

        As `talosctl config merge` does, a context whose name is taken gets the first free of NAME-1, NAME-2, …
        With `renew`, one that was of the same cluster is replaced instead.
        """
        contexts = dict(self.contexts)
        new_names: dict[str, str] = {}
        for name, context in other.contexts.items():
            new_name, number = name, 0
            while new_name in contexts and not (renew and context.ca and contexts[new_name].ca == context.ca):
                number += 1
                new_name = f"{name}-{number}"
            contexts[new_name] = context
            new_names[name] = new_name
        current = new_names.get(other.current, "") if other.current else self.current
        renamed = {name: new_name for name, new_name in new_names.items() if name != new_name}
        return replace(self, current=current, contexts=contexts), renamed


def new_client(
    authority: CertificateAndKey,
    roles: Sequence[str] = (ADMIN,),
    *,
    lifetime: timedelta = DEFAULT_LIFETIME,
    now: datetime | None = None,
) -> CertificateAndKey:
    """A client certificate of the cluster's OS authority that gives the roles for as long as it lives."""
    unknown = [role for role in roles if role not in ROLES]
    if unknown or not roles:
        raise UsageError(
            f"Talos does not know the role {unknown[0]}" if unknown else "a talosconfig needs a role",
            hint=f"The roles are: {', '.join(ROLES)}.",
        )
    if lifetime <= timedelta(0):
        raise UsageError("the lifetime of a talosconfig must be positive", hint="for example 24h")
    return pki.new_leaf(authority, sorted(set(roles)), lifetime=lifetime, now=now)


def new_talosconfig(
    name: str,
    authority: CertificateAndKey,
    *,
    roles: Sequence[str] = (ADMIN,),
    lifetime: timedelta = DEFAULT_LIFETIME,
    endpoints: Sequence[str] = (),
    nodes: Sequence[str] = (),
    now: datetime | None = None,
) -> Talosconfig:
    """A talosconfig with one context, named after the cluster, and a fresh client certificate."""
    client = new_client(authority, roles, lifetime=lifetime, now=now)
    context = Context(
        endpoints=tuple(endpoints),
        nodes=tuple(nodes),
        ca=pki.to_base64(authority.certificate),
        crt=pki.to_base64(client.certificate),
        key=Secret(pki.to_base64(client.key.reveal())),
    )
    return Talosconfig(name, {name: context})
