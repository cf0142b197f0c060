"""Find what is wrong or will be: on this computer, at the provider, on the nodes, in the cluster.

Each finding has a cause, evidence and a fix. Nothing is changed, and one failed check does not end the others. What
"healthy" and "in sync" mean is defined elsewhere (conditions.py, sync.py); here both become findings.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from talosmith.desired.pki import read_certificate
from talosmith.desired.target import Desired
from talosmith.desired.validity import EXPIRED_CA, SET_CLOCKS, clock, out_of_time
from talosmith.errors import TalosmithError
from talosmith.model.machines import Machine
from talosmith.observed.fixes import Commands
from talosmith.observed.health import Health
from talosmith.observed.sync import drift
from talosmith.observed.world import NodeSeen, Observed
from talosmith.providers.base import Area, Finding, Provider
from talosmith.talos import ClockMismatch, NotTalos, NotTrusted, Refused, TalosClient, sweep

_ENOUGH = 200 * 1024**2  # bytes for the journal and rendered files; images need more, which the provider checks
_SKEW = 10.0  # seconds; certificates are backdated, but etcd and leases are not
_TOOLS = {
    "talosctl": "optional: talosmith does not need it",
    "kubectl": "optional: talosmith does not need it",
}
_AUTHORITIES = {"os": "Talos CA", "etcd": "etcd CA", "k8s": "Kubernetes CA", "k8saggregator": "aggregator CA"}
_DOWN = ("machine-missing", "machine-off", "no-answer")  # root causes that are drift, too


async def examine(
    desired: Desired,
    provider: Provider,
    talos: TalosClient,
    folders: Sequence[Path],
    observed: Observed,
    health: Health | None,
) -> list[Finding]:
    """`health`: None where the cluster does not exist yet; then only what `up` would stumble over is reported."""
    nodes = observed.nodes
    missing = [node.machine for name, node in desired.nodes.items() if not nodes[name].configured]
    found = [_python(), *(_space(folder) for folder in folders), *_authorities(desired), *_tools()]
    found = [replace(one, area="this computer") for one in found]
    found += await _findings("provider", provider.name, lambda: provider.preflight(missing))
    found += await _findings("nodes", "clocks", lambda: _clocks(talos, nodes))
    if health is None:
        return [*found, Finding(level="note", area="cluster", check="health", evidence="no cluster exists yet")]
    return [*found, *_drift(desired, observed, health, Commands(folders[0])), *_health(health)]


def exists(observed: Observed, provider: Provider) -> bool:
    """Whether any part of the cluster exists. Machines that the provider does not create exist before it."""
    nodes = observed.all_nodes.values()
    created = provider.creates and any(isinstance(node.machine, Machine) for node in nodes)
    return created or observed.bootstrapped is True or any(node.configured for node in nodes)


async def _findings(area: Area, check: str, look: Callable[[], Awaitable[list[Finding]]]) -> list[Finding]:
    try:
        return [replace(one, area=area) for one in await look()]
    except TalosmithError as wrong:
        return [Finding(level="error", area=area, check=check, cause=str(wrong), fix=wrong.hint)]


def _health(health: Health) -> list[Finding]:
    """The same definition of healthy as everywhere: its root causes are errors."""
    if health.healthy:
        return [Finding(level="ok", area="cluster", check="health", evidence=f"{len(health.checks)} checks hold")]
    return [
        Finding(level="error", area="cluster", check="health", cause=str(cause), fix=cause.fix)
        for cause in health.causes
    ]


def _drift(desired: Desired, observed: Observed, health: Health, commands: Commands) -> list[Finding]:
    """The same definition of in sync as everywhere, without what a root cause of health says already."""
    down = {node for cause in health.causes if cause.kind in _DOWN for node in cause.nodes}
    plan = commands.talosmith("plan")
    alike: dict[tuple[str, str], list[str]] = {}
    for one in drift(desired, observed):
        if not (one.node in down and one.kind in ("machine", "unknown")):
            fix = commands.talosmith("diff") if one.kind == "config" else plan
            alike.setdefault((str(one), fix), []).append(one.node)
    found = [
        Finding(level="warning", area="nodes", check=", ".join(nodes), cause=cause, fix=fix)
        for (cause, fix), nodes in alike.items()
    ]
    if found or down & desired.nodes.keys():
        return found
    return [Finding(level="ok", area="nodes", check="in sync", evidence=f"{len(desired.nodes)} nodes")]


def _python() -> Finding:
    return Finding(level="ok", check="Python", evidence=".".join(map(str, sys.version_info[:3])))


def _space(folder: Path) -> Finding:
    existing = next(one for one in (folder, *folder.parents) if one.exists())
    free = shutil.disk_usage(existing).free
    if free >= _ENOUGH:
        return Finding(level="ok", check="disk space", evidence=f"{free / 1024**3:.1f} GiB free at {existing}")
    evidence = f"{free // 1024**2} MiB free at {existing}"
    return Finding(
        level="error", check="disk space", cause="disk is nearly full", evidence=evidence, fix="free 200 MiB"
    )


def _authorities(desired: Desired) -> list[Finding]:
    found = []
    now = datetime.now(UTC)
    for key, pair in desired.bundle.authorities.items():
        name = _AUTHORITIES[key]
        certificate = read_certificate(pair.certificate)
        left = certificate.not_valid_after_utc - now
        evidence = f"valid until {certificate.not_valid_after_utc:%Y-%m-%d}"
        if cause := out_of_time(certificate, now):
            fix = f"{SET_CLOCKS}; {EXPIRED_CA}"
            found.append(Finding(level="error", check=name, cause=cause, fix=fix))
        elif left.days < 90:
            found.append(
                Finding(
                    level="warning",
                    check=name,
                    cause=f"expires in {left.days} days",
                    evidence=evidence,
                    fix="talosctl rotate-ca",
                )
            )
        else:
            found.append(Finding(level="ok", check=name, evidence=evidence))
    return found


def _tools() -> list[Finding]:
    return [
        Finding(level="ok", check=name, evidence=path)
        if (path := shutil.which(name))
        else Finding(level="note", check=name, evidence=f"not on PATH; {why}")
        for name, why in _TOOLS.items()
    ]


async def _clocks(talos: TalosClient, seen: Mapping[str, NodeSeen]) -> list[Finding]:
    """Nodes whose certificates are not this cluster's are asked, too: a wrong clock is one of the causes."""
    asked = [one for one in seen.values() if one.address and (one.configured or one.foreign_reason)]
    swept = await sweep([talos.node(one.address, one.name) for one in asked], lambda node: node.time())
    found = [_unread(name, wrong) for name, wrong in swept.errors.items()]
    for name, reading in swept.results.items():
        now = datetime.now(UTC)
        skew = (reading.node - now).total_seconds()
        if abs(skew) > _SKEW:
            cause = "clocks of the node and of this computer differ"
            evidence = (
                f"{name} is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}: its clock says "
                f"{clock(reading.node)}, this computer's clock says {clock(now)}"
            )
            found.append(Finding(level="error", check="clocks", cause=cause, evidence=evidence, fix=SET_CLOCKS))
    if found or not asked:
        return found
    return [Finding(level="ok", check="clocks", evidence=f"{len(asked)} nodes within {_SKEW:g} s")]


def _unread(name: str, wrong: TalosmithError) -> Finding:
    if isinstance(wrong, ClockMismatch | Refused | NotTrusted | NotTalos):
        return Finding(level="error", check=f"certificates of {name}", cause=str(wrong), fix=wrong.hint)
    return Finding(
        level="warning", check=f"clock of {name}", cause=f"clock could not be read: {wrong}", fix=wrong.hint
    )
