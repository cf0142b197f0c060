"""What `talosmith kubeconfig` and `talosmith talosconfig` share: where the file goes, and the report on it."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from talosmith import client_files
from talosmith.cli.options import Duration, Output, emit
from talosmith.client_files import ClientFile
from talosmith.errors import UsageError
from talosmith.report.style import Style
from talosmith.session import Session

OutOption = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="File to write, `-` for stdout; default: in the inventory folder."),
]
LifetimeOption = Annotated[
    float, Duration("--lifetime", help="Lifetime of the client certificate.", least=60, example="8h")
]
YEAR = timedelta(days=365).total_seconds()


def deliver(session: Session, made: ClientFile, out: Path | None, output: Output, *, merge: bool) -> int:
    """Write the file, merge it into the user's own, or print it; each context and its expiry are reported."""
    if str(out) == "-":
        if merge or output is not Output.TEXT:
            raise UsageError("`--out -` prints the file itself", hint="drop --merge and --output, or pass --out FILE")
        sys.stdout.write(made.text.reveal())
        return 0
    written: list[tuple[Path, str]] = []
    if out is not None or not merge:
        written.append((client_files.write(session, made, out), made.context))
    if merge:
        written.append(client_files.merge(made))
    expires = made.expires.strftime("%Y-%m-%dT%H:%M:%SZ")
    data = {"files": [{"path": path, "context": name} for path, name in written], "expires": expires}

    def text(style: Style) -> str:
        until = made.expires.astimezone().strftime("%Y-%m-%d %H:%M")
        return "\n".join(
            f"{style.green('✓')} {path}\n  context {name}, certificate valid until {until}" for path, name in written
        )

    emit(data, output, text, kind="ClientFile")
    return 0
