"""`talosmith versions`"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from talosmith.cli.options import EnvironmentOption, InventoryOption, Output, OutputOption, application, emit
from talosmith.cli.planning import columns
from talosmith.errors import InventoryError, UsageError
from talosmith.report import versions as report
from talosmith.report.versions import Pinned

_SUMMARY = (
    "Show which Talos and Kubernetes versions go together, the versions that the inventory pins, and the upgrade "
    "path from these. Needs no inventory."
)

app = application(_SUMMARY)


@app.command(help=_SUMMARY)
def versions(
    inventory: InventoryOption = None, environment: EnvironmentOption = None, output: OutputOption = Output.TEXT
) -> int:
    pinned = _pinned(inventory, environment)
    width = columns(sys.stdout)
    emit(report.as_data(pinned), output, lambda style: report.as_text(pinned, style, width), kind="Versions")
    return 0


def _pinned(inventory: Path | None, environment: str | None) -> Pinned | None:
    """None if no inventory is named and none is found. One that the rules refuse pins versions all the same."""
    from talosmith.inventory import check
    from talosmith.inventory.sources import find

    try:
        file = find(inventory, environment)
    except UsageError:
        if inventory or environment or os.environ.get("TALOSMITH_INVENTORY"):
            raise
        return None
    found = check(file)
    if found.resolved is None:
        raise InventoryError(found.problems)
    cluster = found.resolved.cluster
    return Pinned(cluster.name, found.file, cluster.talos_version, cluster.kubernetes_version)
