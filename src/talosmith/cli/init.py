"""`talosmith init`"""

from __future__ import annotations

import sys
from ipaddress import IPv4Interface
from pathlib import Path
from typing import Annotated, Any

import typer

from talosmith.cli.options import Output, OutputOption, application, emit, say
from talosmith.inventory import check
from talosmith.inventory.answers import check_flags, name_of, wrong_with
from talosmith.inventory.create import create, next_command, refuse_existing
from talosmith.inventory.questions import (
    LIBVIRT_HOST,
    NO_ANSWER,
    NOT_BUILT,
    default_gateway,
    default_network,
    next_question,
    providers,
)
from talosmith.inventory.starter import NewInventory
from talosmith.model.providers import PROVIDERS
from talosmith.report.problems import as_lines
from talosmith.report.style import Style

app = application("Create a new inventory: asks a few questions at a terminal, or takes flags only.")
_DEFAULT = NewInventory()
_BUILT = ", ".join(name for name, section in PROVIDERS.items() if section.built)
_UNBUILT = ", ".join(name for name, section in PROVIDERS.items() if not section.built)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Folder to create the inventory in.")] = Path(),
    name: Annotated[str | None, typer.Option(help="Cluster name; the folder's name if left out.")] = None,
    provider: Annotated[str | None, typer.Option(metavar="NAME", help=f"{_BUILT}; {NOT_BUILT}: {_UNBUILT}.")] = None,
    controlplanes: Annotated[int | None, typer.Option(help="Number of control planes: 1, 3 or 5.")] = None,
    workers: Annotated[int | None, typer.Option(help="Number of workers.")] = None,
    node_cidr: Annotated[str | None, typer.Option(metavar="CIDR", help="Node network, for static addresses.")] = None,
    gateway: Annotated[
        str | None, typer.Option(metavar="IP", help="Default gateway; the first address of --node-cidr if left out.")
    ] = None,
    vip: Annotated[str | None, typer.Option(metavar="IP", help="VIP of the Kubernetes API.")] = None,
    disk: Annotated[str | None, typer.Option(help="Disk size (40G); on metal the device or serial number.")] = None,
    interface: Annotated[str | None, typer.Option(help="On metal, the network interface that is used.")] = None,
    talos_version: Annotated[str, typer.Option(help="Talos version.")] = _DEFAULT.talos_version,
    kubernetes_version: Annotated[str, typer.Option(help="Kubernetes version.")] = _DEFAULT.kubernetes_version,
    proxmox_url: Annotated[str | None, typer.Option(metavar="URL", help="Proxmox VE API URL.")] = None,
    proxmox_node: Annotated[str | None, typer.Option(help="Proxmox node that runs the machines.")] = None,
    libvirt_uri: Annotated[str | None, typer.Option(metavar="URI", help="libvirt connection URI.")] = None,
    bridge: Annotated[str | None, typer.Option(help="Host bridge of the machines.")] = None,
    region: Annotated[str | None, typer.Option(help="AWS region.")] = None,
    domain: Annotated[str | None, typer.Option(help="Domain; on AWS the Kubernetes API is at k8s.<domain>.")] = None,
    secrets: Annotated[
        bool | None, typer.Option("--secrets/--no-secrets", help="Create the cluster's secrets, too; or do not ask.")
    ] = None,
    no_input: Annotated[bool, typer.Option("--no-input", help="Do not ask; use flags and defaults.")] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Create a new inventory: asks a few questions at a terminal, or takes flags only."""
    given: dict[str, Any] = {
        key: value
        for key, value in locals().items()
        if key in NewInventory.__dataclass_fields__ and value is not None
    }
    asking = sys.stdin.isatty() and not no_input
    refuse_existing(folder)
    if asking:
        check_flags(given, complete=False)
        _ask(given, folder)
    else:
        given.setdefault("name", name_of(folder))
        if "node_cidr" not in given and (network := default_network(given, _libvirt_host(given))):
            given["node_cidr"] = network
    if "gateway" not in given and (address := default_gateway(given, _libvirt_host(given))):
        given["gateway"] = address
    check_flags(given)
    written = create(folder, NewInventory(**given))
    from talosmith.desired.secrets_file import generate_secrets, has_secrets

    if not has_secrets(folder):
        if secrets is None:
            secrets = asking and typer.confirm("Create secrets now?", default=True, err=True)
        written += generate_secrets(folder, check(folder).cluster.talos_version)[1] if secrets else []
    _show(folder, written, output)
    return 0


def _ask(given: dict[str, Any], folder: Path) -> None:
    """Ask what no flag says. A wrong answer is asked for again, with the reason."""
    name = name_of(folder)
    if "provider" not in given:
        say("Providers, where the machines come from:")
        say("\n".join(f"  {one:8} {text}" for one, text in providers()))
    while (question := next_question(given, name, _libvirt_host(given))) is not None:
        answer = typer.prompt(question.text, default=question.default or None, type=question.kind, err=True)
        given[question.answer] = answer.strip() if isinstance(answer, str) else answer
        if question.default == answer == NO_ANSWER:
            given[question.answer] = None
        wrong = wrong_with(question.answer, given)
        if wrong is not None:
            say(f"  {wrong.what}")
            if wrong.fix:
                say(f"  fix: {wrong.fix}")
            del given[question.answer]


def _libvirt_host(given: dict[str, Any]) -> IPv4Interface:
    """Of this computer where libvirt answers, else as libvirt installs it."""
    if given.get("provider") != "libvirt":
        return LIBVIRT_HOST
    from talosmith.providers.libvirt.default_network import default_network as real_network

    return real_network(given.get("libvirt_uri", "qemu:///system")) or LIBVIRT_HOST


def _show(folder: Path, written: list[Path], output: Output) -> None:
    from talosmith.desired.secrets_file import SECRETS_FILE, has_secrets

    report = check(folder)
    following = next_command(folder, built=report.cluster.provider.built, has_secrets=has_secrets(folder))
    if report.warnings:
        say(as_lines(report.warnings, Style(sys.stderr)))

    def text(style: Style) -> str:
        lines = [f"{style.green('✓')} {path}" for path in written]
        if any(path.name == SECRETS_FILE for path in written):
            lines += ["", f"Commit {SECRETS_FILE}. Back up the age key: without it the secrets cannot be decrypted."]
        return "\n".join([*lines, "", f"Next: {following}"])

    emit({"written": written, "warnings": report.warnings, "next": following}, output, text, kind="Init")
