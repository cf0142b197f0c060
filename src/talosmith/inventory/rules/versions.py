"""Versions of Talos and Kubernetes that are compatible."""

from __future__ import annotations

from collections.abc import Iterator

from talosmith.inventory.findings import Finding, error, warning
from talosmith.inventory.resolve import Resolved
from talosmith.model.allowed import Allowed
from talosmith.model.known_bad import NAMES, known_bad
from talosmith.model.versions import NEWEST_KUBERNETES, NEWEST_TALOS, OLDEST_TALOS, TALOS_LINES, line_text

_KNOWN = f"talosmith knows Talos {line_text(OLDEST_TALOS)} to {line_text(NEWEST_TALOS)}"
_ALLOWED = Allowed.UNSUPPORTED_VERSIONS
_OR_ALLOW = f"or pass --allow {_ALLOWED}"


def talos_is_known(resolved: Resolved) -> Iterator[Finding]:
    version = resolved.cluster.talos_version
    if version.line > NEWEST_TALOS:
        what = f"Talos {version} is newer than this talosmith"
        why = f"{_KNOWN}; machine configs are written in the form of Talos {line_text(NEWEST_TALOS)}"
        yield warning(("talos_version",), what, why, "upgrade talosmith")
    elif version.line < OLDEST_TALOS:
        fix = f"use at least {TALOS_LINES[OLDEST_TALOS].latest}"
        yield error(("talos_version",), f"Talos {version} is not supported", _KNOWN, fix)


def kubernetes_fits_talos(resolved: Resolved) -> Iterator[Finding]:
    talos, kubernetes = resolved.cluster.talos_version, resolved.cluster.kubernetes_version
    number = min(talos.line, NEWEST_TALOS)
    line = TALOS_LINES.get(number)
    if line is None or line.supports(kubernetes):
        return
    if talos.line > NEWEST_TALOS and kubernetes.line > NEWEST_KUBERNETES:  # a newer Talos supports newer ones
        what = f"Kubernetes {kubernetes} is newer than this talosmith"
        why = f"talosmith knows Kubernetes up to {line_text(NEWEST_KUBERNETES)}, with Talos {line_text(NEWEST_TALOS)}"
        yield warning(("kubernetes_version",), what, why, "upgrade talosmith")
        return
    what = f"Kubernetes {kubernetes} does not run on Talos {talos}"
    why = f"Talos {line_text(number)} supports Kubernetes 1.{line.oldest_kubernetes} to 1.{line.newest_kubernetes}"
    yield error(("kubernetes_version",), what, why, f"for example {line.kubernetes}, {_OR_ALLOW}", _ALLOWED)


def versions_are_not_withdrawn(resolved: Resolved) -> Iterator[Finding]:
    pinned = {"talos": resolved.cluster.talos_version, "kubernetes": resolved.cluster.kubernetes_version}
    for one in known_bad(pinned["talos"], pinned["kubernetes"]):
        if one.refused:
            what = f"{NAMES[one.component]} {pinned[one.component]} must not be used: {one.what}"
            yield error((f"{one.component}_version",), what, one.source, f"{one.fix}, {_OR_ALLOW}", _ALLOWED)
