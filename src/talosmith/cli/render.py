"""`talosmith render`"""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit
from talosmith.desired import outputs
from talosmith.desired.images import Schematic
from talosmith.desired.machine import MachineConfigs
from talosmith.desired.secrets_file import read_secrets
from talosmith.files.secret import write_secret
from talosmith.inventory import load
from talosmith.inventory.sources import find
from talosmith.report.style import Style

app = application("Write what nodes are configured and booted with. Nothing is sent anywhere.")

OutOption = Annotated[
    Path | None, typer.Option("--out", metavar="DIR", help="Folder to write into, secrets included.")
]
NodeOption = Annotated[
    list[str] | None, typer.Option("--node", "-n", help="Only this node; may be given repeatedly.")
]


@app.command()
def configs(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    out: OutOption = None,
    node: NodeOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Machine configs, validated as Talos does: whole into files with --out, else shown without secrets."""
    made = _configs(inventory, environment)
    nodes = outputs.chosen(made.cluster, node or [])
    if out is not None:
        return _written(outputs.write_files(out, outputs.config_files(made, nodes)), output)
    shown = {one.name: outputs.shown_config(made, one) for one in nodes}
    emit(
        shown,
        output,
        lambda style: "\n".join(f"{style.dim('# ' + name)}\n{text}" for name, text in shown.items()),
        document=True,
    )
    return 0


@app.command()
def talosconfig(
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="File to write, for its owner alone.")],
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    role: Annotated[list[str] | None, typer.Option(help="What it may do; os:admin if left out.")] = None,
    lifetime: Annotated[str, typer.Option(help="How long it is good for: 12h, 30d.")] = "365d",
    output: OutputOption = Output.TEXT,
) -> int:
    """A talosconfig for talosctl, with a client certificate of its own."""
    made = _configs(inventory, environment)
    roles = role or ["os:admin"]
    write_secret(out, outputs.talosconfig_text(made.cluster, made.bundle, roles, _duration(lifetime)))
    return _written([out], output)


@app.command()
def nocloud(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder to write into, secrets included.")],
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    node: NodeOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """NoCloud seeds: meta-data, user-data, network-config, and the ISO made of them, a folder for each node."""
    made = _configs(inventory, environment)
    written = []
    for one in outputs.chosen(made.cluster, node or []):
        written += outputs.write_files(out / one.name, outputs.seed_files(made, one))
    return _written(written, output)


@app.command()
def image(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    node: NodeOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """The images nodes boot: schematic, installer, addresses. Computed here; the factory is not asked."""
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

    emit(found, output, text)
    return 0


def _configs(inventory: Path | None, environment: str | None) -> MachineConfigs:
    cluster = load(inventory, environment)
    return MachineConfigs(cluster, read_secrets(find(inventory, environment).parent).bundle)


def _written(paths: list[Path], output: Output) -> int:
    emit({"written": paths}, output, lambda style: "\n".join(f"{style.green('✓')} {path}" for path in paths))
    return 0


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})(m|h|d)", text)
    if not found or not int(found[1]):
        raise typer.BadParameter(f"{text!r} is not a time: 90m, 12h, 30d", param_hint="--lifetime")
    return timedelta(**{{"m": "minutes", "h": "hours", "d": "days"}[found[2]]: int(found[1])})
