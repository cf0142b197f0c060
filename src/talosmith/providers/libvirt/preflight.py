"""A look at the host before anything is made there: each thing that would fail later, with its cause and its fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import httpx2
from anyio import to_thread

from talosmith.errors import TalosmithError
from talosmith.model.machines import MachineSpec
from talosmith.model.providers import Libvirt
from talosmith.providers.base import Finding
from talosmith.providers.libvirt.capabilities import capabilities
from talosmith.providers.libvirt.connection import Host, found, libvirt
from talosmith.providers.libvirt.images import Source
from talosmith.providers.libvirt.networks import Network
from talosmith.providers.libvirt.store import Store

_GIB = 2**30
_OLDEST_LIBVIRT = (6, 0, 0)
_ROOM_PER_MACHINE = 2 * _GIB  # what a thin disk grows by at least, in its first hour
_API_PORT = 50000
_PATIENCE = 1.0


async def look(
    host: Host,
    store: Store,
    section: Libvirt,
    network: Network | None,
    specs: Sequence[MachineSpec],
    image: Callable[[MachineSpec], Source],
) -> list[Finding]:
    try:
        findings = await host.do(
            "look at the host", lambda connection: list(_host(connection, store, section, network, specs))
        )
    except TalosmithError as problem:
        return [Finding(level="error", check="libvirt", cause=str(problem), evidence=host.uri, fix=problem.hint)]
    findings += [await to_thread.run_sync(_image, source) for source in {image(spec) for spec in specs}]
    findings.append(await _addresses(specs))
    return findings


def _host(
    connection: Any, store: Store, section: Libvirt, network: Network | None, specs: Sequence[MachineSpec]
) -> Iterator[Finding]:
    yield _versions(connection)
    yield from _kinds(connection, section, specs)
    yield _pool(connection, store, specs)
    if specs:
        yield _memory(connection, specs)
    yield _network(connection, section, network)
    if section.bridge or network:
        yield from _forwarding(connection)


def _versions(connection: Any) -> Finding:
    library, hypervisor = _version(connection.getLibVersion()), _version(connection.getVersion())
    told = f"libvirt {'.'.join(map(str, library))}, {connection.getType()} {'.'.join(map(str, hypervisor))}"
    if library < _OLDEST_LIBVIRT:
        return Finding(
            level="error", check="libvirt", cause="the host's libvirt is too old", evidence=told,
            fix="bring it to 6.0 at least",
        )  # fmt: skip
    return Finding(level="ok", check="libvirt", evidence=f"{connection.getURI()}: {told}")


def _version(number: int) -> tuple[int, int, int]:
    return number // 1_000_000, number // 1000 % 1000, number % 1000


def _kinds(connection: Any, section: Libvirt, specs: Sequence[MachineSpec]) -> Iterator[Finding]:
    host = capabilities(connection)
    for arch in sorted({spec.arch for spec in specs}):
        try:
            kind = host.hardware(arch, section.domain_type, section.cpu_model)["kind"]
        except TalosmithError as problem:
            yield Finding(level="error", check="virtualisation", cause=str(problem), fix=problem.hint)
            continue
        if kind == "qemu" and section.domain_type == "auto":
            yield Finding(
                level="warning", check="virtualisation", evidence=arch,
                cause="the host offers no KVM: machines are emulated, ten times slower and more",
                fix="switch virtualisation on in the host's firmware, or nested virtualisation on the host below it",
            )  # fmt: skip
        elif kind == "kvm" and not host.virtualises:
            yield Finding(
                level="warning", check="virtualisation", evidence=f"{arch}: no vmx or svm among the CPU's features",
                cause="the host offers KVM, but its CPU does not say that it can: machines may never start to boot",
                fix="if their consoles stay empty, set `domain_type: qemu`",
            )  # fmt: skip
        else:
            yield Finding(level="ok", check="virtualisation", evidence=f"{arch} by {kind}")


def _pool(connection: Any, store: Store, specs: Sequence[MachineSpec]) -> Finding:
    pool = found(lambda: connection.storagePoolLookupByName(store.pool_name))
    if pool is None:
        if store.pool_path:
            return Finding(level="ok", check="storage pool", evidence=f"is made in {store.pool_path}")
        names = ", ".join(sorted(one.name() for one in connection.listAllStoragePools())) or "none"
        return Finding(
            level="error", check="storage pool", cause=f"the host has no pool {store.pool_name!r}",
            evidence=f"it has: {names}", fix="set `libvirt.pool` to one of them, or `pool_path` to make it",
        )  # fmt: skip
    try:
        described = store.described(pool)
    except TalosmithError as problem:
        return Finding(level="error", check="storage pool", cause=str(problem), fix=problem.hint)
    needed = len(specs) * _ROOM_PER_MACHINE
    promised = sum(sum(spec.disks_mib) for spec in specs) * 2**20
    told = f"{described.name}: {described.available / _GIB:.1f} GiB free, {promised / _GIB:.1f} GiB promised to disks"
    if pool.isActive() and described.available < needed:
        return Finding(
            level="error", check="storage pool", cause="there is no room for the machines", evidence=told,
            fix=f"free some space in {described.path}, or set another `libvirt.pool`",
        )  # fmt: skip
    if pool.isActive() and described.available < promised:
        return Finding(
            level="warning", check="storage pool", evidence=told,
            cause="disks grow as they are filled, and all of them full would not fit",
            fix=f"watch {described.path}, or give the nodes smaller disks",
        )  # fmt: skip
    return Finding(level="ok", check="storage pool", evidence=told)


def _memory(connection: Any, specs: Sequence[MachineSpec]) -> Finding:
    wanted = sum(spec.ram_mib or 0 for spec in specs)
    try:
        stats = connection.getMemoryStats(-1, 0)
        total, free = stats["total"] // 1024, sum(stats.get(key, 0) for key in ("free", "buffers", "cached")) // 1024
    except libvirt().libvirtError:  # not every driver has it
        total = free = int(connection.getInfo()[1])
    told = f"{wanted} MiB for {len(specs)} machines; the host has {total} MiB, of which {free} MiB are free"
    if wanted > total:
        cause = "the host has less memory than the machines are to have"
        return Finding(level="error", check="memory", cause=cause, evidence=told, fix="give the nodes less `ram`")
    if wanted > free:
        cause = "the machines would need memory that others use"
        return Finding(level="warning", check="memory", cause=cause, evidence=told, fix="give the nodes less `ram`")
    return Finding(level="ok", check="memory", evidence=told)


def _network(connection: Any, section: Libvirt, network: Network | None) -> Finding:
    if section.bridge:
        return _bridge(connection, section.bridge)
    name = section.network or "default"
    there = found(lambda: connection.networkLookupByName(name))
    if there is not None and (there.isActive() or network is not None):
        return Finding(level="ok", check="network", evidence=name)
    if there is not None:
        cause, fix = f"the network {name!r} is switched off", f"on the host: virsh net-start {name}"
        return Finding(level="error", check="network", cause=cause, fix=fix)
    if network is not None:
        return Finding(level="ok", check="network", evidence=f"{name} is made, the host at {network.address}")
    names = ", ".join(sorted(one.name() for one in connection.listAllNetworks())) or "none"
    return Finding(
        level="error", check="network", cause=f"the host has no network {name!r}", evidence=f"it has: {names}",
        fix="set `libvirt.network` or `libvirt.bridge`, or `make_network: nat` to have it made",
    )  # fmt: skip


def _bridge(connection: Any, name: str) -> Finding:
    there: bool | None
    if _is_here(connection):
        there = Path("/sys/class/net", name, "bridge").is_dir()
    else:
        try:
            there = connection.interfaceLookupByName(name) is not None
        except libvirt().libvirtError as error:
            there = False if "no interface" in str(error).lower() else None
    if there is None:
        return Finding(
            level="warning", check="bridge", cause=f"whether the host has the bridge {name!r} cannot be asked",
            evidence="its libvirt has no driver for interfaces", fix=f"see `ip link show {name}` on the host",
        )  # fmt: skip
    if not there:
        return Finding(
            level="error", check="bridge", cause=f"the host has no bridge {name!r}",
            fix="make it, with the host's network card in it, or use `network` instead of `bridge`",
        )  # fmt: skip
    return Finding(level="ok", check="bridge", evidence=name)


def _forwarding(connection: Any) -> Iterator[Finding]:
    """Docker sets the host's forwarding to drop, which cuts bridged machines off where bridges pass the firewall."""
    if not _is_here(connection):
        return
    passes = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
    if Path("/sys/class/net/docker0").is_dir() and passes.is_file() and passes.read_text().strip() == "1":
        yield Finding(
            level="warning", check="forwarding", evidence="docker0 is there, and bridges pass the firewall",
            cause="Docker on this host drops what is forwarded: machines may not reach anybody",
            fix="sysctl net.bridge.bridge-nf-call-iptables=0, or iptables -I DOCKER-USER -j ACCEPT",
        )  # fmt: skip


def _is_here(connection: Any) -> bool:
    return re.match(r"[a-z]+(\+unix)?:///", connection.getURI()) is not None


def _image(source: Source) -> Finding:
    if not source.is_url:
        if Path(source.place).expanduser().is_file():
            return Finding(level="ok", check="image", evidence=source.place)
        fix = "set `libvirt.image` to a file or URL that is there"
        return Finding(level="error", check="image", cause=f"there is no image {source.place}", fix=fix)
    try:
        answer = httpx2.head(source.place, follow_redirects=True, timeout=10.0)
    except httpx2.HTTPError as problem:
        return Finding(
            level="warning", check="image", cause=f"the image cannot be reached: {problem}", evidence=source.place,
            fix="without a way to the internet set `libvirt.image` to a file on this computer",
        )  # fmt: skip
    if answer.status_code >= 400 and not source.schematic:
        fix = "check `libvirt.image` in the inventory"
        cause = f"the image's server answers {answer.status_code}"
        return Finding(level="error", check="image", cause=cause, evidence=source.place, fix=fix)
    proof = "" if source.checksum else "; no checksum is given, so TLS alone vouches for it"
    return Finding(level="ok", check="image", evidence=source.place + proof)


async def _addresses(specs: Sequence[MachineSpec]) -> Finding:
    """Whoever answers at an address that is to be a new machine's has it already. A refusal says nothing: routers
    refuse for networks where nobody is."""
    taken: list[str] = []

    async def knock(spec: MachineSpec) -> None:
        with suppress(OSError):
            with anyio.fail_after(_PATIENCE):
                await (await anyio.connect_tcp(str(spec.ip), _API_PORT)).aclose()
            taken.append(f"{spec.ip} ({spec.name})")

    async with anyio.create_task_group() as group:
        for spec in specs:
            group.start_soon(knock, spec)
    if taken:
        return Finding(
            level="error", check="addresses", cause="somebody has addresses of new machines",
            evidence=", ".join(sorted(taken)), fix="switch that off, or give the nodes other addresses",
        )  # fmt: skip
    return Finding(level="ok", check="addresses", evidence=f"{len(specs)} are free")
