"""Virtual addresses: each is held by one control plane whose etcd follows a leader, or by none."""

from __future__ import annotations

from talosmith_lab.clock import fraction
from talosmith_lab.machine import Machine
from talosmith_lab.naming import vip_key
from talosmith_lab.quorum import follows
from talosmith_lab.world import World


def settle(world: World, cluster_id: str) -> None:
    """Take addresses from nodes that can no longer hold them, and move them to another node after a while."""
    held = {key.partition(" ")[2] for key in world.vip_holders if key.startswith(f"{cluster_id} ")}
    for address in sorted(_wanted(world, cluster_id) | held):
        key = vip_key(cluster_id, address)
        able = {machine.name for machine in _able(world, cluster_id, address)}
        holder = world.vip_holders.get(key)
        if holder is not None and holder not in able:
            del world.vip_holders[key]
            if holder in world.machines:
                world.touch(world.machines[holder])
        if key not in world.vip_holders and able:
            world.after(key, "vip", "vip", world.counter)


def elect(world: World, key: str) -> None:
    cluster_id, _, address = key.partition(" ")
    able = _able(world, cluster_id, address)
    if key in world.vip_holders or not able:
        return
    world.counter += 1
    holder = min(able, key=lambda machine: fraction(world.seed, key, world.counter, machine.name))
    world.vip_holders[key] = holder.name
    world.kernel(holder, f"[talos] enabled shared IP {address}")
    world.touch(holder)


def _wanted(world: World, cluster_id: str) -> set[str]:
    configs = [world.config(machine) for machine in world.control_planes(cluster_id)]
    return {address for config in configs if config is not None for address in config.vips}


def _able(world: World, cluster_id: str, address: str) -> list[Machine]:
    return [
        machine
        for machine in world.control_planes(cluster_id)
        if address in getattr(world.config(machine), "vips", ())
        and world.connected(machine)
        and follows(world, machine)
    ]
