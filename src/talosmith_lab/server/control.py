"""The way in for who keeps the lab: machines and faults, over a socket of this computer, for who has the token.

A request is a line of JSON (`token`, `call`, `with`), its answer another (`done`, or `error`, `hint` and `kind`).
Those that say they are `by` a provider meet with the lab's faults.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from talosmith.errors import TalosmithError, UsageError
from talosmith.providers.lab.faults import US
from talosmith.providers.lab.refusals import NoSuchMachine, Refusal
from talosmith_lab import hardware, lifecycle, settle
from talosmith_lab.faults import Fault
from talosmith_lab.machine import Machine
from talosmith_lab.records import KERNEL
from talosmith_lab.sequences import request as begin
from talosmith_lab.server.call_faults import unlucky
from talosmith_lab.server.describe import describe_cluster, describe_machine
from talosmith_lab.server.engine import Engine

_LONGEST = 4 * 1024**2
_PATIENCE = 30.0  # seconds in which a request must have come


class Control:
    def __init__(
        self, engine: Engine, token: str, *, problems: Mapping[str, str], ports: range | None = None
    ) -> None:
        self._engine = engine
        self._problems = problems  # of machines, with their addresses
        self._token = token
        self._ports = ports  # where machines have no addresses of their own
        self._server: asyncio.Server | None = None
        self.stopping = asyncio.Event()
        self._calls: Mapping[str, Callable[..., Any]] = {
            "status": self.status,
            "stop": self.stop,
            "calls": self.calls,
            "machine.create": self.create,
            "machine.list": self.list_machines,
            "machine.power-on": self.power_on,
            "machine.power-off": self.power_off,
            "machine.reboot": self.reboot,
            "machine.wipe": self.wipe,
            "machine.resize": self.resize,
            "machine.console": self.console,
            "machine.delete": self.delete,
            "fault.add": self.add_fault,
            "fault.list": self.list_faults,
            "fault.clear": self.clear_faults,
        }

    async def start(self, port: int = 0) -> tuple[str, int]:
        """Where it listens: on loopback, never elsewhere."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port, limit=_LONGEST)
        host, number = self._server.sockets[0].getsockname()[:2]
        return str(host), int(number)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await asyncio.wait_for(reader.readline(), _PATIENCE)
            answer = await self._answer(line)
            if answer is None:
                await reader.read()  # until the caller gives up
                return
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
        except (TimeoutError, ValueError, OSError):  # too slow, too long, or gone
            pass
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any] | None:
        try:
            request = json.loads(line)
            token = str(request.get("token", ""))
        except (ValueError, AttributeError):
            return {"error": "not a request"}
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            return {"error": "the token is wrong", "hint": "is this another user's lab?"}
        what, arguments = str(request.get("call")), request.get("with", {})
        if what not in self._calls:
            return {"error": f"there is no call {what!r}"}
        if request.get("by") == "provider":
            return await unlucky(self._engine, what, arguments, lambda: self._done(what, arguments))
        return self._done(what, arguments)

    def _done(self, what: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return {"done": self._calls[what](**arguments)}
        except Refusal as problem:
            return {"error": str(problem), "hint": problem.hint, "kind": problem.kind}
        except TalosmithError as problem:
            return {"error": str(problem), "hint": problem.hint}
        except TypeError as problem:  # the arguments do not fit
            return {"error": str(problem)}

    # The lab

    def status(self) -> dict[str, Any]:
        world = self._engine.world
        return {
            "clock": world.pace.name,
            "seed": world.seed,
            "network": str(world.subnet),
            "machines": len(world.machines),
            "on": sum(machine.on for machine in world.machines.values()),
            "faults": len(world.faults),
            "etcd": [describe_cluster(world, cluster) for cluster in world.clusters.values()],
            "virtual_addresses": {key.partition(" ")[2]: holder for key, holder in world.vip_holders.items()},
        }

    def calls(self) -> dict[str, dict[str, int]]:
        """What nodes and providers were asked for since the lab runs; what its keeper does is not counted."""
        return self._engine.tally.as_data()

    def stop(self) -> bool:
        self.stopping.set()
        return True

    # Machines

    def create(self, name: str, power: bool = True, **hardware_of: Any) -> dict[str, Any]:
        world = self._engine.world
        if self._ports is not None:
            taken = {machine.port for machine in world.machines.values()}
            hardware_of["port"] = next(port for port in self._ports if port not in taken and _free(port))
        machine = hardware.create(world, name, **hardware_of)
        if power:
            lifecycle.power_on(world, machine)
        self._engine.commit()
        return self._described(machine)

    def list_machines(self, name: str | None = None) -> list[dict[str, Any]]:
        world = self._engine.world
        chosen = [world.machine(name)] if name else world.machines.values()
        return [self._described(machine) for machine in chosen]

    def _described(self, machine: Machine) -> dict[str, Any]:
        described = describe_machine(self._engine.world, machine)
        return {**described, "problem": self._problems.get(machine.name, "") if machine.on else ""}

    def power_on(self, names: list[str], *, uuid: str = "") -> list[dict[str, Any]]:
        return self._each(names, lambda machine: lifecycle.power_on(self._engine.world, machine), uuid)

    def power_off(self, names: list[str], *, graceful: bool = False, uuid: str = "") -> list[dict[str, Any]]:
        world = self._engine.world
        if graceful:
            return self._each(names, lambda machine: machine.on and begin(world, machine, "shutdown", takeover=True))
        return self._each(names, lambda machine: lifecycle.power_off(world, machine), uuid)

    def reboot(self, names: list[str]) -> list[dict[str, Any]]:
        return self._each(names, lambda machine: lifecycle.power_cycle(self._engine.world, machine))

    def wipe(self, names: list[str]) -> list[dict[str, Any]]:
        return self._each(names, lambda machine: hardware.wipe(self._engine.world, machine))

    def resize(self, names: list[str], *, uuid: str = "", **sizes: Any) -> list[dict[str, Any]]:
        return self._each(names, lambda machine: hardware.resize(self._engine.world, machine, **sizes), uuid)

    def console(self, name: str, lines: int = 50) -> str:
        """The last lines of the kernel's log since the machine was last switched on."""
        machine = self._engine.world.machine(name)
        found = [record.text for _, record in self._engine.store.records(name, machine.boots, KERNEL)]
        return "\n".join(found[-lines:] if lines > 0 else [])

    def delete(self, names: list[str], *, uuid: str = "") -> list[str]:
        for machine in self._chosen(names, uuid):
            hardware.delete(self._engine.world, machine)
        self._engine.commit()
        return names

    def _each(self, names: list[str], act: Callable[[Machine], Any], uuid: str = "") -> list[dict[str, Any]]:
        machines = self._chosen(names, uuid)
        for machine in machines:
            act(machine)
        self._engine.commit()
        return [self._described(machine) for machine in machines]

    def _chosen(self, names: list[str], uuid: str = "") -> list[Machine]:
        """All are known before one is touched. With a `uuid`, no other machine that has the name by now is meant."""
        machines = [self._engine.world.machine(name) for name in names]
        for machine in machines:
            if uuid and machine.uuid != uuid:
                raise NoSuchMachine(f"{machine.name!r} is another machine by now")
        return machines

    # Faults

    def add_fault(self, kind: str, **details: Any) -> dict[str, Any]:
        world = self._engine.world
        for name in [*details.get("machines", ()), *details.get("others", ())]:
            if name != US:
                world.machine(name)
        world.counter += 1
        fault = Fault(id=f"f{world.counter}", kind=kind, **details)  # type: ignore[arg-type]
        if fault.kind == "power-loss":
            for name in fault.machines or list(world.machines):
                lifecycle.power_off(world, world.machine(name))
        else:
            world.faults[fault.id] = fault
        self._look_again()
        return {**asdict(fault), "description": fault.describe()}

    def list_faults(self) -> list[dict[str, Any]]:
        return [{**asdict(fault), "description": fault.describe()} for fault in self._engine.world.faults.values()]

    def clear_faults(self, ids: list[str] | None = None) -> list[str]:
        world = self._engine.world
        unknown = [identity for identity in ids or () if identity not in world.faults]
        if unknown:
            raise UsageError(f"there is no fault {unknown[0]!r}", hint="see `talosmith lab fault list`")
        gone = list(ids or world.faults)
        for identity in gone:
            del world.faults[identity]
        self._look_again()
        return gone

    def _look_again(self) -> None:
        world = self._engine.world
        settle.resume(world)
        world.changed.update(world.machines)
        self._engine.commit()


def _free(port: int) -> bool:
    """Whether no process on this computer listens there, such as another lab."""
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
