"""Machines are created and deleted: names, addresses and hardware, no two alike in a lab."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from talosmith.errors import UsageError
from talosmith.model.versions import RECOMMENDED, Version
from talosmith.providers.lab.refusals import MachineExists
from talosmith_lab import joining, lifecycle
from talosmith_lab.clock import fraction
from talosmith_lab.machine import GIB, Disk, Machine, Platform, Slot, System
from talosmith_lab.world import World

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?\Z")
_FIRST = 11  # of a subnet, machines get addresses from here on; those before are for virtual ones


def create(
    world: World,
    name: str,
    *,
    address: str | None = None,
    mac: str | None = None,
    cpu: int = 2,
    memory_mib: int = 2048,
    disk_sizes: Sequence[int] = (20 * GIB,),
    platform: Platform = "metal",
    version: str = RECOMMENDED.latest,
    config: str = "",
    tags: Mapping[str, str] | None = None,
    port: int = 0,
) -> Machine:
    """A machine that is off. With a `config` it configures itself when it boots; else it waits to be given one."""
    if not _NAME.match(name):
        raise UsageError(f"{name!r} is not a machine's name", hint="lower-case letters, digits and dashes")
    if name in world.machines:
        raise MachineExists(f"there is a machine {name!r} already", hint="choose another name, or delete it first")
    given = _address(world, address)
    machine = Machine(
        name=name,
        address=given,
        mac=mac or _mac(world, name),
        uuid=world.unique("machine", name),
        cpu=cpu,
        memory_mib=memory_mib,
        disks=[_disk(world, name, number, size) for number, size in enumerate(disk_sizes)],
        platform=platform,
        version=_version(version),
        seed=world.keep_text(config) if config else "",
        tags=dict(tags or {}),
        created=world.now(),
        port=port,
    )
    if platform != "metal":  # the disk comes with Talos on it
        slot = Slot(machine.version, f"ghcr.io/siderolabs/installer:{machine.version}")
        machine.system = System(device=machine.disks[0].device, slots={"A": slot}, default="A")
    world.machines[name] = machine
    world.touch(machine, config=True)
    return machine


def delete(world: World, machine: Machine) -> None:
    """The machine and its disks are gone. What was a member of etcd is now one that is never seen again."""
    lifecycle.power_off(world, machine)
    joining.forget(world, machine)
    del world.machines[machine.name]
    world.changed.add(machine.name)
    world.unsettled.pop(machine.name, None)


def resize(
    world: World,
    machine: Machine,
    *,
    cpu: int | None = None,
    memory_mib: int | None = None,
    disk_sizes: Sequence[int] = (),
) -> None:
    """More or less CPU and memory, larger and further disks. A machine that is on is switched off and on for it."""
    sizes = [disk.size for disk in machine.disks]
    wanted = [*disk_sizes, *sizes[len(disk_sizes) :]]
    if any(new < old for new, old in zip(wanted, sizes, strict=False)):
        raise UsageError(f"the disks of {machine.name!r} cannot be made smaller", hint="recreate the machine")
    asked = (cpu or machine.cpu, memory_mib or machine.memory_mib, wanted)
    if asked == (machine.cpu, machine.memory_mib, sizes):
        return
    was_on = machine.on
    lifecycle.power_off(world, machine)
    machine.cpu, machine.memory_mib, _ = asked
    for disk, size in zip(machine.disks, wanted, strict=False):
        disk.size = size
    for number in range(len(sizes), len(wanted)):
        machine.disks.append(_disk(world, machine.name, number, wanted[number]))
    world.touch(machine, config=True)
    if was_on:
        lifecycle.power_on(world, machine)


def wipe(world: World, machine: Machine) -> None:
    """Empty disks, as after a swap: the machine itself is not asked."""
    lifecycle.power_off(world, machine)
    lifecycle.wipe(world, machine, {"system": True, "user_disks": [disk.device for disk in machine.disks]})


def _address(world: World, wanted: str | None) -> str:
    taken = {machine.address for machine in world.machines.values()}
    if wanted is not None:
        if wanted in taken:
            raise UsageError(f"the address {wanted} is taken", hint="leave it out to get a free one")
        return wanted
    hosts = range(_FIRST, world.subnet.num_addresses - 1)
    free = (str(world.subnet[number]) for number in hosts)
    found = next((address for address in free if address not in taken), None)
    if found is None:
        raise UsageError(f"all addresses of {world.subnet} are taken", hint="start a lab with a larger network")
    return found


def _mac(world: World, name: str) -> str:
    number = int(fraction(world.seed, "mac", name) * 2**32)
    return "52:54:" + ":".join(f"{number >> shift & 0xFF:02x}" for shift in (24, 16, 8, 0))


def _disk(world: World, name: str, number: int, size: int) -> Disk:
    serial = f"LAB{int(fraction(world.seed, 'disk', name, number) * 16**10):010X}"
    return Disk(device=f"/dev/vd{chr(ord('a') + number)}", size=size, serial=serial)


def _version(text: str) -> str:
    try:
        return str(Version.parse(text))
    except ValueError as error:
        raise UsageError(str(error), hint="Write it like v1.13.9.") from None
