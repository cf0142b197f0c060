"""A look at the host before anything is made there: each thing that would fail later, with its cause and its fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from talosmith.errors import TalosmithError
from talosmith.model.machines import MachineSpec
from talosmith.providers.base import Finding
from talosmith.providers.images.checks import check_source
from talosmith.providers.libvirt.capabilities import capabilities
from talosmith.providers.libvirt.connection import Host, found, libvirt
from talosmith.providers.libvirt.network_checks import check_forwarding, check_network
from talosmith.providers.libvirt.settings import LibvirtSettings
from talosmith.providers.libvirt.store import Store
from talosmith.providers.libvirt.trial import Trial, Trials
from talosmith.providers.network.checks import check_addresses, wanted_addresses
from talosmith.tasks import in_thread

_GIB = 2**30
_OLDEST_LIBVIRT = (6, 0, 0)
_ROOM_PER_MACHINE = 2 * _GIB  # what a thin disk grows by at least, in its first hour
_EMULATED = "machines are emulated, ten times slower and more"
_SWITCH_ON = "switch virtualisation on in the host's firmware, or nested virtualisation on the host below it"
_SLOW = 2.0  # seconds for a firmware; KVM takes a tenth of one


async def look(
    host: Host, store: Store, settings: LibvirtSettings, trials: Trials, specs: Sequence[MachineSpec], *, first: bool
) -> list[Finding]:
    """`first`: the cluster has no machines yet, so its VIP must be free, too."""
    try:
        findings = await host.do(
            "look at the host", lambda connection: list(_host(connection, store, settings, trials, specs))
        )
    except TalosmithError as problem:
        return [Finding(level="error", check="libvirt", cause=str(problem), evidence=host.uri, fix=problem.hint)]
    for source in dict.fromkeys(settings.image(spec) for spec in specs):
        findings.append(await in_thread(partial(check_source, source, settings.cache)))
    wanted = wanted_addresses(specs, settings.vip if first else "")
    findings.append(await check_addresses(wanted, [spec.mac for spec in specs]))
    return findings


def _host(
    connection: Any, store: Store, settings: LibvirtSettings, trials: Trials, specs: Sequence[MachineSpec]
) -> Iterator[Finding]:
    yield _versions(connection)
    yield from _kinds(connection, settings, trials, specs)
    yield _pool(connection, store, specs)
    if specs:
        yield _memory(connection, specs)
    yield check_network(connection, settings.section, settings.network, specs)
    yield from check_forwarding(connection, settings.section)


def _versions(connection: Any) -> Finding:
    library, hypervisor = _version(connection.getLibVersion()), _version(connection.getVersion())
    evidence = f"libvirt {'.'.join(map(str, library))}, {connection.getType()} {'.'.join(map(str, hypervisor))}"
    if library < _OLDEST_LIBVIRT:
        return Finding(
            level="error", check="libvirt", cause="the host's libvirt is too old", evidence=evidence,
            fix="bring it to 6.0 at least",
        )  # fmt: skip
    return Finding(level="ok", check="libvirt", evidence=f"{connection.getURI()}: {evidence}")


def _version(number: int) -> tuple[int, int, int]:
    return number // 1_000_000, number // 1000 % 1000, number % 1000


def _kinds(
    connection: Any, settings: LibvirtSettings, trials: Trials, specs: Sequence[MachineSpec]
) -> Iterator[Finding]:
    host, section = capabilities(connection), settings.section
    for arch in sorted({spec.arch for spec in specs}):
        try:
            hardware = host.hardware(arch, section.domain_type, section.cpu_model)
        except TalosmithError as problem:
            yield Finding(level="error", check="virtualisation", cause=str(problem), fix=problem.hint)
            continue
        if hardware["kind"] == "kvm":
            yield _kvm(arch, section.domain_type, trials.of(hardware))
        elif hardware["kind"] == "qemu" and section.domain_type == "auto":
            yield Finding(
                level="warning", check="virtualisation", evidence=arch,
                cause=f"the host offers no KVM: {_EMULATED}", fix=_SWITCH_ON,
            )  # fmt: skip
        else:
            yield Finding(level="ok", check="virtualisation", evidence=f"{arch} by {hardware['kind']}")


def _kvm(arch: str, domain_type: str, trial: Trial) -> Finding:
    evidence = f"{arch}: {trial.evidence}"
    if trial.runs and trial.seconds < _SLOW:
        return Finding(level="ok", check="virtualisation", evidence=f"{arch} by kvm: {trial.evidence}")
    if trial.runs:
        return Finding(
            level="warning", check="virtualisation", evidence=evidence,
            cause="machines run by KVM, but far slower than they should: the host may be a virtual machine itself",
            fix="if they boot for minutes, see whether `domain_type: qemu` is faster, or take another host",
        )  # fmt: skip
    if trial.runs is None:
        return Finding(
            level="warning", check="virtualisation", evidence=evidence,
            cause="the host offers KVM; whether machines run with it could not be tried",
            fix="if their consoles stay empty, set `domain_type: qemu`",
        )  # fmt: skip
    if domain_type == "auto":
        return Finding(
            level="warning", check="virtualisation", evidence=evidence,
            cause=f"the host offers KVM, but no machine runs with it: {_EMULATED}", fix=_SWITCH_ON,
        )  # fmt: skip
    return Finding(
        level="error", check="virtualisation", evidence=evidence,
        cause="the host offers KVM, but no machine runs with it, and `domain_type: kvm` wants it",
        fix=f"{_SWITCH_ON}; or set `domain_type: qemu`",
    )  # fmt: skip


def _pool(connection: Any, store: Store, specs: Sequence[MachineSpec]) -> Finding:
    pool = found(lambda: connection.storagePoolLookupByName(store.pool_name))
    if pool is None:
        if store.pool_path:
            return Finding(level="ok", check="storage pool", evidence=f"will be created in {store.pool_path}")
        names = ", ".join(sorted(one.name() for one in connection.listAllStoragePools())) or "none"
        return Finding(
            level="error", check="storage pool", cause=f"the host has no pool {store.pool_name!r}",
            evidence=f"it has: {names}", fix="set `libvirt.pool` to one of them, or `pool_path` to have it created",
        )  # fmt: skip
    try:
        described = store.described(pool)
    except TalosmithError as problem:
        return Finding(level="error", check="storage pool", cause=str(problem), fix=problem.hint)
    needed = len(specs) * _ROOM_PER_MACHINE
    promised = sum(sum(spec.disks_mib) for spec in specs) * 2**20
    free = f"{described.available / _GIB:.1f} GiB free"
    evidence = f"{described.name}: {free}, {promised / _GIB:.1f} GiB promised to disks"
    if pool.isActive() and described.available < needed:
        return Finding(
            level="error", check="storage pool", cause="there is no room for the machines", evidence=evidence,
            fix=f"free some space in {described.path}, or set another `libvirt.pool`",
        )  # fmt: skip
    if pool.isActive() and described.available < promised:
        return Finding(
            level="warning", check="storage pool", evidence=evidence,
            cause="disks grow as they are filled, and all of them full would not fit",
            fix=f"watch {described.path}, or give the nodes smaller disks",
        )  # fmt: skip
    return Finding(level="ok", check="storage pool", evidence=evidence)


def _memory(connection: Any, specs: Sequence[MachineSpec]) -> Finding:
    wanted = sum(spec.ram_mib or 0 for spec in specs)
    try:
        stats = connection.getMemoryStats(-1, 0)
        total, free = stats["total"] // 1024, sum(stats.get(key, 0) for key in ("free", "buffers", "cached")) // 1024
    except libvirt().libvirtError:  # not every driver has it
        total = free = int(connection.getInfo()[1])
    fix = "give the nodes less `ram`"
    evidence = f"{wanted} MiB for {len(specs)} machines; the host has {total} MiB, of which {free} MiB are free"
    if wanted > total:
        cause = "the host has less memory than the machines are to have"
        return Finding(level="error", check="memory", cause=cause, evidence=evidence, fix=fix)
    if wanted > free:
        cause = "the machines would need memory that others use"
        return Finding(level="warning", check="memory", cause=cause, evidence=evidence, fix=fix)
    return Finding(level="ok", check="memory", evidence=evidence)
