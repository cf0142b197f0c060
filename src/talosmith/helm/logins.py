"""Reads logins from the file that `docker login` and `helm registry login` write.

Only what stands in the file itself: programs that keep passwords elsewhere (credential helpers) are not run.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from pathlib import Path
from urllib.parse import urlsplit

from talosmith.errors import SecretsError
from talosmith.helm.download import Credentials
from talosmith.model.secret import Secret


def default_files() -> list[Path]:
    """Where Helm and Docker keep them; Helm's own comes last and wins."""
    docker = Path(os.environ.get("DOCKER_CONFIG") or Path.home() / ".docker") / "config.json"
    config = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    helm = Path(os.environ.get("HELM_REGISTRY_CONFIG") or config / "helm" / "registry" / "config.json")
    return [docker, helm]


def read(files: list[Path]) -> dict[str, Credentials]:
    """The logins by host; a file that does not exist holds none."""
    found: dict[str, Credentials] = {}
    for path in files:
        if path.is_file():
            found.update(_read(path))
    return found


def _read(path: Path) -> dict[str, Credentials]:
    try:
        entries = json.loads(path.read_bytes()).get("auths") or {}
        return {_host(name): login for name, entry in entries.items() if (login := _login(entry)) is not None}
    except (ValueError, AttributeError, TypeError, binascii.Error):
        raise SecretsError(  # the file's text must not get into the message
            f"{path} cannot be read as a file of logins", hint="log in again, or remove the file"
        ) from None


def _host(name: str) -> str:
    """Docker writes some hosts as addresses, such as https://index.docker.io/v1/."""
    return urlsplit(name).netloc if "://" in name else name.split("/")[0]


def _login(entry: dict[str, str]) -> Credentials | None:
    if entry.get("auth"):
        username, _, password = base64.b64decode(entry["auth"], validate=True).decode().partition(":")
        return Credentials(username, Secret(password)) if password else None
    if entry.get("username") and entry.get("password"):
        return Credentials(entry["username"], Secret(entry["password"]))
    return None
