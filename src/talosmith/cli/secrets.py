"""`talosmith secrets`"""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from getpass import getpass
from pathlib import Path
from typing import Annotated, Any

import typer

from talosmith import sops
from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.desired.bundle import Bundle
from talosmith.desired.import_secrets import read_bundle
from talosmith.desired.pki import read_certificate
from talosmith.desired.secrets_file import SECRETS_FILE, create_secrets, generate_secrets, read_secrets, set_secret
from talosmith.errors import UsageError
from talosmith.files.git import refuse_to_commit
from talosmith.files.secret import create_secret
from talosmith.inventory import load
from talosmith.inventory.sources import find
from talosmith.model.secret import Secret
from talosmith.report.style import Style
from talosmith.report.table import table
from talosmith.yaml import goyaml

app = application(
    "Create, import, show, set, export or rekey the cluster's secrets, encrypted next to the inventory."
)

RecipientOption = Annotated[
    list[str] | None,
    typer.Option(
        "--recipient", metavar="AGE1…", help="age public key that can decrypt the secrets; can be repeated."
    ),
]


@app.command()
def init(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    recipient: RecipientOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Create the secrets of a new cluster, and an age key and .sops.yaml where none exist."""
    cluster, folder = load(inventory, environment), _folder(inventory, environment)
    bundle, made = generate_secrets(folder, cluster.talos_version, tuple(recipient or ()))
    return _created(made, bundle, output)


@app.command("import")
def import_(
    source: Annotated[
        Path,
        typer.Option(
            "--from",
            help="secrets.yaml, talsecret.sops.yaml, a control plane's machine config, or a Kubernetes PKI folder.",
        ),
    ],
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    recipient: RecipientOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Import the secrets of an existing cluster."""
    cluster, folder = load(inventory, environment), _folder(inventory, environment)
    bundle, found = read_bundle(source, contract=cluster.talos_version.line)
    say(f"{source}: {found}")
    return _created(create_secrets(folder, bundle, tuple(recipient or ())), bundle, output)


@app.command()
def show(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    reveal: Annotated[bool, typer.Option("--reveal", help="Print the secrets unencrypted.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show the CAs with fingerprint and expiry; no secret unless --reveal."""
    secrets = read_secrets(_folder(inventory, environment))
    if reveal:
        mapping = {**secrets.bundle.to_mapping(), **secrets.named}
        revealed = {"secrets": mapping}
        emit(revealed, output, lambda _: goyaml.dump(mapping).rstrip("\n"), kind="RevealedSecrets", document=True)
        return 0
    authorities = _authorities(secrets.bundle)
    data = {"cluster_id": secrets.bundle.cluster_id, "authorities": authorities, "named": sorted(secrets.named)}

    def text(style: Style) -> str:
        rows = [(row["name"], _expiry(row), row["fingerprint"]) for row in authorities]
        lines = list(table(("CA", "EXPIRES", "SHA-256"), rows, style))
        named = ", ".join(sorted(secrets.named)) or "none"
        return "\n".join([f"cluster id {secrets.bundle.cluster_id}", "", *lines, "", f"other secrets: {named}"])

    emit(data, output, text, kind="Secrets")
    return 0


@app.command()
def export(
    out: Annotated[Path, typer.Option("--out", help="File to write, with mode 0600; must not exist.")],
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write the secrets unencrypted, in the format of talosctl's secrets.yaml."""
    secrets = read_secrets(_folder(inventory, environment))
    refuse_to_commit(out)
    create_secret(out, goyaml.dump(secrets.bundle.to_mapping()).encode())
    text = f"{out} (unencrypted: do not commit)"
    emit({"written": [out]}, output, lambda style: f"{style.green('✓')} {text}", kind="Written")
    return 0


@app.command()
def rekey(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    recipient: RecipientOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Re-encrypt the file for the recipients of .sops.yaml or --recipient. The secrets themselves do not change."""
    path = _folder(inventory, environment) / SECRETS_FILE
    wanted = sops.rekey(path, tuple(recipient or ()))
    text = "\n".join([f"{path} is encrypted for:", *wanted])
    emit({"file": path, "recipients": wanted}, output, lambda _: text, kind="Recipients")
    return 0


@app.command("set")
def set_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As the inventory references it: sops:NAME.")],
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write a secret that the inventory references into the encrypted file: typed unseen, or read from stdin."""
    value = getpass(f"{name}: ") if sys.stdin.isatty() else sys.stdin.read()
    value = value.rstrip("\r\n")
    if not value:
        raise UsageError("the secret is empty", hint=f"type it, or pipe it: … | talosmith secrets set {name}")
    path = set_secret(_folder(inventory, environment), name, Secret(value))
    emit({"written": [path]}, output, lambda style: f"{style.green('✓')} {name} is in {path}", kind="Written")
    return 0


def _folder(inventory: Path | None, environment: str | None) -> Path:
    return find(inventory, environment).parent


def _created(made: list[Path], bundle: Bundle, output: Output) -> int:
    data = {"written": made, "fingerprint": bundle.fingerprint()}

    def text(style: Style) -> str:
        lines = [f"{style.green('✓')} {path}" for path in made]
        return "\n".join(
            [*lines, "", f"Commit {SECRETS_FILE}. Back up the age key: without it the secrets cannot be decrypted."]
        )

    emit(data, output, text, kind="SecretsCreated")
    return 0


def _authorities(bundle: Bundle) -> list[dict[str, Any]]:
    """The service account key is no CA: it does not expire."""
    found = []
    for name, fingerprint in bundle.fingerprints().items():
        pair = bundle.authorities.get(name)
        end = read_certificate(pair.certificate).not_valid_after_utc if pair is not None else None
        expired = end is not None and end < datetime.now(UTC)
        found.append({"name": name, "expires": end, "expired": expired, "fingerprint": fingerprint})
    return found


def _expiry(row: dict[str, Any]) -> str:
    if row["expires"] is None:
        return ""
    return f"{row['expires']:%Y-%m-%d}" + (" (expired)" if row["expired"] else "")
