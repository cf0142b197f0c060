"""The option `--allow` of the commands that refuse what talosmith advises against."""

from __future__ import annotations

from typing import Annotated

import typer

from talosmith.model.allowed import Allowed

AllowOption = Annotated[
    list[Allowed] | None,
    typer.Option(
        "--allow",
        metavar="WHAT",
        help="Accept unsupported-versions: warn about them instead of refusing; repeatable.",
    ),
]
