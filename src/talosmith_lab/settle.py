"""Lets everything follow that follows from a change, and lets time pass.

Nothing here remembers what was about to happen: it follows from the state each time, which is why a lab that was
killed goes on where it was (`resume`).
"""

from __future__ import annotations

from collections.abc import Callable

from talosmith_lab import configure, joining, kubernetes, quorum, sequences, services, unattended, vip
from talosmith_lab.clock import Key, ManualClock
from talosmith_lab.kube.controllers import turns
from talosmith_lab.machine import Machine
from talosmith_lab.trust import signer_of
from talosmith_lab.world import World

_LATEST = 1.0  # seconds: a lab that stood still for longer goes on from now
_MOST_ROUNDS = 100_000  # far more than any world needs; a mistake must not hang the lab

_ON_MACHINE: dict[str, Callable[[World, Machine], None]] = {
    "sequence": sequences.finish_step,
    "etcd-start": joining.start,
    "etcd-join": joining.join,
    "static-pods": kubernetes.static_pods_up,
    "node-ready": kubernetes.node_ready,
    "try": configure.revert,
}
_ON_OTHERS: dict[str, Callable[[World, str], None]] = {
    "election": quorum.elect,
    "promote": quorum.promote,
    "vip": vip.elect,
}


def settle(world: World) -> None:
    for _ in range(_MOST_ROUNDS):
        if world.unsettled:
            name = next(iter(world.unsettled))
            del world.unsettled[name]
            if name in world.machines:
                _settle_machine(world, world.machines[name])
        elif world.unsettled_clusters:
            uid = next(iter(world.unsettled_clusters))
            del world.unsettled_clusters[uid]
            quorum.settle(world, uid)
        elif world.unsettled_groups:
            group = next(iter(world.unsettled_groups))
            del world.unsettled_groups[group]
            _settle_group(world, group)
        elif world.unsettled_kubernetes:
            uid = next(iter(world.unsettled_kubernetes))
            del world.unsettled_kubernetes[uid]
            _settle_kubernetes(world, uid)
        else:
            turns.notice(world)
            return
    raise AssertionError("the world does not come to rest")


def next_thing(world: World) -> bool:
    """Let the next thing happen that is due by now; whether there was one.

    A lab that is late because it has much to do does not make what follows late as well.
    """
    now, due = world.now(), world.timeline.next_due()
    key = world.timeline.pop(now)
    if key is None or due is None:
        return False
    world.due = max(due, now - _LATEST)
    try:
        _happen(world, key)
        settle(world)
    finally:
        world.due = None
    return True


def pass_time(world: World) -> None:
    """Let everything happen that is due by now."""
    settle(world)
    while next_thing(world):
        pass


def run(world: World, clock: ManualClock, seconds: float = 1e9) -> None:
    """Move a clock of one's own forward until nothing more happens, or the seconds are over."""
    end = clock.now + seconds
    pass_time(world)
    while (due := world.timeline.next_due()) is not None and due <= end:
        clock.now = max(clock.now, due)
        pass_time(world)
    clock.now = end if seconds < 1e9 else clock.now


def resume(world: World) -> None:
    """Look at everything again: a world that was read back, or one in which others are in reach than before."""
    for machine in world.machines.values():
        if machine.on:
            world.unsettled[machine.name] = None
    for uid in world.clusters:
        world.unsettled_clusters[uid] = None
    settle(world)


def _happen(world: World, key: Key) -> None:
    if turns.is_turn(key.what):
        turns.take_turn(world, key.subject, key.what)
        return
    if key.what in _ON_OTHERS:
        _ON_OTHERS[key.what](world, key.subject)
        return
    machine = world.machines.get(key.subject)
    if machine is None or machine.run is None:
        return
    if key.what.startswith("service:"):
        services.started(world, machine, key.what.partition(":")[2])
    else:
        _ON_MACHINE[key.what](world, machine)


def _settle_machine(world: World, machine: Machine) -> None:
    world.machines_seen[machine.name] = None
    if machine.run is None:
        return
    _certificate(world, machine)
    services.settle(world, machine)
    joining.settle(world, machine)
    kubernetes.settle(world, machine)
    configure.settle(world, machine)
    unattended.settle(world, machine)
    sequences.settle(world, machine)
    _readiness(world, machine)


def _settle_group(world: World, cluster_id: str) -> None:
    vip.settle(world, cluster_id)
    if kubernetes.api_changed(world, cluster_id):
        for machine in world.group(cluster_id):
            world.unsettled[machine.name] = None
    for machine in world.group(cluster_id):
        if machine.run is not None and not machine.run.certificate:
            world.unsettled[machine.name] = None


def _settle_kubernetes(world: World, uid: str) -> None:
    found = world.kubernetes.get(uid)
    if found is not None and found.controllers is not None:
        found.controllers.settle()


def _certificate(world: World, machine: Machine) -> None:
    if machine.run is not None and not machine.run.certificate and signer_of(world, machine) is not None:
        machine.run.certificate = True
        world.touch(machine)


def _readiness(world: World, machine: Machine) -> None:
    run = machine.run
    if run is None:
        return
    unmet = kubernetes.unmet(world, machine)
    told = (run.stage, not unmet and run.stage != "unknown", unmet)
    if told == (run.told_stage, run.ready, [tuple(one) for one in run.unmet]):
        return
    run.told_stage, run.ready, run.unmet = told
    conditions = [{"name": name, "reason": reason} for name, reason in unmet]
    stage = run.stage.upper().replace(" ", "_")
    payload = {"stage": stage, "status": {"ready": run.ready, "unmetConditions": conditions}}
    world.event(machine, "MachineStatusEvent", payload)
    world.touch(machine)
