"""Renders with a `helm` from PATH: for charts that our own renderer cannot do.

Values go in by standard input, for they may hold secrets; the chart itself is written to a folder of its own.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from talosmith.environment import for_children
from talosmith.foreign_text import cleaned
from talosmith.helm import manifests, volatile
from talosmith.helm.capabilities import Capabilities
from talosmith.helm.errors import ChartError
from talosmith.helm.manifests import Hook
from talosmith.helm.release import Release, Rendered

_SOURCE = re.compile(r"# Source: (\S+)\n")
_DEADLINE = 120
_ANOTHER_SECOND = 1.1  # `now` has to give another time


def find() -> str | None:
    """The helm on PATH."""
    return shutil.which("helm")


def render(
    helm: str,
    files: Mapping[str, bytes],
    release: Release,
    values: Mapping[str, Any],
    cluster: Capabilities,
    *,
    check_schema: bool = True,
) -> Rendered:
    """What `helm template` makes of the chart; asked twice where templates name functions that make something up."""
    question = (helm, files, release, values, cluster)
    first = _render(*question, check_schema=check_schema)
    if not volatile.mentioned(files):
        return first
    time.sleep(_ANOTHER_SECOND)
    second = _render(*question, check_schema=False)
    found = volatile.differences((*first.objects, *first.hooks), (*second.objects, *second.hooks))
    return replace(first, volatile=found)


def _render(
    helm: str,
    files: Mapping[str, bytes],
    release: Release,
    values: Mapping[str, Any],
    cluster: Capabilities,
    *,
    check_schema: bool,
) -> Rendered:
    with tempfile.TemporaryDirectory(prefix="talosmith-chart-") as scratch:
        for name, content in files.items():
            path = Path(scratch, "chart", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        command = [helm, "template", release.name, str(Path(scratch, "chart")), "--namespace", release.namespace]
        command += ["--include-crds", "--kube-version", cluster.KubeVersion.Version, "--values", "-"]
        command += [part for version in cluster.APIVersions for part in ("--api-versions", version)]
        command += ["--is-upgrade"] if release.is_upgrade else []
        command += [] if check_schema else ["--skip-schema-validation"]
        try:
            result = subprocess.run(
                command,
                input=json.dumps(values, ensure_ascii=False).encode(),
                capture_output=True,
                check=False,
                timeout=_DEADLINE,
                env=for_children(),
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise ChartError(f"{helm} did not render the chart: {type(problem).__name__}") from None
    if result.returncode:
        raise ChartError(f"{helm}: {cleaned(result.stderr.decode(errors='replace'))}")
    return _read(result.stdout.decode(errors="replace"), Path(helm).name)


def _read(output: str, helm: str) -> Rendered:
    objects, hooks, crds = [], [], []
    source = ""
    for text in manifests.split(output):
        match = _SOURCE.match(text)
        if match:
            source = match[1]
        one = manifests.parse(source, text[match.end() :] if match else text)
        if one is None or not one.content:
            continue
        if isinstance(one, Hook):
            hooks.append(one)
        elif "/crds/" in source:
            crds.append(one)
        else:
            objects.append(one)
    return Rendered(tuple(objects), tuple(hooks), tuple(crds), renderer=helm)
