"""Looks for what would go wrong: on this computer, at the provider, on the nodes; each with cause, evidence and fix.

Nothing is changed, and one thing that is wrong does not keep the others from being looked at.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from talosmith.desired.pki import read_certificate
from talosmith.desired.target import Desired
from talosmith.errors import TalosmithError
from talosmith.providers.base import Finding, Provider
from talosmith.talos import TalosClient, sweep

_ENOUGH = 200 * 1024**2  # bytes for the journal, rendered files, an image being unpacked comes on top
_SKEW = 10.0  # seconds; certificates are backdated, but etcd and leases are not
_TOOLS = {
    "talosctl": "talosmith does not need it; you will want it to look into nodes",
    "kubectl": "talosmith does not need it; you will want it to use the cluster",
}


async def examine(
    desired: Desired, provider: Provider, talos: TalosClient, folders: Sequence[Path], *, running: Sequence[str]
) -> list[Finding]:
    """`running`: nodes that have a config; those that have none are the provider's to look at."""
    missing = [node.machine for name, node in desired.nodes.items() if name not in running]
    found = [_python(), *(_space(folder) for folder in folders), *_authorities(desired), *_tools()]
    found += await _told(f"the provider {provider.name}", lambda: provider.preflight(missing))
    return found + await _told("clocks", lambda: _clocks(desired, talos, running))


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
        if certificate.not_valid_before_utc > now:
            cause = "it is not valid yet: this computer's clock may be wrong"
            fix = "set the clock (timedatectl), then look again"
            found.append(Finding(level="error", check=f"authority {name}", cause=cause, evidence=evidence, fix=fix))
        elif left.days < 90:
            cause = "it has expired" if left.days < 0 else f"it expires in {left.days} days"
            found.append(
                Finding(
                    level="error" if left.days < 0 else "warning",
                    check=f"authority {name}",
                    cause=cause,
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


async def _clocks(desired: Desired, talos: TalosClient, running: Sequence[str]) -> list[Finding]:
    nodes = [talos.node(str(desired.nodes[name].node.ip), name) for name in running if name in desired.nodes]
    swept = await sweep(nodes, lambda node: node.time())
    found = []
    for name, reading in swept.results.items():
        skew = abs((reading.node - datetime.now(UTC)).total_seconds())
        evidence = f"{name} is {skew:.0f} s off"
        if skew > _SKEW:
            cause = "the node and this computer do not agree on the time"
            fix = "let both follow time servers (network.ntp_servers for the nodes)"
            found.append(Finding(level="error", check="clocks", cause=cause, evidence=evidence, fix=fix))
    return found or ([Finding(level="ok", check="clocks", evidence=f"{len(nodes)} nodes agree")] if nodes else [])
