"""How a failure is told: problems with their lines, or one sentence and a hint; as data where data was asked for."""

from __future__ import annotations

import sys

from talosmith.cli.streams import put
from talosmith.errors import InventoryError, TalosmithError
from talosmith.foreign_text import escaped
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
        put(sys.stderr, as_text(failure.problems, style))
        put(sys.stderr, style.red(f"the inventory cannot be used: {summary(failure.problems)}"))
    else:
        put(sys.stderr, f"{style.red('error:')} {escaped(str(failure))}")
        if failure.hint:
            put(sys.stderr, f"  {style.dim('fix:')} {escaped(failure.hint)}")
    return failure.exit_code


def _output_of(argv: list[str]) -> str:
    """`-o json` wherever it stands: what went wrong may be what kept it from being read."""
    for index, argument in enumerate(argv):
        name, equals, value = argument.partition("=")
        if name in ("-o", "--output"):
            return value if equals else "".join(argv[index + 1 : index + 2])
    return "text"
