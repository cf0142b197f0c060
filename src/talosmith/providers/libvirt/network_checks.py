"""What is looked at in the host's network before machines are put into it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from talosmith.model.machines import MachineSpec
from talosmith.model.providers import Libvirt
from talosmith.providers.base import Finding
from talosmith.providers.libvirt.connection import found, libvirt
from talosmith.providers.libvirt.networks import Network, read_network


def check_network(
    connection: Any, section: Libvirt, network: Network | None, specs: Sequence[MachineSpec]
) -> Finding:
    """`network`: the one that is made if the host has none of its name."""
    if section.bridge:
        return _bridge(connection, section.bridge)
    name = section.network or "default"
    there = found(lambda: connection.networkLookupByName(name))
    if there is not None:
        known = read_network(there.XMLDesc())
        ours = network is not None and known.owner == network.owner
        if not there.isActive() and not ours:
            cause, fix = f"the network {name!r} is switched off", f"on the host: virsh net-start {name}"
            return Finding(level="error", check="network", cause=cause, fix=fix)
        return _range(known, specs)
    if network is not None:
        return Finding(level="ok", check="network", evidence=f"{name} is made, the host at {network.address}")
    names = ", ".join(sorted(one.name() for one in connection.listAllNetworks())) or "none"
    return Finding(
        level="error", check="network", cause=f"the host has no network {name!r}", evidence=f"it has: {names}",
        fix="set `libvirt.network` or `libvirt.bridge`, or `make_network: nat` to have it made",
    )  # fmt: skip


def _range(network: Network, specs: Sequence[MachineSpec]) -> Finding:
    """Whether the machines' addresses are in it, if it has any."""
    if not network.address:
        return Finding(level="ok", check="network", evidence=network.name)
    inside = ip_network(f"{network.address}/{network.prefix}", strict=False)
    outside = [f"{spec.name} {spec.ip}" for spec in specs if spec.ip not in inside]
    if outside:
        return Finding(
            level="warning", check="network", evidence=f"{network.name} is {inside}; {', '.join(outside)}",
            cause="machines have addresses outside of their network and may be unreachable",
            fix=f"set `network.node_cidr: {inside}` and `gateway: {network.address}`, or another `libvirt.network`",
        )  # fmt: skip
    return Finding(level="ok", check="network", evidence=f"{network.name}, {inside}")


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


def check_forwarding(connection: Any, section: Libvirt, system: Path = Path("/")) -> Iterator[Finding]:
    """Docker sets the host's forwarding to drop, which cuts bridged machines off where bridges pass the firewall.
    For networks of its own libvirt makes exceptions; a host far away does not tell."""
    if not section.bridge or not _is_here(connection):
        return
    passes = system / "proc/sys/net/bridge/bridge-nf-call-iptables"
    docker = (system / "sys/class/net/docker0").is_dir()
    if docker and passes.is_file() and passes.read_text().strip() == "1":
        yield Finding(
            level="warning", check="forwarding", evidence="docker0 is there, and bridges pass the firewall",
            cause="Docker on this host drops forwarded traffic: machines may reach nothing beyond the bridge",
            fix=f"iptables -I DOCKER-USER -i {section.bridge} -j ACCEPT, or "
            "sysctl net.bridge.bridge-nf-call-iptables=0",
        )  # fmt: skip


def _is_here(connection: Any) -> bool:
    return re.match(r"[a-z]+(\+unix)?:///", connection.getURI()) is not None
