"""`talosmith render`"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.options import (
    EnvironmentOption,
    InventoryOption,
    NodeOption,
    Output,
    OutputOption,
    application,
    emit,
    say,
)
from talosmith.desired import outputs, terraform
from talosmith.desired.bundle import Bundle
from talosmith.desired.images import Schematic
from talosmith.desired.machine import MachineConfigs
from talosmith.desired.secrets_file import SECRETS_FILE, has_secrets, read_secrets
from talosmith.desired.target import owner_of
from talosmith.errors import UsageError
from talosmith.inventory import load
from talosmith.inventory.sources import find
from talosmith.model.machines import Owner
from talosmith.model.providers import Aws
from talosmith.report.style import Style

app = application(
    "Render machine configs, NoCloud seeds, Terraform resources and IAM policies; list boot images. "
    "No node is contacted."
)

OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Write into this folder, secrets included; Git ignores it."),
]


@app.command()
def configs(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    out: OutOption = None,
    node: NodeOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Render machine configs, validated as Talos does: into files with --out, else to stdout with secrets masked."""
    made = _configs(inventory, environment)
    nodes = outputs.chosen(made.cluster, node or [])
    if out is not None:
        return _written(outputs.write_configs(out, made, nodes), output)
    shown = {one.name: outputs.shown_config(made, one) for one in nodes}
    emit(
        {"configs": [{"node": name, "text": text} for name, text in shown.items()]},
        output,
        lambda style: "\n".join(f"{style.dim('# ' + name)}\n{text}" for name, text in shown.items()),
        kind="MachineConfigs",
        document=True,
    )
    return 0


@app.command()
def nocloud(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write into this folder, secrets included; Git ignores it.")
    ],
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    node: NodeOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write NoCloud seeds, one folder per node: meta-data, user-data, network-config, and an ISO with all three."""
    made = _configs(inventory, environment)
    return _written(outputs.write_seeds(out, made, outputs.chosen(made.cluster, node or [])), output)


@app.command("terraform")
def terraform_folder(
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write into this folder; Git ignores its seeds: secrets.")
    ],
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write a Terraform module, its variables and NoCloud seeds, for machines that Terraform creates.

    Providers: proxmox and libvirt. Run `tofu init` and `tofu apply` in the folder.
    """
    cluster = load(inventory, environment)
    files = terraform.terraform_files(cluster)
    made = MachineConfigs(cluster, _bundle(inventory, environment))
    seeds = outputs.write_seeds(out / terraform.SEEDS, made, terraform.seeded(cluster))
    return _written([*outputs.write_files(out, files.items()), *seeds], output)


@app.command("aws-policy")
def aws_policy(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Print the IAM policy that the AWS credentials of talosmith need for this inventory. AWS is not contacted.

    What carries another cluster's tags is out of its reach. Without secrets the cluster's id is not known, and the
    policy reaches all clusters of talosmith in the account.
    """
    from talosmith.providers.aws import settings_of
    from talosmith.providers.aws.permissions import policy

    cluster = load(inventory, environment)
    section = cluster.provider
    if not isinstance(section, Aws):
        raise UsageError(
            f"provider `{section.name}` needs no IAM policy", hint="IAM policies are for the provider `aws` only"
        )
    folder = find(inventory, environment).parent
    if has_secrets(folder):
        owner = owner_of(cluster, read_secrets(folder).bundle)
    else:
        owner = Owner(cluster.name, "*")
        say(
            f"note: {folder / SECRETS_FILE} does not exist: the policy is for all talosmith clusters in the account, "
            "and does not allow `destroy` to delete volumes and load balancers that Kubernetes has created\n"
            "fix: create secrets first, and the policy is for this cluster alone: `talosmith secrets init`"
        )
    document = policy(settings_of(cluster, section, owner))
    emit(document, output, lambda style: json.dumps(document, indent=2), kind=None, document=True)
    return 0


@app.command()
def image(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    node: NodeOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """List boot images: schematic id, installer image, URLs. Computed offline; the image factory is not contacted."""
    cluster = load(inventory, environment)
    found = []
    for request, names in outputs.images(cluster, outputs.chosen(cluster, node or [])).items():
        entry = {"nodes": names, "schematic": request.schematic_id, "installer": request.installer}
        if request.schematic == "":
            entry["definition"] = Schematic(extensions=request.extensions, kernel_args=request.kernel_args).to_text()
        entry["disk_image"] = request.url(request.disk_image)
        if request.platform == "aws":
            entry["ami"] = request.ami_name(getattr(cluster.provider, "region", ""))
        else:
            entry["iso"] = request.url(request.iso)
        found.append(entry)

    def text(style: Style) -> str:
        blocks = []
        for entry in found:
            lines = [style.bold(", ".join(entry["nodes"]))]
            lines += [
                f"  {style.dim(key.ljust(10))} {entry[key]}" for key in entry if key not in ("nodes", "definition")
            ]
            blocks.append("\n".join(lines))
        return "\n".join(blocks)

    emit(
        {"images": [{**dict.fromkeys(("definition", "iso", "ami")), **one} for one in found]},
        output,
        text,
        kind="Images",
    )
    return 0


def _configs(inventory: Path | None, environment: str | None) -> MachineConfigs:
    cluster = load(inventory, environment)
    made = MachineConfigs(cluster, _bundle(inventory, environment))
    if cluster.endpoint.to_come:
        say(
            f"note: the endpoint of the Kubernetes API is {cluster.endpoint.shown}: machine configs have the "
            f"placeholder {cluster.endpoint.url}\n"
            "fix: `talosmith up` applies them with the name; or set an endpoint of your own in the inventory"
        )
    return made


def _bundle(inventory: Path | None, environment: str | None) -> Bundle:
    return read_secrets(find(inventory, environment).parent).bundle


def _written(paths: list[Path], output: Output) -> int:
    def text(style: Style) -> str:
        return "\n".join(f"{style.green('✓')} {path}" for path in paths)

    emit({"written": paths}, output, text, kind="Written")
    return 0
