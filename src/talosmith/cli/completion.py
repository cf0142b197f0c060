"""`talosmith completion`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from talosmith.cli.options import application

app = application("Print the completion script for bash, zsh or fish.")

_SCRIPTS = Path(__file__).with_name("shells")


@app.command()
def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> int:
    """Print the completion script for bash, zsh or fish."""
    sys.stdout.write((_SCRIPTS / f"talosmith.{shell}").read_text(encoding="utf-8"))
    return 0
