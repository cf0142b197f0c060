"""Prints an error: problems with their lines, or a sentence and its fix; as an object with `-o json|yaml`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from talosmith.cli.arguments import FRAME_OPTIONS, read_frame, value_of
from talosmith.cli.pasteable import fixes_pasteable, pasteable
from talosmith.cli.streams import put
from talosmith.errors import InventoryError, TalosmithError, UsageError
from talosmith.foreign_text import escaped
from talosmith.report.problems import as_text, summary
from talosmith.report.style import Style

if TYPE_CHECKING:
    from talosmith.cli.options import Output

_STREAMING = ("up", "destroy")  # commands that print one object after another


def report_failure(failure: TalosmithError, argv: list[str]) -> int:
    style = Style(sys.stderr)
    failure.hint = pasteable(failure.hint)
    wanted = value_of(argv, "-o", "--output")
    if wanted in ("json", "yaml"):
        from talosmith.cli.options import Output, emit
        from talosmith.report.failure import as_data

        command = _command_of(argv)
        if command in _STREAMING:
            return _end_of_stream(failure, command, Output(wanted))
        emit(as_data(failure), Output(wanted), kind="Error")
    elif isinstance(failure, InventoryError):
        for problem in failure.problems:
            put(sys.stderr, fixes_pasteable(as_text([problem], style)))
        put(sys.stderr, f"{style.red('error:')} the inventory cannot be used: {summary(failure.problems)}")
    else:
        fix = f"\n  {style.dim('fix:')} {escaped(failure.hint)}" if failure.hint else ""
        put(sys.stderr, f"{style.red('error:')} {escaped(str(failure))}{fix}")
    return failure.exit_code


def _end_of_stream(failure: TalosmithError, command: str, output: Output) -> int:
    """`up --no-such-option -o json` ends with a Result like any other run."""
    from talosmith.cli.run_lines import RunLines

    def fail() -> int:
        raise failure

    return RunLines(command, output).reported(fail)


def _command_of(argv: list[str]) -> str:
    try:
        words = read_frame(argv).rest
    except UsageError:
        return ""
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in FRAME_OPTIONS else words[1:]
    return words[0] if words else ""
