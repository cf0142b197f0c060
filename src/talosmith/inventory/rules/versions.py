"""Talos and Kubernetes versions that go together."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.inventory.findings import Finding, error, note
from talosmith.inventory.resolve import Resolved
from talosmith.model.versions import TALOS_LINES

NEWEST_NATIVE = (1, 13)  # the newest line whose documents are generated in its own form


def talos_is_known(resolved: Resolved) -> Iterator[Finding]:
    version = resolved.cluster.talos_version
    if version.line in TALOS_LINES:
        return
    oldest, newest = min(TALOS_LINES), max(TALOS_LINES)
    what = f"Talos {version} is not known here"
    why = f"talosmith knows {oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}"
    fix = "use a newer talosmith" if version.line > newest else f"use at least {TALOS_LINES[oldest].latest}"
    yield error(("talos_version",), what, why, fix)


def kubernetes_fits_talos(resolved: Resolved) -> Iterator[Finding]:
    talos, kubernetes = resolved.cluster.talos_version, resolved.cluster.kubernetes_version
    line = TALOS_LINES.get(talos.line)
    if line is None:
        return
    if kubernetes.major != 1 or not line.oldest_kubernetes <= kubernetes.minor <= line.newest_kubernetes:
        what = f"Kubernetes {kubernetes} does not run on Talos {talos}"
        why = f"it supports 1.{line.oldest_kubernetes} to 1.{line.newest_kubernetes}"
        yield error(("kubernetes_version",), what, why, f"for example {line.kubernetes}")


def newest_talos_gets_older_documents(resolved: Resolved) -> Iterator[Finding]:
    version = resolved.cluster.talos_version
    if version.line in TALOS_LINES and version.line > NEWEST_NATIVE:
        what = f"Talos {version} gets machine configs in the form of 1.13"
        yield note(("talos_version",), what, "it accepts them; its own form is not generated yet")
