"""Reads a kubeconfig: where the API answers, and what opens it. Only ways that need no other program are taken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from talosmith.errors import SecretsError, UsageError
from talosmith.kube.credentials import Credentials, from_base64
from talosmith.model.secret import Secret
from talosmith.yaml.kubernetes import load_all

_OTHER_WAYS = {
    "exec": "runs another program to log in",
    "auth-provider": "uses an auth provider, which Kubernetes has given up",
    "username": "has a user name and a password, which API servers no longer take",
}


@dataclass(frozen=True, slots=True)
class Access:
    """What one context of a kubeconfig comes to."""

    server: str
    credentials: Credentials
    namespace: str = "default"
    proxy: str = ""


def read_kubeconfig(
    config: Mapping[str, Any] | Secret | str, context: str = "", *, folder: Path | None = None
) -> Access:
    """From the content of a kubeconfig; without a context its current one. `folder`: where relative paths start."""
    data = _mapping(config)
    name = context or str(data.get("current-context") or "")
    chosen = _named(data, "contexts", "context", name)
    cluster = _named(data, "clusters", "cluster", str(chosen.get("cluster") or ""))
    user = _named(data, "users", "user", str(chosen.get("user") or ""))
    server = str(cluster.get("server") or "")
    if not server.startswith("https://"):
        raise UsageError(
            f"the kubeconfig's server {server!r} is not an https:// address",
            hint="Nothing is sent in the clear; give the API server's own address.",
        )
    if cluster.get("insecure-skip-tls-verify"):
        raise UsageError(
            "the kubeconfig turns off the check of who answers (insecure-skip-tls-verify)",
            hint="Put the cluster's authority into certificate-authority-data instead.",
        )
    for key, what in _OTHER_WAYS.items():
        if user.get(key):
            raise UsageError(
                f"the kubeconfig's user {what}",
                hint="Take one with a client certificate or a token, as Talos gives it.",
            )
    return Access(
        server=server,
        credentials=Credentials(
            authority=_pem(cluster, "certificate-authority", folder),
            certificate=_pem(user, "client-certificate", folder),
            key=Secret(_pem(user, "client-key", folder)),
            token=Secret(_token(user, folder)),
            server_name=str(cluster.get("tls-server-name") or ""),
        ),
        namespace=str(chosen.get("namespace") or "default"),
        proxy=str(cluster.get("proxy-url") or ""),
    )


def _mapping(config: Mapping[str, Any] | Secret | str) -> Mapping[str, Any]:
    if isinstance(config, Mapping):
        return config
    text = config.reveal() if isinstance(config, Secret) else config
    try:
        data = next(load_all(text, refuse_twice=True), None)  # as kubectl reads it
    except yaml.YAMLError as wrong:
        place, what = getattr(wrong, "problem_mark", None), getattr(wrong, "problem", None) or "not valid YAML"
        raise SecretsError(f"the kubeconfig is not YAML: line {place.line + 1 if place else 1}: {what}") from None
    if not isinstance(data, Mapping):
        raise SecretsError("the kubeconfig is not a mapping", hint="It starts with `apiVersion: v1`, `kind: Config`.")
    return data


def _named(data: Mapping[str, Any], section: str, field: str, name: str) -> Mapping[str, Any]:
    entries = {
        str(one.get("name")): one.get(field) or {} for one in data.get(section) or () if isinstance(one, Mapping)
    }
    if name not in entries:
        raise SecretsError(
            f"the kubeconfig has no {field} {name!r}" if name else f"the kubeconfig names no {field}",
            hint=f"It has: {', '.join(entries) or 'none at all'}.",
        )
    found = entries[name]
    if not isinstance(found, Mapping):
        raise SecretsError(f"the kubeconfig's {field} {name!r} is not a mapping")
    return found


def _pem(section: Mapping[str, Any], field: str, folder: Path | None) -> str:
    if section.get(f"{field}-data"):
        return from_base64(str(section[f"{field}-data"]), f"{field}-data")
    return _file(str(section[field]), field, folder) if section.get(field) else ""


def _token(user: Mapping[str, Any], folder: Path | None) -> str:
    if user.get("token"):
        return str(user["token"])
    return _file(str(user["tokenFile"]), "tokenFile", folder).strip() if user.get("tokenFile") else ""


def _file(name: str, field: str, folder: Path | None) -> str:
    path = Path(name)
    if not path.is_absolute():
        if folder is None:
            raise UsageError(
                f"the kubeconfig's {field} is a relative path, and the kubeconfig's own folder is not known"
            )
        path = folder / path
    try:
        return path.read_text(encoding="utf-8")
    except OSError as wrong:
        raise SecretsError(f"the kubeconfig's {field} cannot be read: {path}: {wrong.strerror}") from None
