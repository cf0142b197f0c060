"""Where age identities come from, and how a new one is made."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from talosmith.errors import SecretsError
from talosmith.files.secret import create_secret, make_private_folder
from talosmith.sops.age import Identity, new_key, parse_identity


@dataclass(frozen=True, slots=True)
class Identities:
    """What was found, and every place that was looked at, with what was there."""

    found: tuple[Identity, ...] = ()
    looked_at: tuple[str, ...] = ()


def default_key_file() -> Path:
    """`sops/age/keys.txt` in the user's configuration folder, where `sops` looks too."""
    configured = os.environ.get("XDG_CONFIG_HOME")
    if configured:
        folder = Path(configured)
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    else:
        folder = Path.home() / ".config"
    return folder / "sops" / "age" / "keys.txt"


def find_identities(key_file: Path | None = None) -> Identities:
    """Identities from `key_file` alone if given, else from everywhere `sops` looks without running a command."""
    search = _Search()
    if key_file is not None:
        search.in_file(key_file, str(key_file), needed=True)
        return search.result()
    if (text := os.environ.get("SOPS_AGE_KEY")) is not None:
        search.in_text(text, "SOPS_AGE_KEY", several_on_a_line=True)
    else:
        search.looked_at.append("SOPS_AGE_KEY (not set)")
    if named := os.environ.get("SOPS_AGE_KEY_FILE"):
        search.in_file(Path(named), f"SOPS_AGE_KEY_FILE={named}", needed=True)
    else:
        search.looked_at.append("SOPS_AGE_KEY_FILE (not set)")
    search.in_file(default_key_file(), str(default_key_file()), needed=False)
    if ssh := os.environ.get("SOPS_AGE_SSH_PRIVATE_KEY_FILE"):
        search.ssh_key(Path(ssh))
    if os.environ.get("SOPS_AGE_KEY_CMD"):
        search.looked_at.append("SOPS_AGE_KEY_CMD (set, but talosmith runs no commands for keys)")
    return search.result()


class _Search:
    def __init__(self) -> None:
        self.found: list[Identity] = []
        self.looked_at: list[str] = []

    def result(self) -> Identities:
        return Identities(tuple(self.found), tuple(self.looked_at))

    def in_file(self, path: Path, name: str, *, needed: bool) -> None:
        try:
            self.in_text(path.read_text(), name)
        except FileNotFoundError:
            if needed:
                raise SecretsError(
                    f"the age key file {path} is missing",
                    hint="correct the path, or make a key with `talosmith secrets init`",
                ) from None
            self.looked_at.append(f"{name} (missing)")
        except (OSError, UnicodeDecodeError) as problem:
            why = problem.strerror if isinstance(problem, OSError) else "it is not text"
            if needed:
                raise SecretsError(
                    f"the age key file {path} cannot be read: {why}", hint="check its permissions and content"
                ) from None
            self.looked_at.append(f"{name} (cannot be read: {why})")

    def in_text(self, text: str, name: str, *, several_on_a_line: bool = False) -> None:
        before = len(self.found)
        skipped = ""
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith("AGE-PLUGIN-"):
                skipped = ", and keys of an age plugin, which only `sops` can use"
            elif line.startswith(("-----BEGIN AGE ENCRYPTED", "age-encryption.org/")):
                skipped = ", and keys under a passphrase, which only `sops` can use"
                break
            elif line and not line.startswith("#"):
                keys = line.split() if several_on_a_line else [line.strip()]
                self.found += [parse_identity(key, f"line {number} of {name}") for key in keys]
        count = len(self.found) - before
        self.looked_at.append(f"{name} ({count} {'identity' if count == 1 else 'identities'}{skipped})")

    def ssh_key(self, path: Path) -> None:
        name = f"SOPS_AGE_SSH_PRIVATE_KEY_FILE={path}"
        try:
            self.found.append(parse_identity(path.read_text(), name))
        except (OSError, UnicodeDecodeError):
            raise SecretsError(f"{name} cannot be read", hint="correct the path or its permissions") from None
        self.looked_at.append(f"{name} (1 identity)")


def new_identity(path: Path | None = None, *, post_quantum: bool = False) -> str:
    """Make a key file as age-keygen does, for the owner alone, and return its recipient. Nothing is overwritten."""
    path = path or default_key_file()
    key = new_key(post_quantum=post_quantum)
    identity = parse_identity(key, "the new key")
    created = datetime.now().astimezone().isoformat(timespec="seconds").replace("+00:00", "Z")
    make_private_folder(path.parent)
    create_secret(path, f"# created: {created}\n# public key: {identity.recipient}\n{key}\n".encode())
    return identity.recipient
