"""`talosmith version`"""

from __future__ import annotations

from talosmith.cli.options import Output, OutputOption, application, emit
from talosmith.cli.version_text import version_data, version_text

app = application("Print the versions of talosmith and Python, and the supported Talos and Kubernetes versions.")


@app.command()
def version(output: OutputOption = Output.TEXT) -> int:
    """Print the versions of talosmith and Python, and the supported Talos and Kubernetes versions."""
    emit(version_data(), output, lambda _: version_text(), kind="Version")
    return 0
