"""Secrets that exist elsewhere: a file of talosctl or talhelper, a control plane's config, a Kubernetes PKI."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from talosmith import sops
from talosmith.desired.bundle import Bundle
from talosmith.desired.secrets_file import BUNDLE_KEYS
from talosmith.errors import SecretsError
from talosmith.inventory.parse import Unreadable, parse
from talosmith.model.secret import Secret

PKI_FILES = (
    "ca.crt", "ca.key", "etcd/ca.crt", "etcd/ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.key",
)  # fmt: skip


def read_bundle(
    source: Path, *, bootstrap_token: Secret | None = None, contract: tuple[int, int]
) -> tuple[Bundle, str]:
    """The bundle, and what it was found in."""
    if source.is_dir():
        files = {name: (source / name).read_bytes() for name in PKI_FILES if (source / name).is_file()}
        bundle = Bundle.from_kubernetes_pki(files, bootstrap_token=bootstrap_token, contract=contract)
        return bundle, "a Kubernetes PKI folder"
    documents = _documents(source)
    first = documents[0] if documents else {}
    if all(key in first for key in BUNDLE_KEYS):
        return Bundle.from_mapping({key: first[key] for key in BUNDLE_KEYS}), "a secrets bundle"
    if any("machine" in document for document in documents):
        return Bundle.from_machine_config(documents), "a control plane's machine config"
    raise SecretsError(
        f"{source} is neither a secrets bundle nor a machine config",
        hint="give a secrets.yaml, a talsecret.sops.yaml, a control plane's config, or a Kubernetes PKI folder",
    )


def _documents(source: Path) -> list[dict[str, Any]]:
    try:
        content = source.read_bytes()
    except OSError as wrong:
        raise SecretsError(f"{source} cannot be read: {wrong.strerror}") from None
    try:
        document = parse(content, str(source), several=True)
    except Unreadable as unreadable:
        problem = unreadable.problems[0]
        raise SecretsError(f"{problem.place}: {problem.what}") from None
    documents = [one for one in document.documents if isinstance(one, dict)]
    if documents and "sops" in documents[0]:
        return sops.load_all(source)
    return documents
