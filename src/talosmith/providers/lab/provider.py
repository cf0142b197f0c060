"""The machines of one cluster in its lab.

A machine has the node's name there, and a lab takes no name twice: that is what makes a second of the same
impossible, for any caller and any number of calls.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from talosmith.errors import Permanent, Temporary
from talosmith.model.machines import CLUSTER_TAG, NODE_TAG, ROLE_TAG, Machine, MachineSpec, Owner
from talosmith.model.secret import Secret
from talosmith.providers.base import NO_HOST_CALLS, Finding
from talosmith.providers.lab.home import Calls, Home
from talosmith.providers.lab.refusals import MachineExists, NoSuchMachine

_MIB = 1024**2
_API_PORT = 50000


class LabProvider:
    name = "lab"
    seeds = False
    simulated = True
    host_calls = NO_HOST_CALLS
    creates = True

    def __init__(self, owner: Owner, home: Home) -> None:
        self._owner = owner
        self._home = home
        self._leaving = asyncio.Lock()  # one deletion at a time: the last one also ends the lab

    async def preflight(self, specs: Sequence[MachineSpec]) -> list[Finding]:
        findings = self._home.look()
        # Addresses before machines: a machine that another run creates in between has its address by right.
        held = {
            spec.name: f"{spec.ip} ({spec.name}): {problem}" for spec in specs if (problem := _not_free(str(spec.ip)))
        }
        there = {machine.name for machine in await self.find()}
        taken = [text for name, text in held.items() if name not in there]
        if taken:
            fix = "end what listens there, or set `network.node_cidr` to another part of 127.0.0.0/8"
            cause = "machines cannot answer at their addresses"
            findings.append(
                Finding(level="error", check="addresses", cause=cause, evidence="; ".join(taken), fix=fix)
            )
        else:
            found = f"{len(specs)} free, or of this cluster" if specs else "no new machine needs one"
            findings.append(Finding(level="ok", check="addresses", evidence=found))
        return findings

    async def find(self) -> list[Machine]:
        calls = await self._home.enter()
        if calls is None:
            return []
        return [_machine(one) for one in await calls("machine.list") if self._is_ours(one)]

    async def find_renamed(self) -> Mapping[str, tuple[str, ...]]:
        """A lab is named after its cluster, so they are in other labs, or in this one if long names begin alike."""
        calls = await self._home.enter()
        others = await self._home.others_with(self._owner.id)
        found: dict[str, tuple[str, ...]] = {name: () for name, machines in others.items() if not machines}
        own = await calls("machine.list") if calls is not None else []
        for one in (*own, *(one for machines in others.values() for one in machines)):
            if name := self._owner.former_name(one["tags"]):
                found[name] = (*found.get(name, ()), one["name"])
        return found

    async def create(self, spec: MachineSpec, seed: Secret | None = None) -> Machine:
        calls = await self._home.make()
        found = await _get(calls, spec.name)
        if found is None:
            try:
                return _machine(await calls("machine.create", name=spec.name, **self._hardware(spec, seed)))
            except MachineExists:  # since we have looked
                found = await _get(calls, spec.name)
        if found is None:
            raise Temporary(
                f"{spec.name} existed a moment ago and does not exist now",
                hint="another run may be using this lab: talosmith lab list",
            )
        if not self._is_ours(found):
            whose = found["tags"].get(CLUSTER_TAG)
            raise Permanent(
                f"the lab {self._home.name!r} has a machine {spec.name!r} that is not this cluster's",
                hint=(f"it belongs to another cluster {whose!r}; " if whose else "it was created by hand; ")
                + f"if it can go: talosmith lab machine delete {spec.name} --lab {self._home.name}",
            )
        return _machine(found)

    async def destroy(self, machine: Machine) -> None:
        async with self._leaving:
            calls = await self._home.enter()
            found = await _get(calls, machine.name) if calls else None
            if calls is None or found is None or found["uuid"] != machine.id or not self._is_ours(found):
                return
            if (await calls("status"))["machines"] == 1:
                # One act, so that no empty lab stays behind if we are interrupted.
                await self._home.delete()
                return
            try:
                await calls("machine.delete", names=[machine.name], uuid=machine.id)
            except NoSuchMachine:
                return

    async def power(self, machine: Machine, on: bool) -> None:
        await self._act(machine, "machine.power-on" if on else "machine.power-off")

    async def resize(self, machine: Machine, spec: MachineSpec) -> Machine:
        sizes = {"cpu": spec.cpu, "memory_mib": spec.ram_mib, "disk_sizes": [size * _MIB for size in spec.disks_mib]}
        return _machine((await self._act(machine, "machine.resize", **sizes))[0])

    async def console(self, machine: Machine, lines: int = 50) -> str:
        calls = await self._ours(machine)
        return str(await calls("machine.console", name=machine.name, lines=lines))

    async def close(self) -> None:
        """Every call has a connection of its own."""

    def _hardware(self, spec: MachineSpec, seed: Secret | None) -> dict[str, Any]:
        wanted = {
            "address": str(spec.ip),
            "mac": spec.mac,
            "cpu": spec.cpu,
            "memory_mib": spec.ram_mib,
            "disk_sizes": [size * _MIB for size in spec.disks_mib] or None,
            "version": str(spec.talos_version),
            "config": seed.reveal() if seed else None,
            "tags": self._owner.tags(spec.name, spec.role),
        }
        return {key: value for key, value in wanted.items() if value is not None}

    def _is_ours(self, described: Mapping[str, Any]) -> bool:
        tags = described["tags"]
        return self._owner.owns(tags) and tags.get(NODE_TAG) == described["name"] and ROLE_TAG in tags

    async def _ours(self, machine: Machine) -> Calls:
        """The lab, if it still has this very machine."""
        calls = await self._home.enter()
        found = await _get(calls, machine.name) if calls else None
        if calls is None or found is None or found["uuid"] != machine.id or not self._is_ours(found):
            raise _gone(machine)
        return calls

    async def _act(self, machine: Machine, what: str, **arguments: Any) -> Any:
        calls = await self._ours(machine)
        try:
            return await calls(what, names=[machine.name], uuid=machine.id, **arguments)
        except NoSuchMachine:
            raise _gone(machine) from None


async def _get(calls: Calls, name: str) -> dict[str, Any] | None:
    """By its name, which the lab knows at once; lists may be late."""
    try:
        found: dict[str, Any] = (await calls("machine.list", name=name))[0]
    except NoSuchMachine:
        return None
    return found


def _machine(described: Mapping[str, Any]) -> Machine:
    tags = described["tags"]
    return Machine(
        id=described["uuid"],
        name=tags[NODE_TAG],
        role=tags[ROLE_TAG],
        power=described["power"],
        addresses=(described["address"],),
        endpoint=described["endpoint"] if described["endpoint"] != described["address"] else "",
        fingerprint=described["fingerprint"],
        cpu=described["cpu"],
        ram_mib=described["memory_mib"],
        disks_mib=tuple(disk["size"] // _MIB for disk in described["disks"]),
        tags=tags,
    )


def _gone(machine: Machine) -> Permanent:
    return Permanent(f"the machine {machine.name!r} is gone", hint="plan again: the lab has changed meanwhile")


def _not_free(address: str) -> str:
    """Why no process can listen there; empty if one can."""
    with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET) as probe:
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, _API_PORT))
        except OSError as problem:
            if problem.errno == errno.EADDRINUSE:
                return f"another process listens on port {_API_PORT}"
            return str(problem.strerror)
    return ""
