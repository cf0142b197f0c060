"""`talosmith config`"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.errors import ExitCode, TalosmithError
from talosmith.files import replace_file
from talosmith.report.style import Style

if TYPE_CHECKING:
    from talosmith.desired.config.migrate.inventory import FileChange, InventoryMigration
    from talosmith.desired.config.migrate.proof import NodeProof

app = application("Machine configs and patches: migrate them to the documents of Talos 1.14.")


class To(StrEnum):
    """The form to migrate to."""

    V1_14 = "1.14"


@app.callback()
def config() -> None:
    """Machine configs and patches: migrate them to the documents of Talos 1.14."""


@app.command()
def migrate(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    write: Annotated[
        bool, typer.Option("--write", help="Rewrite the files, if both forms mean the same on every node.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="For each moved field: its new place, and why it moved.")
    ] = False,
    to: Annotated[To, typer.Option("--to", metavar="VERSION", help="Talos version whose form is meant.")] = To.V1_14,
    talosctl: Annotated[
        Path | None,
        typer.Option(
            "--talosctl", metavar="FILE", help="talosctl of Talos 1.14 to check with; default: on the PATH."
        ),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Rewrite the inventory's patches from v1alpha1 fields to documents; shows the diff, and changes nothing without
    --write. Exit code 2: files would change."""
    from talosmith.cli.config_talosctl import Talosctl
    from talosmith.desired.config.migrate.edited import edited_cluster
    from talosmith.desired.config.migrate.inventory import migrate_inventory
    from talosmith.desired.config.migrate.proof import NEW, prove
    from talosmith.desired.machine.render import MODES
    from talosmith.files.regular import shown
    from talosmith.inventory.load import check_sources
    from talosmith.inventory.sources import find, read
    from talosmith.model.allowed import EVERYTHING
    from talosmith.report import config_migration as report

    file = find(inventory, environment)
    sources = read(file)
    cluster = check_sources(sources, shown(file), allow=EVERYTHING).cluster
    found = migrate_inventory(cluster, sources)
    proofs, tool = [], None
    if found.changes:
        proofs = list(prove(cluster, edited_cluster(sources, found.changes, shown(file))))
        tool = Talosctl.find(talosctl)
        proofs = tool.check(proofs, MODES.get(cluster.provider.platform, "cloud")) if tool else proofs
    obstacle = _obstacle(found, proofs)
    too_old = cluster.talos_version.line < NEW
    writes = write and bool(found.changes) and not obstacle and not too_old
    if writes:
        _write(found.changes)
    version = tool.version if tool else ""
    steps = ["talosmith validate", "talosmith plan"] if writes else []
    emit(
        report.data(found, proofs, to=to.value, written=writes, talosctl=version, steps=steps),
        output,
        lambda style: report.text(found, proofs, style, explain=explain, talosctl=version, written=writes),
        kind="ConfigMigration",
    )
    if too_old and found.changes:
        say(f"note: {to.value} documents need Talos {to.value}; nodes of {cluster.talos_version} refuse them")
    if obstacle or (too_old and write and found.changes):
        what, fix = obstacle or (
            f"the inventory pins Talos {cluster.talos_version}",
            f"set talos_version to {to.value}.x in {shown(file)}, and run it again",
        )
        say(Style(sys.stderr).red(f"nothing was written: {what}"))
        say(f"  fix: {fix}")
        return ExitCode.FAILED
    return ExitCode.CHANGES_PENDING if found.changes and not writes else ExitCode.DONE


def _obstacle(found: InventoryMigration, proofs: Sequence[NodeProof]) -> tuple[str, str] | None:
    """Why the files must not be written, and what to do about it."""
    if found.blocking:
        fields = ", ".join(dict.fromkeys(kept.old for _, kept in found.blocking))
        return f"Talos 1.14 has no equal for {fields}", "change these fields as shown, and run it again"
    refused = [one.node for one in proofs if one.error]
    if refused:
        return f"a config of {', '.join(refused)} is refused", "correct the patches as shown, and run it again"
    differing = [one.node for one in proofs if not one.equal]
    if differing:
        what = f"the migrated patches would not mean the same on {', '.join(differing)}"
        return what, "change the patches by hand where they differ"
    return None


def _write(changes: Sequence[FileChange]) -> None:
    """New files first: whatever interrupts it, no setting is in neither form."""
    for change in sorted(changes, key=lambda one: (one.before is not None, one.after is None)):
        path = Path(os.path.realpath(change.path))
        try:
            if change.after is None:
                path.unlink()
                continue
            mode = path.stat().st_mode & 0o777 if change.before is not None else 0o644
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, change.after.encode())
            path.chmod(mode)
        except OSError as problem:
            raise TalosmithError(f"cannot write {change.path}: {problem.strerror}") from None
