"""By what names and addresses a node is known: from its config where that says so, else from the lab's network."""

from __future__ import annotations

import hashlib
import ipaddress

from talosmith_lab.machine import Machine
from talosmith_lab.nodeconfig import NodeConfig
from talosmith_lab.world import World

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def hostname(world: World, machine: Machine) -> str:
    config = world.config(machine)
    if config is not None and config.hostname:
        return config.hostname
    if config is None or config.hostname_by_address:
        return "talos-" + main_address(world, machine).replace(".", "-").replace(":", "-")
    number = int.from_bytes(hashlib.sha256(machine.uuid.encode()).digest()[:5], "big")
    letters = ""
    for _ in range(6):
        number, rest = divmod(number, 36)
        letters += _DIGITS[rest]
    return f"talos-{letters[:3]}-{letters[3:]}"


def addresses(world: World, machine: Machine) -> list[str]:
    """Where the node answers: its own addresses, in the order of their worth, and the virtual ones it holds."""
    if machine.run is None or world.active("lost-network", machine.name):
        return []
    return [*_own(machine, world.config(machine)), *held_vips(world, machine)]


def main_address(world: World, machine: Machine) -> str:
    return _own(machine, world.config(machine))[0]


def held_vips(world: World, machine: Machine) -> list[str]:
    config = world.config(machine)
    if config is None:
        return []
    keys = ((vip, vip_key(config.cluster_id, vip)) for vip in config.vips)
    return [vip for vip, key in keys if world.vip_holders.get(key) == machine.name]


def vip_key(cluster_id: str, address: str) -> str:
    return f"{cluster_id} {address}"


def is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback


def _own(machine: Machine, config: NodeConfig | None) -> list[str]:
    """Static addresses on loopback are where the node moves to. It cannot move to others; they only stand there."""
    given = [one.prefix.partition("/")[0] for one in config.addresses] if config else []
    moved = [address for address in given if is_loopback(address)]
    return [*(moved or [machine.address]), *(address for address in given if not is_loopback(address))]
