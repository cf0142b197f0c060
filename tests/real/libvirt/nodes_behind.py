"""Talos nodes behind real virtual machines.

A guest here is a real machine with a real disk, seed and address, but it does not run Talos. It tells the host what
it read from its seed; the host makes a node of the lab with that very config, and passes on to it whatever comes to
the guest's ports. Who talks to a machine's address talks, through the machine, to its node. The guest whose node
holds a shared address has it, too.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from talosmith.model.versions import RECOMMENDED
from talosmith_lab.server.lab import LabOptions, LabServer
from tests.loopback import free_network
from tests.real.libvirt.daemon import Daemon

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
_TOLD, _HELD, _TALOS, _KUBERNETES = 7000, 7001, 50000, 6443
_NOWHERE = "127.255.255.254"
_CHUNK = 64 * 1024


@dataclass
class NodesBehind:
    lab: LabServer
    told: list[dict[str, str]] = field(default_factory=list)  # by guests, one for each boot
    places: dict[str, str] = field(default_factory=dict)  # of guests -> of their nodes
    names: dict[str, str] = field(default_factory=dict)  # of nodes, by the places of their guests
    listening: dict[str, asyncio.StreamWriter] = field(default_factory=dict)  # guests, for addresses to hold

    async def guest_tells(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """It tells until it knows that it was heard, so it may tell the same boot twice, or the half of it."""
        head, _, config = (await reader.read()).decode().partition("\n\n")
        told: dict[str, str] = dict(line.partition(" ")[::2] for line in head.splitlines())
        if hashlib.sha256(config.encode()).hexdigest() == told.get("config"):
            if told["boot"] not in [one["boot"] for one in self.told]:
                self._booted(told, config)
            writer.write(b"heard\n")
        writer.close()

    def _booted(self, told: dict[str, str], config: str) -> None:
        self.told.append(told)
        control, name = self.lab.control, told["name"]
        if name in self.lab.world.machines and told["from"] == "disk":
            control.power_off([name])
            control.power_on([name])
        else:
            if name in self.lab.world.machines:  # a new machine: the node that was before is gone with its disk
                control.delete([name])
            control.create(name, mac=told["mac"], version=RECOMMENDED.latest, config=config)  # as the example pins
        (described,) = control.list_machines(name)
        self.places[told["address"]], self.names[told["address"]] = described["address"], name
        self.tell_holders()

    async def guest_listens(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        guest = writer.get_extra_info("peername")[0]
        self.listening[guest] = writer
        self.tell_holders()
        with suppress(OSError):
            await reader.read()
        writer.close()

    def tell_holders(self, _: Iterable[str] = ()) -> None:
        """Guests know themselves which address they held before."""
        holders: dict[str, str] = self.lab.control.status()["virtual_addresses"]
        for guest, writer in self.listening.items():
            held = [address for address, holder in holders.items() if holder == self.names.get(guest)]
            if not writer.is_closing():
                writer.write(f"{' '.join(held) or 'nothing'}\n".encode())

    def holder(self, address: str) -> str:
        return str(self.lab.control.status()["virtual_addresses"].get(address, ""))

    def lose_power(self, name: str) -> None:
        """As its machine just did."""
        self.lab.control.power_off([name])

    def relay(self, port: int) -> Serve:
        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            guest = writer.get_extra_info("peername")[0]
            try:
                node_reader, node_writer = await asyncio.open_connection(self.places.get(guest, _NOWHERE), port)
            except OSError:
                writer.close()
                return
            await asyncio.gather(_pour(reader, node_writer), _pour(node_reader, writer))

        return pass_on


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(_CHUNK):
            writer.write(part)
            await writer.drain()
    with suppress(OSError):
        writer.close()


@asynccontextmanager
async def nodes_behind(daemon: Daemon, folder: Path, gateway: str) -> AsyncIterator[NodesBehind]:
    """`gateway` is the host's address in the guests' network, which need not be there yet."""
    async with LabServer(folder, LabOptions(clock="instant", network=free_network())) as lab:
        nodes = NodesBehind(lab)
        lab.engine.on_change.append(nodes.tell_holders)
        servings = {
            _TOLD: nodes.guest_tells,
            _HELD: nodes.guest_listens,
            _TALOS: nodes.relay(_TALOS),
            _KUBERNETES: nodes.relay(_KUBERNETES),
        }
        servers = []
        for port, serve in servings.items():
            listening = daemon.in_network(lambda port=port: _listening(gateway, port))  # type: ignore[misc]
            servers.append(await asyncio.start_server(serve, sock=listening))
        try:
            yield nodes
        finally:
            for server in servers:
                server.close()


def _listening(address: str, port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_IP, 15, 1)  # IP_FREEBIND
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((address, port))
    listening.listen(128)
    return listening
