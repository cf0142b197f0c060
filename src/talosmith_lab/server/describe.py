"""Machines and clusters as the lab's control socket shows them."""

from __future__ import annotations

from typing import Any

from talosmith_lab import naming
from talosmith_lab.etcd import Cluster
from talosmith_lab.machine import Machine
from talosmith_lab.server.listeners import PORT
from talosmith_lab.server.tls import fingerprint
from talosmith_lab.world import World


def describe_machine(world: World, machine: Machine) -> dict[str, Any]:
    run, config = machine.run, world.config(machine)
    address = naming.main_address(world, machine)
    return {
        "name": machine.name,
        "address": address,
        "port": machine.port or PORT,
        "endpoint": f"127.0.0.1:{machine.port}" if machine.port else address,
        "mac": machine.mac,
        "uuid": machine.uuid,
        "cpu": machine.cpu,
        "memory_mib": machine.memory_mib,
        "disks": [{"device": disk.device, "size": disk.size, "serial": disk.serial} for disk in machine.disks],
        "platform": machine.platform,
        "tags": dict(machine.tags),
        "power": "on" if machine.on else "off",
        "stage": run.stage if run else "",
        "ready": bool(run and run.ready),
        "unmet": [f"{name}: {reason}" for name, reason in run.unmet] if run else [],
        "version": run.version if run else "",
        "installed": machine.system is not None,
        "role": config.role if config else "",
        "hostname": naming.hostname(world, machine) if run else "",
        "fingerprint": fingerprint(world, machine) if run and config is None else "",
    }


def describe_cluster(world: World, cluster: Cluster) -> dict[str, Any]:
    leader = cluster.members.get(cluster.leader)
    return {
        "id": cluster.uid,
        "leader": leader.machine if leader else "",
        "quorum": bool(cluster.can_lead(world)),
        "size": len(cluster.members),
        "members": {
            one.machine: "learner" if one.learner else "voter" if cluster.followed_by(one, world) else "cut off"
            for one in cluster.members.values()
        },
    }
