"""The single checks of preflight, each on what was seen or on one call of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from talosmith.errors import TalosmithError
from talosmith.model.machines import MachineSpec
from talosmith.providers.base import Finding
from talosmith.providers.images.checks import check_source
from talosmith.providers.proxmox.client import ProxmoxClient, path
from talosmith.providers.proxmox.failures import Denied, Taken
from talosmith.providers.proxmox.lookup import Row
from talosmith.providers.proxmox.machines import Machines
from talosmith.providers.proxmox.options import vmid_of
from talosmith.providers.proxmox.settings import ProxmoxSettings
from talosmith.providers.proxmox.templates import Templates
from talosmith.providers.proxmox.volumes import Volumes, content_of, image_file
from talosmith.tasks import in_thread

_GIB, _MIB = 2**30, 2**20


@dataclass(frozen=True, slots=True)
class Seen:
    """What Proxmox showed; None where the token may not look."""

    hosts: Mapping[str, Mapping[str, Any]]
    storages: Mapping[str, Mapping[str, Mapping[str, Any]]]  # host -> storage
    networks: Mapping[str, Sequence[Mapping[str, Any]] | None]
    states: Mapping[str, Mapping[str, Any] | None]
    pools: frozenset[str]

    def is_linux_bridge(self, bridge: str) -> bool:
        """Else a network of SDN, whose zone is not known here."""
        rows = [row for one in self.networks.values() for row in one or () if row.get("iface") == bridge]
        return not rows or any(str(row.get("type", "")).lower() in ("bridge", "ovsbridge") for row in rows)


def error(check: str, cause: str, evidence: str, fix: str) -> Finding:
    return Finding(level="error", check=check, cause=cause, evidence=evidence, fix=fix)


def check_hosts(settings: ProxmoxSettings, seen: Seen) -> Iterator[Finding]:
    names = ", ".join(sorted(seen.hosts)) or "none"
    key = "proxmox.hosts" if settings.section.hosts else "proxmox.node"
    for host in settings.hosts:
        found = seen.hosts.get(host)
        if found is None:
            yield error(
                f"node {host}", f"there is no Proxmox node {host!r}", f"there are: {names}", f"correct `{key}`"
            )
        elif found.get("status") != "online":
            state = found.get("status", "unknown")
            fix = f"start the host, or set `{key}` to another one"
            yield error(f"node {host}", "the Proxmox node is not online", f"its status is {state}", fix)
        else:
            yield Finding(level="ok", check=f"node {host}", evidence="online")


def check_storages(
    settings: ProxmoxSettings, seen: Seen, specs: Sequence[MachineSpec], hidden: AbstractSet[str]
) -> Iterator[Finding]:
    """`hidden`: paths that the token lacks privileges on; a storage that is not shown to it may exist."""
    section = settings.section
    for host in dict.fromkeys(settings.host(spec) for spec in specs):
        here = [spec for spec in specs if settings.host(spec) == host]
        boots = [settings.boot(spec) for spec in here]
        wanted: dict[str, dict[str, str]] = {}

        def want(storage: str, content: str, key: str, wanted: dict[str, dict[str, str]] = wanted) -> None:
            wanted.setdefault(storage, {})[content] = key

        want(section.datastore, "images", "datastore")
        if section.seed or any(boot.is_iso and boot.source for boot in boots):
            want(section.iso_storage, "iso", "iso_storage")
        if any(boot.source and not boot.is_iso for boot in boots):
            want(settings.section.images_in, "import", "image_storage")
            want(section.iso_storage, "iso", "iso_storage")
        for storage, contents in wanted.items():
            if storage not in seen.storages.get(host, {}) and f"/storage/{storage}" in hidden:
                continue  # the finding about the token says so
            yield _storage(seen, host, storage, contents, here if storage == section.datastore else [])


def _storage(
    seen: Seen, host: str, storage: str, contents: Mapping[str, str], specs: Sequence[MachineSpec]
) -> Finding:
    check, there = f"storage {storage} on {host}", seen.storages.get(host, {})
    keys = " and ".join(f"`proxmox.{key}`" for key in dict.fromkeys(contents.values()))
    found = there.get(storage)
    if found is None:
        names = ", ".join(sorted(there)) or "none that the token may see"
        return error(
            check, f"there is no storage {storage!r} on {host}", f"there are: {names}",
            f"correct {keys}",
        )  # fmt: skip
    if not int(found.get("enabled", 1)):
        return error(check, "the storage is disabled", _described(found), f"pvesm set {storage} --disable 0")
    if not int(found.get("active", 1)):
        return error(
            check, "the storage is not active", _described(found), f"`pvesm status --storage {storage}` on {host}"
        )
    allowed = str(found.get("content", "")).split(",")
    lacking = [content for content in contents if content not in allowed]
    if lacking:
        able = [name for name, one in there.items() if set(lacking) <= set(str(one.get("content", "")).split(","))]
        other = f", or set {keys} to {' or '.join(sorted(able))}" if able else ""
        return error(
            check, f"the storage does not allow the content type {', '.join(lacking)}",
            f"it allows: {', '.join(sorted(allowed))}",
            f"pvesm set {storage} --content {','.join([*filter(None, allowed), *lacking])}{other}",
        )  # fmt: skip
    free, asked = int(found.get("avail") or 0), sum(sum(spec.disks_mib) for spec in specs) * _MIB
    evidence = f"{_described(found)}, {free / _GIB:.1f} GiB free"
    if specs and free < len(specs) * 2 * _GIB:
        fix = "free some space, or set `proxmox.datastore` to another storage"
        return error(check, "there is no room for the machines", f"{evidence}, {asked / _GIB:.1f} GiB asked for", fix)
    if free < asked:
        return Finding(
            level="warning", check=check, cause="all disks full would not fit",
            evidence=f"{evidence}, {asked / _GIB:.1f} GiB asked for",
            fix="on thin storages disks grow as they are filled: watch the storage, or make the disks smaller",
        )  # fmt: skip
    return Finding(level="ok", check=check, evidence=evidence)


def _described(found: Mapping[str, Any]) -> str:
    return f"{found.get('type', 'storage')}{' (shared)' if found.get('shared') else ''}"


async def check_boot(
    client: ProxmoxClient,
    settings: ProxmoxSettings,
    templates: Templates,
    specs: Sequence[MachineSpec],
    seen: Seen,
    broken: AbstractSet[str],
) -> list[Finding]:
    """The ISO, image or template: that it exists in Proxmox, or can be had from where it comes.

    `broken`: checks that found an error; what is in a storage that cannot be used is not looked for.
    """
    findings: dict[str, Finding] = {}
    volumes = Volumes(client, templates.owner, settings.cache)
    for spec in specs:
        boot, host = settings.boot(spec), settings.host(spec)
        if boot.template:
            label = f"template {boot.template} for {host}"
            if label not in findings:
                findings[label] = await _template(templates, boot.template, host, label, seen)
        elif boot.volume:
            label = f"{'ISO' if boot.is_iso else 'image'} {boot.volume} on {host}"
            if label not in findings and f"storage {boot.volume.partition(':')[0]} on {host}" not in broken:
                findings[label] = await _volume(volumes, boot.volume, host, label, is_iso=boot.is_iso)
        elif boot.source is not None:
            label = f"{'ISO' if boot.is_iso else 'image'} {boot.source.name}"
            if label not in findings:
                findings[label] = await _source(volumes, settings, boot.source, host, label)
    return list(findings.values())


async def _template(templates: Templates, name: str, host: str, label: str, seen: Seen) -> Finding:
    """On this Proxmox node, or where this one sees its disk, too."""
    try:
        vm = await templates.named(name, host)
    except TalosmithError as problem:
        return error(label, str(problem), f"on {host}", problem.hint)
    storage = vm.disks[0].volume.partition(":")[0]
    if vm.host != host and not seen.storages.get(host, {}).get(storage, {}).get("shared"):
        fix = f"create a template on {host}, too, or put its disk into a storage that all nodes share"
        evidence = f"VM {vm.vmid} on {vm.host}, disk in {storage}"
        return error(label, f"the template is on {vm.host}, and {host} does not have its storage", evidence, fix)
    return Finding(level="ok", check=label, evidence=f"VM {vm.vmid} on {vm.host}")


async def _source(volumes: Volumes, settings: ProxmoxSettings, source: Any, host: str, label: str) -> Finding:
    storage = settings.storage_of(source)
    try:
        there = await volumes.listed(host, storage, content_of(source))
    except TalosmithError:  # the checks of storage and token say why
        there = []
    if any(one.name == image_file(source) for one in there):
        return Finding(level="ok", check=label, evidence=f"{storage} of {host} has it")
    return await in_thread(lambda: check_source(source, settings.cache, label))


async def _volume(volumes: Volumes, volume: str, host: str, label: str, *, is_iso: bool) -> Finding:
    storage, _, rest = volume.partition(":")
    content = rest.partition("/")[0]
    try:
        there = await volumes.listed(host, storage, content)
    except Denied:
        return Finding(
            level="note", check=label, cause=f"the token may not see what {storage} has", evidence=host,
            fix=f"grant Datastore.Audit on /storage/{storage}",
        )  # fmt: skip
    except TalosmithError as problem:
        return error(label, str(problem), f"on {host}", problem.hint)
    if any(one.id == volume for one in there):
        return Finding(level="ok", check=label, evidence=f"{storage} of {host} has it")
    names = ", ".join(sorted(one.name for one in there)[:10]) or "nothing"
    key = "iso" if is_iso else "image"
    menu = "ISO Images" if is_iso else "Import"
    fix = f"upload it (storage → {menu}), correct `proxmox.{key}`, or leave that out: "
    return error(
        label, f"{storage} of {host} has no {rest.rpartition('/')[2]}", f"it has: {names}",
        fix + "then talosmith uploads the image factory's",
    )  # fmt: skip


async def check_vmids(machines: Machines, specs: Sequence[MachineSpec]) -> list[Finding]:
    """A VM that the token may not see is not listed, but its VMID is taken all the same."""
    wanted = {vmid_of(spec): spec.name for spec in specs}
    rows = {row.vmid: row for row in await machines.lookup.rows() if row.vmid in wanted}
    taken = []
    for vmid, name in wanted.items():
        row = rows.get(vmid)
        holder = await _holder(machines, row) if row else await _hidden_holder(machines, vmid)
        if holder:
            fix = f"set `vmid` of {name} or `proxmox.vmid_base`, or delete that VM if it is not needed"
            taken.append(error(f"VMID {vmid}", f"VMID {vmid} of {name} is taken", f"by {holder}", fix))
    if taken or not specs:
        return taken
    numbers = ", ".join(map(str, sorted(wanted)))
    return [Finding(level="ok", check="VMIDs", evidence=f"{numbers} free, or of this cluster")]


async def _holder(machines: Machines, row: Row) -> str:
    vm = await machines.lookup.vm(row.host, row.vmid)
    if vm is None or vm.being_made or vm.marker.is_of(machines.owner):
        return ""
    marker = vm.marker
    cluster = f", node {marker.node} of the cluster {marker.fields.get('cluster')}" if marker.is_machine else ""
    return f"{vm.name or 'a VM'} on {row.host}{cluster}"


async def _hidden_holder(machines: Machines, vmid: int) -> str:
    try:
        await machines.client.get("/cluster/nextid", vmid=vmid)
    except Taken:
        for row in await machines.lookup.rows():
            if row.vmid == vmid:  # made meanwhile
                return await _holder(machines, row)
        return "a VM or container that the token may not see"
    return ""


def check_memory(settings: ProxmoxSettings, seen: Seen, specs: Sequence[MachineSpec]) -> Iterator[Finding]:
    for host in dict.fromkeys(settings.host(spec) for spec in specs):
        here = [spec for spec in specs if settings.host(spec) == host]
        asked, memory = sum(spec.ram_mib or 0 for spec in here), (seen.states.get(host) or {}).get("memory")
        check = f"memory of {host}"
        row = seen.hosts.get(host, {})
        if memory is None and "maxmem" not in row:
            yield Finding(
                level="note", check=check, cause="the token may not see how much memory is free",
                evidence=f"{asked} MiB for {len(here)} machines",
                fix=f"grant Sys.Audit on /nodes/{host} to have it checked",
            )  # fmt: skip
            continue
        total = int(memory["total"] if memory else row["maxmem"]) // _MIB
        free = int(memory.get("available", memory.get("free", 0)) if memory else row["maxmem"] - row["mem"]) // _MIB
        evidence = f"{asked} MiB asked for by {len(here)} machines; {free} of {total} MiB are free"
        fix = "give the nodes less `ram`, shut other VMs down, or place nodes on another host"
        if asked > total:
            yield error(check, "the host has less memory than the machines are to have", evidence, fix)
        elif asked > free:
            yield error(check, "the host has too little memory free", evidence, fix)
        else:
            yield Finding(level="ok", check=check, evidence=evidence)


def check_bridge(settings: ProxmoxSettings, seen: Seen, specs: Sequence[MachineSpec]) -> Iterator[Finding]:
    bridge = settings.section.bridge
    for host in dict.fromkeys(settings.host(spec) for spec in specs):
        rows = seen.networks.get(host)
        check = f"bridge {bridge} on {host}"
        names = sorted(str(row.get("iface", "")) for row in rows or ())
        if rows is None or not names:
            yield Finding(
                level="note", check=check, cause="the token may not see the bridges", evidence=host,
                fix="grant SDN.Audit or SDN.Use on /sdn/zones/localnetwork to have it checked",
            )  # fmt: skip
        elif bridge not in names:
            yield error(
                check, f"there is no bridge {bridge!r} on {host}", f"there are: {', '.join(names)}",
                "correct `proxmox.bridge`, or create it: System → Network → Create → Linux Bridge, then Apply",
            )  # fmt: skip
        else:
            yield Finding(level="ok", check=check, evidence="exists")


async def check_cpu(client: ProxmoxClient, settings: ProxmoxSettings, specs: Sequence[MachineSpec]) -> list[Finding]:
    """Types that are too old for Talos are refused with the inventory; here, those that the host does not know."""
    kind = settings.section.cpu_type.partition(",")[0]
    if kind == "host" or not specs:
        return []
    findings = []
    for host in dict.fromkeys(settings.host(spec) for spec in specs):
        models = await client.get(path("nodes", host, "capabilities", "qemu", "cpu"))
        names = {str(one.get("name", "")) for one in models}
        if kind in names:
            findings.append(Finding(level="ok", check=f"CPU type on {host}", evidence=kind))
        else:
            findings.append(error(
                f"CPU type on {host}", f"the host does not know the CPU type {kind!r}", f"{len(names)} others exist",
                "set `proxmox.cpu_type` to `host`, or x86-64-v2-AES and newer",
            ))  # fmt: skip
    return findings


def check_pool(settings: ProxmoxSettings, seen: Seen, specs: Sequence[MachineSpec]) -> Iterator[Finding]:
    pool = settings.section.pool
    if not pool or not specs:
        return
    if pool not in seen.pools:
        names = ", ".join(sorted(seen.pools)) or "none that the token may see"
        fix = f"pveum pool add {pool}, or correct `proxmox.pool`"
        yield error(f"pool {pool}", f"there is no pool {pool!r}", f"there are: {names}", fix)
    else:
        yield Finding(level="ok", check=f"pool {pool}", evidence="exists")
