"""Looks for what would go wrong: on this computer, at the provider, on the nodes; each with cause, evidence and fix.

Nothing is changed, and one thing that is wrong does not keep the others from being looked at.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from talosmith.desired.pki import read_certificate
from talosmith.desired.target import Desired
from talosmith.desired.validity import EXPIRED_CA, SET_CLOCKS, clock, out_of_time
from talosmith.errors import TalosmithError
from talosmith.observed.world import NodeSeen
from talosmith.providers.base import Finding, Provider
from talosmith.talos import ClockMismatch, NotTalos, NotTrusted, Refused, TalosClient, sweep

_ENOUGH = 200 * 1024**2  # bytes for the journal, rendered files, an image being unpacked comes on top
_SKEW = 10.0  # seconds; certificates are backdated, but etcd and leases are not
_TOOLS = {
    "talosctl": "talosmith does not need it; you will want it to look into nodes",
    "kubectl": "talosmith does not need it; you will want it to use the cluster",
}


async def examine(
    desired: Desired, provider: Provider, talos: TalosClient, folders: Sequence[Path], nodes: Mapping[str, NodeSeen]
) -> list[Finding]:
    """`nodes`: those of the inventory as they were observed; those without a config are the provider's to look at."""
    missing = [node.machine for name, node in desired.nodes.items() if not nodes[name].configured]
    found = [_python(), *(_space(folder) for folder in folders), *_authorities(desired), *_tools()]
    found += await _told(f"the provider {provider.name}", lambda: provider.preflight(missing))
    return found + await _told("clocks", lambda: _clocks(talos, nodes))


async def _told(check: str, look: Callable[[], Awaitable[list[Finding]]]) -> list[Finding]:
    try:
        return await look()
    except TalosmithError as wrong:
        return [Finding(level="error", check=check, cause=str(wrong), fix=wrong.hint)]


def _python() -> Finding:
    return Finding(level="ok", check="Python", evidence=".".join(map(str, sys.version_info[:3])))


def _space(folder: Path) -> Finding:
    there = next(one for one in (folder, *folder.parents) if one.exists())
    free = shutil.disk_usage(there).free
    evidence = f"{free // 1024**2} MiB free at {there}"
    if free >= _ENOUGH:
        return Finding(level="ok", check="disk space", evidence=evidence)
    return Finding(level="error", check="disk space", cause="there is too little", evidence=evidence, fix="make room")


def _authorities(desired: Desired) -> list[Finding]:
    found = []
    now = datetime.now(UTC)
    for name, pair in desired.bundle.authorities.items():
        certificate = read_certificate(pair.certificate)
        left = certificate.not_valid_after_utc - now
        evidence = f"valid until {certificate.not_valid_after_utc:%Y-%m-%d}"
        if cause := out_of_time(certificate, now):
            fix = f"{SET_CLOCKS}; {EXPIRED_CA}"
            found.append(Finding(level="error", check=f"authority {name}", cause=cause, fix=fix))
        elif left.days < 90:
            found.append(
                Finding(
                    level="warning",
                    check=f"authority {name}",
                    cause=f"it expires in {left.days} days",
                    evidence=evidence,
                    fix="rotate it before it does: `talosctl rotate-ca`",
                )
            )
        else:
            found.append(Finding(level="ok", check=f"authority {name}", evidence=evidence))
    return found


def _tools() -> list[Finding]:
    return [
        Finding(level="ok", check=name, evidence=path)
        if (path := shutil.which(name))
        else Finding(level="ok", check=name, evidence=f"not on PATH; {why}")
        for name, why in _TOOLS.items()
    ]


async def _clocks(talos: TalosClient, seen: Mapping[str, NodeSeen]) -> list[Finding]:
    """Nodes that answer without proving to be this cluster's are asked, too: a wrong clock is one of the causes."""
    asked = [one for one in seen.values() if one.address and (one.configured or one.stranger)]
    swept = await sweep([talos.node(one.address, one.name) for one in asked], lambda node: node.time())
    found = [_unread(name, wrong) for name, wrong in swept.errors.items()]
    for name, reading in swept.results.items():
        now = datetime.now(UTC)
        skew = (reading.node - now).total_seconds()
        if abs(skew) > _SKEW:
            cause = "the node and this computer do not agree on the time"
            evidence = (
                f"{name} is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}: its clock says "
                f"{clock(reading.node)}, this computer's clock says {clock(now)}"
            )
            found.append(Finding(level="error", check="clocks", cause=cause, evidence=evidence, fix=SET_CLOCKS))
    if found or not asked:
        return found
    return [Finding(level="ok", check="clocks", evidence=f"{len(asked)} nodes agree")]


def _unread(name: str, wrong: TalosmithError) -> Finding:
    if isinstance(wrong, ClockMismatch | Refused | NotTrusted | NotTalos):
        return Finding(level="error", check=f"certificates of {name}", cause=str(wrong), fix=wrong.hint)
    return Finding(level="warning", check=f"clock of {name}", cause=f"not read: {wrong}", fix=wrong.hint)
