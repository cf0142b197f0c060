"""Versions of Talos and Kubernetes that are compatible."""

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
    what = f"Talos {version} is not supported"
    why = f"talosmith supports Talos {oldest[0]}.{oldest[1]} to {newest[0]}.{newest[1]}"
    fix = "upgrade talosmith" if version.line > newest else f"use at least {TALOS_LINES[oldest].latest}"
    yield error(("talos_version",), what, why, fix)


def kubernetes_fits_talos(resolved: Resolved) -> Iterator[Finding]:
    talos, kubernetes = resolved.cluster.talos_version, resolved.cluster.kubernetes_version
    line = TALOS_LINES.get(talos.line)
    if line is None:
        return
    if kubernetes.major != 1 or not line.oldest_kubernetes <= kubernetes.minor <= line.newest_kubernetes:
        what = f"Kubernetes {kubernetes} does not run on Talos {talos}"
        why = f"it supports Kubernetes 1.{line.oldest_kubernetes} to 1.{line.newest_kubernetes}"
        yield error(("kubernetes_version",), what, why, f"for example {line.kubernetes}")


def newest_talos_gets_older_documents(resolved: Resolved) -> Iterator[Finding]:
    version = resolved.cluster.talos_version
    if version.line in TALOS_LINES and version.line > NEWEST_NATIVE:
        what = f"Talos {version} gets machine configs in the form of 1.13"
        yield note(("talos_version",), what, "Talos accepts them; its newer form is not generated yet")
