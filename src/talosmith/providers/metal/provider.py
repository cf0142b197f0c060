"""The machines that the inventory lists. Which one is which is told by its address, and its MAC address where given.

They carry no tags; the inventory's word takes their place. A node that was removed from it is found by what
Kubernetes and etcd tell of it (`observed/former.py`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from talosmith.errors import Permanent
from talosmith.model.cluster import Node
from talosmith.model.machines import Machine, MachineSpec, Owner
from talosmith.model.secret import Secret
from talosmith.model.values import IpNetwork
from talosmith.providers.base import NO_HOST_CALLS, Finding
from talosmith.providers.metal.findings import finding_of
from talosmith.providers.network.neighbours import at, neighbours
from talosmith.providers.network.peek import Peek, answers, peek
from talosmith.providers.network.places import called_out
from talosmith.tasks import together

T = TypeVar("T")
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class _Found:
    """Where a machine was found: at its address, or elsewhere by its MAC address."""

    addresses: tuple[str, ...]  # best first
    answered: bool
    seen_mac: str = ""  # another one that answers at the node's address

    @property
    def safe(self) -> bool:
        """Whether it is this very machine that answers, as far as can be known."""
        return self.answered and not self.seen_mac


class MetalProvider:
    name = "metal"
    seeds = False
    simulated = False
    host_calls = NO_HOST_CALLS
    creates = False

    def __init__(
        self, nodes: Sequence[Node], owner: Owner, *, authority: str = "", search: IpNetwork | None = None
    ) -> None:
        self._nodes = {node.name: node for node in nodes}
        self._owner = owner
        self._authority = authority
        self._search = search

    async def preflight(self, specs: Sequence[MachineSpec]) -> list[Finding]:
        """Told for each machine: one that is off is an error, so ask only for those that are to get a config."""
        known = [spec for spec in specs if spec.name in self._nodes]
        places = await self._places([self._nodes[spec.name] for spec in known])
        peeks = await _all([partial(self._peek, places[spec.name]) for spec in known])
        return [
            finding_of(spec, places[spec.name].addresses[0], seen, places[spec.name].seen_mac)
            for spec, seen in zip(known, peeks, strict=True)
        ]

    async def find(self) -> list[Machine]:
        places = await self._places(list(self._nodes.values()))
        return [self._machine(node, places[node.name]) for node in self._nodes.values()]

    async def create(self, spec: MachineSpec, seed: Secret | None = None) -> Machine:
        node = self._nodes.get(spec.name)
        if node is None:
            raise Permanent(
                f"there is no machine {spec.name!r}, and none can be made",
                hint="the provider `metal` has the machines that the inventory lists",
            )
        return self._machine(node, (await self._places([node]))[node.name])

    async def destroy(self, machine: Machine) -> None:
        """It stays where it is; what was on it is wiped through Talos."""

    async def power(self, machine: Machine, on: bool) -> None:
        raise Permanent(
            f"{machine.name} cannot be switched {'on' if on else 'off'} from here",
            hint=f"switch it {'on' if on else 'off'} by hand, or through its management controller, and run again",
        )

    async def close(self) -> None:
        """Nothing is kept open."""

    def _machine(self, node: Node, place: _Found) -> Machine:
        return Machine(
            id=node.mac or str(node.ip),
            name=node.name,
            role=node.role,
            power="on" if place.answered else "unknown",
            addresses=place.addresses,
            fingerprint=node.fingerprint or "",
            tags=self._owner.tags(node.name, node.role),
        )

    async def _places(self, nodes: Sequence[Node]) -> dict[str, _Found]:
        """Who has no MAC address is at its address, or nowhere; the others are looked for."""
        answered = await _each(nodes, lambda node: answers(str(node.ip)))
        table = neighbours()
        places = await _each(nodes, lambda node: _place(node, answered[node.name], table))
        lost = [node for node in nodes if node.mac and not places[node.name].safe]
        if lost and self._search is not None:
            table = await called_out(self._search, [node.mac for node in lost if node.mac], table)
            places |= await _each(lost, lambda node: _place(node, answered[node.name], table))
        return places

    async def _peek(self, place: _Found) -> Peek:
        return await peek(place.addresses[0], authority=self._authority)


async def _place(node: Node, answered: bool, table: dict[str, str]) -> _Found:
    ip = str(node.ip)
    if node.mac is None or node.bond is not None:  # a bond answers with whichever card it likes
        return _Found((ip,), answered)
    seen = table.get(ip, "")
    foreign_mac = seen if seen != node.mac else ""
    if answered and not foreign_mac:
        return _Found((ip,), True)
    elsewhere = [address for address in at(node.mac, table) if address != ip]
    for address in elsewhere:
        if await answers(address):
            return _Found((address, ip) if not foreign_mac else (address,), True)
    return _Found((ip, *elsewhere), answered, foreign_mac if answered else "")


async def _each(nodes: Sequence[Node], look: Callable[[Node], Awaitable[T]]) -> dict[str, T]:
    found = await _all([partial(look, node) for node in nodes])
    return {node.name: one for node, one in zip(nodes, found, strict=True)}


async def _all(asks: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
    """Many at once, but not all of them; in the order of the asking."""
    found: dict[int, T] = {}

    async def ask(number: int) -> None:
        found[number] = await asks[number]()

    await together(ask, range(len(asks)), _AT_ONCE)
    return [found[number] for number in range(len(asks))]
