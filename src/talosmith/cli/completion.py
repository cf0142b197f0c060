"""`talosmith completion`"""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]

from talosmith.cli.options import application

app = application("Print what a shell needs to complete talosmith's commands.")


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="Try: source <(talosmith completion bash)")]) -> int:
    """Print what a shell needs to complete talosmith's commands."""
    script = get_completion_script(prog_name="talosmith", complete_var="_TALOSMITH_COMPLETE", shell=shell.value)
    sys.stdout.write(script + "\n")
    return 0
