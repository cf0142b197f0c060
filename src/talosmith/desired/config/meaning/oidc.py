"""The `--oidc-…` flags of kube-apiserver, as the JWT authenticator that it makes of them.

Beside a KubeAPIServerConfig the flags are refused, and KubeAuthenticationConfig holds the authenticator itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PREFIX = "oidc-"
_KNOWN = (
    "oidc-issuer-url", "oidc-client-id", "oidc-username-claim", "oidc-username-prefix", "oidc-groups-claim",
    "oidc-groups-prefix", "oidc-required-claim",
)  # fmt: skip


def is_translatable(flags: Mapping[str, list[str]]) -> bool:
    """Whether the flags can be said in a document: a CA is a file there, and algorithms cannot be chosen."""
    given = [flag for flag in flags if flag.startswith(PREFIX)]
    return bool(flags.get(_KNOWN[0]) and flags.get(_KNOWN[1])) and all(flag in _KNOWN for flag in given)


def authenticator(flags: Mapping[str, list[str]]) -> dict[str, Any]:
    """What kube-apiserver makes of the flags, with its defaults for what they leave out."""
    issuer, claim = _text(flags, "oidc-issuer-url"), _text(flags, "oidc-username-claim") or "sub"
    prefix = _text(flags, "oidc-username-prefix")
    if not prefix:
        prefix = "" if claim == "email" else f"{issuer}#"
    mappings: dict[str, Any] = {"username": {"claim": claim, "prefix": "" if prefix == "-" else prefix}}
    groups = _text(flags, "oidc-groups-claim")
    if groups:
        mappings["groups"] = {"claim": groups, "prefix": _text(flags, "oidc-groups-prefix")}
    made: dict[str, Any] = {
        "issuer": {"url": issuer, "audiences": [_text(flags, "oidc-client-id")]},
        "claimMappings": mappings,
    }
    required = [one for text in flags.get("oidc-required-claim") or () for one in text.split(",")]
    if required:
        pairs = (one.partition("=") for one in required)
        made["claimValidationRules"] = [{"claim": name, "requiredValue": value} for name, _, value in sorted(pairs)]
    return made


def _text(flags: Mapping[str, list[str]], flag: str) -> str:
    return next(iter(flags.get(flag) or ()), "")
