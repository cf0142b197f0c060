"""`secrets.sops.yaml` next to the inventory: the cluster's secrets bundle, and the secrets that the inventory names.

The bundle's keys are those of talosctl's `secrets.yaml`; every other key is the user's (`sops:proxmox.token` is
`token` below `proxmox`). It is created on request only: a new bundle would lock the user out of an existing cluster.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from talosmith import sops
from talosmith.desired.bundle import Bundle
from talosmith.errors import SecretsError
from talosmith.files.secret import create_secret
from talosmith.model.secret import Secret
from talosmith.model.values import SecretRef
from talosmith.model.versions import Version

SECRETS_FILE = "secrets.sops.yaml"
RULES_FILE = ".sops.yaml"
BUNDLE_KEYS = ("cluster", "secrets", "trustdinfo", "certs")


@dataclass(frozen=True, slots=True)
class Secrets:
    """What the file holds."""

    bundle: Bundle
    named: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def value_of(self, reference: SecretRef) -> Secret:
        """A secret that the inventory names."""
        if reference.source == "env":
            text = os.environ.get(reference.name)
            if not text:
                raise SecretsError(
                    f"{reference}: the environment has no {reference.name}", hint=f"export {reference.name}=…"
                )
            return Secret(text)
        value: Any = self.named
        for step in reference.name.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if not isinstance(value, str) or not value:
            raise SecretsError(
                f"{reference}: {SECRETS_FILE} has no text at {reference.name}",
                hint=f"talosmith secrets set {reference.name}",
            )
        return Secret(value)


def has_secrets(folder: Path) -> bool:
    """Whether anything has the file's name: a dangling link is no reason to create new secrets."""
    return os.path.lexists(folder / SECRETS_FILE)


def read_secrets(folder: Path, identities: sops.Identities | None = None) -> Secrets:
    """The secrets of the inventory in `folder`; they are never created here."""
    path = folder / SECRETS_FILE
    if not has_secrets(folder):
        raise SecretsError(
            f"{path} does not exist",
            hint="for a new cluster `talosmith secrets init`; for an existing one `talosmith secrets import`",
        )
    data = sops.load(path, identities)
    missing = [key for key in BUNDLE_KEYS if key not in data]
    if missing:
        raise SecretsError(
            f"{path} has no cluster secrets: {', '.join(missing)} is missing", hint="talosmith secrets import"
        )
    bundle = Bundle.from_mapping({key: data[key] for key in BUNDLE_KEYS})
    return Secrets(bundle, {key: value for key, value in data.items() if key not in BUNDLE_KEYS})


def generate_secrets(folder: Path, talos: Version, recipients: tuple[str, ...] = ()) -> tuple[Bundle, list[Path]]:
    """Create the secrets of a new cluster; returns them and the files written."""
    bundle = Bundle.generate(contract=talos.line)
    return bundle, create_secrets(folder, bundle, recipients)


def create_secrets(folder: Path, bundle: Bundle, recipients: tuple[str, ...] = ()) -> list[Path]:
    """Write a bundle where none exists. Returns the files written, with age key and `.sops.yaml` where new."""
    path = folder / SECRETS_FILE
    named: dict[str, Any] = {}
    if has_secrets(folder):
        named = sops.load(path)
        if any(key in named for key in BUNDLE_KEYS):
            raise SecretsError(
                f"{path} already has the secrets of a cluster",
                hint="if that cluster no longer exists, delete the file",
            )
    made = _rules(folder, recipients)
    sops.save(path, {**bundle.to_mapping(), **named})
    return [*made, path]


def set_secret(folder: Path, name: str, value: Secret) -> Path:
    """Write a secret that the inventory references (`proxmox.token`) beside the bundle; the rest stays."""
    path, steps = folder / SECRETS_FILE, name.split(".")
    if not all(steps):
        raise SecretsError(f"{name!r} is not the name of a secret", hint="names separated by dots: proxmox.token")
    if steps[0] in BUNDLE_KEYS:
        raise SecretsError(
            f"`{steps[0]}` is a part of the cluster's own secrets, which are not set one by one",
            hint="choose another name, such as proxmox.token",
        )
    if not has_secrets(folder):
        raise SecretsError(f"{path} does not exist", hint="talosmith secrets init")
    opened = sops.open_file(path)
    (document,) = opened.documents
    place: Any = document
    for step in steps[:-1]:
        place = place.setdefault(step, {})
        if not isinstance(place, dict):
            raise SecretsError(f"`{step}` of {name} is a value in {path}, not a mapping", hint="choose another name")
    place[steps[-1]] = value.reveal()
    sops.save(path, opened.documents, opened.creation)
    return path


def _rules(folder: Path, recipients: tuple[str, ...]) -> list[Path]:
    """`.sops.yaml` as it is found, or a new one for `recipients` and the user's own key."""
    if sops.find_rules_file(folder / SECRETS_FILE) is not None:
        if recipients:
            raise SecretsError(
                f"{sops.find_rules_file(folder / SECRETS_FILE)} already lists the recipients",
                hint="add the recipients there, without --recipient",
            )
        return []
    made: list[Path] = []
    own = [identity.recipient for identity in sops.find_identities().found if not identity.is_ssh]
    if not own and not recipients:
        key_file = sops.default_key_file()
        own = [sops.new_identity(key_file)]
        made.append(key_file)
    wanted = tuple(dict.fromkeys([*own[:1], *recipients]))
    rules = folder / RULES_FILE
    create_secret(rules, sops.rules_text(wanted).encode())
    rules.chmod(0o644)  # it holds public keys only, and is committed
    return [*made, rules]
