"""`talosmith secrets`"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from talosmith import sops
from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.desired.bundle import Bundle
from talosmith.desired.import_secrets import read_bundle
from talosmith.desired.pki import read_certificate
from talosmith.desired.secrets_file import SECRETS_FILE, create_secrets, read_secrets
from talosmith.files.secret import create_secret
from talosmith.inventory import load
from talosmith.inventory.sources import find
from talosmith.report.style import Style
from talosmith.report.table import table
from talosmith.yaml import goyaml

app = application("The cluster's secrets: made once, kept encrypted next to the inventory.")

RecipientOption = Annotated[
    list[str] | None,
    typer.Option(
        "--recipient", metavar="AGE1…", help="An age public key that may read them; may be given repeatedly."
    ),
]


@app.command()
def init(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    recipient: RecipientOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Make the secrets of a new cluster, and an age key and .sops.yaml if there are none."""
    cluster, folder = load(inventory, environment), _folder(inventory, environment)
    bundle = Bundle.generate(contract=min(cluster.talos_version.line, (1, 13)))
    return _created(create_secrets(folder, bundle, tuple(recipient or ())), bundle, output)


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
    """Take over the secrets of a cluster that exists."""
    cluster, folder = load(inventory, environment), _folder(inventory, environment)
    bundle, found = read_bundle(source, contract=min(cluster.talos_version.line, (1, 13)))
    say(f"{source}: {found}")
    return _created(create_secrets(folder, bundle, tuple(recipient or ())), bundle, output)


@app.command()
def show(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    reveal: Annotated[bool, typer.Option("--reveal", help="Print everything in the clear.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show what the secrets are: authorities, fingerprints, expiry; no secret unless --reveal."""
    secrets = read_secrets(_folder(inventory, environment))
    if reveal:
        mapping = {**secrets.bundle.to_mapping(), **secrets.named}
        emit(mapping, output, lambda _: goyaml.dump(mapping).rstrip("\n"), document=True)
        return 0
    authorities = _authorities(secrets.bundle)
    data = {"cluster_id": secrets.bundle.cluster_id, "authorities": authorities, "named": sorted(secrets.named)}

    def text(style: Style) -> str:
        rows = [(row["name"], row["expires"], row["fingerprint"]) for row in authorities]
        lines = list(table(("AUTHORITY", "EXPIRES", "SHA-256"), rows, style))
        named = ", ".join(sorted(secrets.named)) or "none"
        return "\n".join([f"cluster id {secrets.bundle.cluster_id}", "", *lines, "", f"secrets of your own: {named}"])

    emit(data, output, text)
    return 0


@app.command()
def export(
    out: Annotated[Path, typer.Option("--out", help="File to write, for its owner alone; must not exist.")],
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write the secrets in the clear, as talosctl's secrets.yaml."""
    secrets = read_secrets(_folder(inventory, environment))
    create_secret(out, goyaml.dump(secrets.bundle.to_mapping()).encode())
    emit({"written": [out]}, output, lambda style: f"{style.green('✓')} {out} (in the clear: keep it out of Git)")
    return 0


@app.command()
def rekey(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    recipient: RecipientOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Encrypt the file anew, for the recipients of .sops.yaml or those given. The secrets themselves stay."""
    path = _folder(inventory, environment) / SECRETS_FILE
    wanted = sops.rekey(path, tuple(recipient or ()))
    emit({"file": path, "recipients": wanted}, output, lambda _: f"{path} is now readable by:\n" + "\n".join(wanted))
    return 0


def _folder(inventory: Path | None, environment: str | None) -> Path:
    return find(inventory, environment).parent


def _created(made: list[Path], bundle: Bundle, output: Output) -> int:
    data = {"written": made, "fingerprint": bundle.fingerprint()}

    def text(style: Style) -> str:
        lines = [f"{style.green('✓')} {path}" for path in made]
        return "\n".join(
            [*lines, "", f"Commit {SECRETS_FILE}; keep the age key safe: without it the cluster is lost."]
        )

    emit(data, output, text)
    return 0


def _authorities(bundle: Bundle) -> list[dict[str, str]]:
    found = []
    for name, fingerprint in bundle.fingerprints().items():
        pair = bundle.authorities.get(name)
        expires = ""
        if pair is not None:
            end = read_certificate(pair.certificate).not_valid_after_utc
            expires = f"{end:%Y-%m-%d}" + (" (expired)" if end < datetime.now(UTC) else "")
        found.append({"name": name, "expires": expires, "fingerprint": fingerprint})
    return found
