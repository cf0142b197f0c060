"""A look at Proxmox VE before anything is made there: each thing that would fail later, with its cause and its fix.

First whether there is an answer, a certificate that is trusted and a token that is accepted: without them nothing
else can be said. Then all the rest. A refused token costs three seconds, so it is asked for once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from talosmith.errors import TalosmithError, Temporary
from talosmith.model.machines import MachineSpec
from talosmith.providers.base import Finding
from talosmith.providers.network.checks import check_addresses, wanted_addresses
from talosmith.providers.proxmox import privileges
from talosmith.providers.proxmox.checks import (
    Seen,
    check_boot,
    check_bridge,
    check_cpu,
    check_hosts,
    check_memory,
    check_pool,
    check_storages,
    check_vmids,
)
from talosmith.providers.proxmox.client import ProxmoxClient, path
from talosmith.providers.proxmox.failures import Denied, NotTrusted, Refused, Unanswered
from talosmith.providers.proxmox.machines import Machines
from talosmith.providers.proxmox.settings import ProxmoxSettings
from talosmith.providers.proxmox.templates import Templates
from talosmith.providers.proxmox.trust import COMPARE, written
from talosmith.waiting import limited

_OLDEST = 8
_FIRST = 8.0  # seconds for the first answer
_PATIENCE = 5.0  # seconds: one Proxmox node waits for another for half a minute


async def look(
    client: ProxmoxClient,
    settings: ProxmoxSettings,
    machines: Machines,
    templates: Templates,
    specs: Sequence[MachineSpec],
) -> list[Finding]:
    place = client.url.netloc.decode()
    try:
        async with asyncio.timeout(_FIRST):
            version = str((await client.get("/version")).get("version", ""))
    except TalosmithError as problem:
        return [_no_answer(problem, client)]
    except TimeoutError:
        hint = "the host is busy, or its services hang: `systemctl status pveproxy pvedaemon pve-cluster` on it"
        return [_no_answer(Temporary(f"no answer from Proxmox VE within {_FIRST:g} s", hint=hint), client)]
    findings = [_version(version, place)]
    try:
        granted = await client.get("/access/permissions")
        seen = await _seen(client, settings)
        wanted = privileges.needed(settings, specs, linux_bridge=seen.is_linux_bridge(settings.section.bridge))
        lacking = privileges.missing(granted, wanted)
        findings.append(_token(client, granted, lacking, wanted, specs))
        findings += check_hosts(settings, seen)
        if any(one.level == "error" and one.check.startswith("node ") for one in findings):
            return findings
        there = {one.name for one in await machines.list() if not one.unfinished}
        new = [spec for spec in specs if spec.name not in there]
        findings += check_storages(settings, seen, new, {one.path for one in lacking})
        broken = {one.check for one in findings if one.level == "error"}
        findings += await check_boot(client, settings, templates, new, seen, broken)
        findings += await check_vmids(machines, new)
        findings += check_memory(settings, seen, new)
        findings += check_bridge(settings, seen, new)
        findings += await check_cpu(client, settings, new)
        findings += check_pool(settings, seen, new)
        addresses = wanted_addresses(new, "" if there else settings.vip)
        findings.append(await check_addresses(addresses, [spec.mac for spec in new]))
    except TalosmithError as problem:
        findings.append(
            Finding(
                level="error", check="Proxmox VE", cause=str(problem), evidence=place, fix=problem.hint,
                transient=isinstance(problem, Temporary),
            )
        )  # fmt: skip
    return findings


def _no_answer(problem: TalosmithError, client: ProxmoxClient) -> Finding:
    place = client.url.netloc.decode()
    if isinstance(problem, NotTrusted):
        shown = f"SHA-256 fingerprint {written(problem.fingerprint)}" if problem.fingerprint else place
        fix = f"{COMPARE}; if they are equal, set `proxmox.fingerprint: {written(problem.fingerprint)}`"
        return Finding(
            level="error", check="certificate", cause=str(problem).partition("; its fingerprint")[0], evidence=shown,
            fix=fix if problem.fingerprint else problem.hint,
        )  # fmt: skip
    if isinstance(problem, Refused):
        return Finding(
            level="error", check="API token", cause=str(problem), evidence=f"{client.token.id} at {place}",
            fix=f"`pveum user token list {client.token.user}` on the host shows whether it exists and when it "
            "expires; the secret is only shown when it is created",
        )  # fmt: skip
    return Finding(level="error", check="Proxmox VE API", cause=str(problem), evidence=place, fix=problem.hint)


def _version(version: str, place: str) -> Finding:
    major = version.partition(".")[0]
    if not major.isdigit() or int(major) < _OLDEST:
        return Finding(
            level="error", check="Proxmox VE API", cause=f"Proxmox VE {version or '(unknown version)'} is too old",
            evidence=place, fix=f"upgrade to Proxmox VE {_OLDEST} or newer",
        )  # fmt: skip
    return Finding(level="ok", check="Proxmox VE API", evidence=f"{place}: version {version}, certificate trusted")


def _token(
    client: ProxmoxClient,
    granted: privileges.Granted,
    lacking: Sequence[privileges.Missing],
    wanted: privileges.Needed,
    specs: Sequence[MachineSpec],
) -> Finding:
    if not lacking:
        held = "has all privileges that the plan needs" if specs else "is accepted"
        return Finding(level="ok", check="API token", evidence=f"{client.token.id} {held}")
    cause = "the token has no privileges at all" if not granted else "the token lacks privileges"
    if not granted:
        cause += ": with privilege separation, which is the default, it does not have those of its user"
    return Finding(
        level="error",
        check="API token",
        cause=cause,
        evidence=f"{client.token.id} needs {privileges.listed(lacking)}",
        fix="as root on the host:\n" + "\n".join(privileges.commands(lacking, wanted, client.token.id)),
    )


async def _seen(client: ProxmoxClient, settings: ProxmoxSettings) -> Seen:
    """One look at everything that several checks need; what the token may not see is left out."""

    async def ask(where: str, **params: Any) -> Any:
        try:
            async with limited(_PATIENCE):
                return await client.get(where, **params)
        except Denied:
            return None
        raise Unanswered(
            f"GET {where}: no answer within {_PATIENCE:g} s",
            hint="the Proxmox node, or a service on it (pvedaemon, pveproxy), does not answer",
        )

    hosts = {str(one["node"]): one for one in await client.get("/nodes")}
    online = [host for host in settings.hosts if hosts.get(host, {}).get("status") == "online"]
    storages, networks, states = await asyncio.gather(
        asyncio.gather(*(ask(path("nodes", host, "storage")) for host in online)),
        asyncio.gather(*(ask(path("nodes", host, "network"), type="any_bridge") for host in online)),
        asyncio.gather(*(ask(path("nodes", host, "status")) for host in online)),
    )
    pools = await ask("/pools") if settings.section.pool else None
    return Seen(
        hosts=hosts,
        storages={
            host: {str(row["storage"]): row for row in rows or ()}
            for host, rows in zip(online, storages, strict=True)
        },
        networks=dict(zip(online, networks, strict=True)),
        states=dict(zip(online, states, strict=True)),
        pools=frozenset(str(one["poolid"]) for one in pools or ()),
    )
