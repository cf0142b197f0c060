"""`talosmith validate`"""

from __future__ import annotations

import sys

from talosmith.cli.allow import AllowOption
from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit, say
from talosmith.desired.machine.check import check_configs
from talosmith.errors import InventoryError
from talosmith.inventory import check
from talosmith.report.problems import as_text, summary
from talosmith.report.style import Style

app = application("Check the inventory: all problems at once, with file, line and fix. Nothing is changed.")


@app.command()
def validate(
    inventory: InventoryOption = None,
    environment: EnvironmentOption = None,
    allow: AllowOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Check the inventory: all problems at once, with file, line and fix. Nothing is changed."""
    report = check(inventory, environment, machines=True, allow=allow or ())
    if report.valid:
        report.problems += check_configs(report.cluster)
    if output is not Output.TEXT:
        emit(
            {
                "valid": report.valid,
                "file": report.file,
                "problems": report.problems,
            },
            output,
            kind="Validation",
        )
        return 0 if report.valid else InventoryError.exit_code
    if not report.valid:
        raise InventoryError(report.problems)
    if report.problems:
        say(as_text(report.problems, Style(sys.stderr)))
    cluster, counts = report.cluster, summary(report.problems)
    nodes = f"{len(cluster.controlplanes)} + {len(cluster.workers)} nodes on {cluster.provider.name}"
    verdict = f"{report.file} is valid: {cluster.name}, {nodes}" + (f" ({counts})" if counts else "")
    emit({}, output, lambda style: style.green("✓ ") + verdict, kind="Validation")
    return 0
