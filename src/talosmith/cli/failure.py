"""How a failure is told: problems with their lines, or one sentence and a hint; as data where data was asked for."""

from __future__ import annotations

import sys

from talosmith.errors import InventoryError, TalosmithError
from talosmith.report.problems import as_text, summary
from talosmith.report.style import Style


def report_failure(failure: TalosmithError, argv: list[str]) -> int:
    style = Style(sys.stderr)
    wanted = _output_of(argv)
    if wanted in ("json", "yaml"):
        from talosmith.cli.options import Output, emit

        problems = failure.problems if isinstance(failure, InventoryError) else ()
        error = {"message": str(failure), "hint": failure.hint, "exit_code": int(failure.exit_code)}
        emit({"error": error, "problems": problems}, Output(wanted))
    elif isinstance(failure, InventoryError):
        sys.stderr.write(as_text(failure.problems, style) + "\n")
        sys.stderr.write(style.red(f"the inventory cannot be used: {summary(failure.problems)}") + "\n")
    else:
        sys.stderr.write(f"{style.red('error:')} {failure}\n")
        if failure.hint:
            sys.stderr.write(f"  {style.dim('fix:')} {failure.hint}\n")
    return failure.exit_code


def _output_of(argv: list[str]) -> str:
    """`-o json` wherever it stands: what went wrong may be what kept it from being read."""
    for index, argument in enumerate(argv):
        name, equals, value = argument.partition("=")
        if name in ("-o", "--output"):
            return value if equals else "".join(argv[index + 1 : index + 2])
    return "text"
